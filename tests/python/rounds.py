# SPDX-License-Identifier: BSD-3-Clause
"""Many rounds of everything, as many as the argument says, leave descriptors and memory as they were."""
import gc
import os
import sys
import tracemalloc

import acp4py


def work(other, table):
    segment = acp4py.Segment(4096)
    acp4py.put(segment.address, bytes(4096))
    acp4py.get(other, bytearray(100_000)).wait()
    acp4py.copy(segment.at(8), other, 8).wait()
    acp4py.fetch_add(segment.address, 1)
    for error, function in ((OverflowError, lambda: acp4py.put(-1, b"")), (acp4py.Error, acp4py.put(0, b"x").wait),
                            (BufferError, lambda: acp4py.get(1, b"x")), (TypeError, lambda: table.get(1))):
        try:
            function()
        except error:
            continue
        raise AssertionError(function)
    key = str(acp4py.rank())
    table[key] = "x" * 3000
    assert table[key] and table.get("none") is None and len(list(table.items())) >= 1 and key in table
    next(iter(table))
    del table[key]
    table.setdefault(key, "short")
    memoryview(segment)[:8].tobytes()
    segment.free()
    acp4py.sync()


def memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


ROUNDS = int(sys.argv[1])
acp4py.init()
space = acp4py.Segment(100_000)
others = acp4py.allgather(space.address)
names = acp4py.broadcast(acp4py.Map(key=str, value=str) if acp4py.rank() == 0 else None)
tracemalloc.start()
target = others[(acp4py.rank() + 1) % acp4py.size()]
for _ in range(ROUNDS // 5):
    work(target, names)
gc.collect()
before = len(os.listdir("/proc/self/fd")), tracemalloc.get_traced_memory()[0], memory()
for _ in range(ROUNDS):
    work(target, names)
gc.collect()
after = len(os.listdir("/proc/self/fd")), tracemalloc.get_traced_memory()[0], memory()
assert after[0] < before[0] + 5, (before, after)  # the library opens a few when it first sleeps or waits for a node
assert after[1] - before[1] < 20_000, (before, after)  # bytes; a leak of one object in each of 1000 rounds is 16,000 or more
assert after[2] - before[2] < 2 << 20, (before, after)
acp4py.sync()
space.free()
print("ok")
