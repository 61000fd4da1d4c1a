# SPDX-License-Identifier: BSD-3-Clause
"""Bad input to every call: each gives the error that the texts name, and the rank lives on."""
import array
import gc
import os
import pickle
import sys
import threading

import acp4py
from acp4py import Map, Segment


def refused(error, function, *arguments, **named):
    """Asserts that the call raises this class of error, and returns the error."""
    try:
        function(*arguments, **named)
    except error as found:
        return found
    raise AssertionError(f"{function} took {arguments} {named}")


def check_before_init():
    for function in (acp4py.rank, acp4py.size, acp4py.sync, acp4py.finalize, acp4py.starter, acp4py.ALL.wait, acp4py.ALL.done):
        assert refused(acp4py.StateError, function).code == 11
    refused(acp4py.StateError, Segment, 8)
    refused(acp4py.StateError, Map)
    refused(acp4py.StateError, acp4py.put, 1, b"x")
    refused(acp4py.StateError, acp4py.fetch_add, 8, 1)
    assert not acp4py.is_joined() and acp4py.version()


def check_commands(segment):
    address = segment.address
    refused(TypeError, acp4py.put)
    refused(TypeError, acp4py.put, "address", b"x")
    refused(TypeError, acp4py.put, 1.5, b"x")
    refused(TypeError, acp4py.put, address, "text")
    refused(TypeError, acp4py.put, address, None)
    refused(TypeError, acp4py.put, address, b"x", b"after")
    refused(TypeError, acp4py.put, address, b"x", before=None)
    refused(TypeError, acp4py.put, address, b"x", address=1)
    refused(TypeError, acp4py.put, address, b"x", None, 4)
    refused(OverflowError, acp4py.put, -1, b"x")
    refused(OverflowError, acp4py.put, 1 << 64, b"x")
    refused(BufferError, acp4py.put, address, memoryview(bytes(16))[::2])
    refused(BufferError, acp4py.get, address, b"read-only")
    refused(BufferError, acp4py.get, address, memoryview(bytearray(16))[::2])
    refused(ValueError, acp4py.copy, address, address, -1)
    refused(OverflowError, acp4py.copy, address, address, 1 << 70)
    refused(TypeError, acp4py.copy, address, address, 1.0)
    released = memoryview(bytearray(8))
    released.release()
    refused(ValueError, acp4py.put, address, released)
    refused(acp4py.AddressError, acp4py.put(0, b"12345678").wait)
    starter = acp4py.starter()
    refused(acp4py.AddressError, acp4py.put(starter.at(len(starter)) - 4, b"12345678").wait)
    bad = acp4py.get(0, bytearray(8))
    after = acp4py.put(address, b"never run", after=bad)
    assert refused(acp4py.Error, bad.wait).code == 2
    assert refused(acp4py.Error, after.wait).code == 5
    acp4py.put(address, b"").wait()
    refused(TypeError, acp4py.Handle)
    handle = acp4py.put(address, b"x")
    refused(ValueError, handle.wait, -1)
    refused(ValueError, handle.wait, float("nan"))
    refused(TypeError, handle.wait, "soon")
    handle.wait(timeout=1e300)


def check_atomics(segment):
    address = segment.at(16)
    refused(TypeError, acp4py.fetch_add, address, 1.0)
    refused(TypeError, acp4py.fetch_add, address)
    refused(ValueError, acp4py.fetch_add, address, 1, width=2)
    refused(OverflowError, acp4py.fetch_add, address, 1 << 64)
    refused(OverflowError, acp4py.fetch_add, address, 1 << 32, width=4)
    refused(OverflowError, acp4py.fetch_add, address, -(1 << 63) - 1)
    refused(OverflowError, acp4py.fetch_max, address, 1 << 63)
    refused(OverflowError, acp4py.fetch_max, address, 1 << 31, width=4)
    refused(acp4py.AddressError, acp4py.fetch_add, 0, 1)
    assert refused(acp4py.Error, acp4py.fetch_add, address + 1, 1).code == 4
    assert acp4py.swap(address, 0) == 0
    assert acp4py.fetch_add(address, -1) == 0
    assert acp4py.fetch_add(address, (1 << 64) - 1) == (1 << 64) - 1
    assert acp4py.swap(address, 12) == (1 << 64) - 2
    assert acp4py.fetch_and(address, 10) == 12 and acp4py.fetch_or(address, 1) == 8
    assert acp4py.fetch_xor(address, 8) == 9 and acp4py.fetch_min(address, -5) == 1
    assert acp4py.fetch_max(address, 7) == -5
    assert acp4py.compare_and_swap(address, 6, 1) == 7 and acp4py.compare_and_swap(address, 7, -1, width=8) == 7
    assert acp4py.fetch_add(address, 1, width=4) == (1 << 32) - 1
    assert acp4py.fetch_max(address + 4, 3, width=4) == -1


def check_segments():
    for size, error in ((0, ValueError), (-1, ValueError), (1.5, TypeError), ("8", TypeError), (1 << 70, OverflowError)):
        refused(error, Segment, size)
    refused(acp4py.OutOfMemoryError, Segment, 1 << 60)
    refused(MemoryError, Segment, 1 << 60)
    for rank in (-1, acp4py.size(), 1 << 40):
        refused(ValueError, Segment, 8, rank)
        refused(ValueError, acp4py.starter, rank)
    refused(TypeError, Segment, 8, "0")
    refused(acp4py.AddressError, Segment.attach, 0, 8)
    starter = acp4py.starter()
    refused(acp4py.AddressError, Segment.attach, starter.at(len(starter)) - 4, 8)
    refused(ValueError, starter.free)
    segment = Segment(24)
    assert bytes(segment) == bytes(24) and len(segment) == 24 and segment.rank == acp4py.rank()
    refused(ValueError, segment.at, 25)
    refused(ValueError, segment.at, -1)
    view = memoryview(segment)
    refused(BufferError, segment.free)
    refused(BufferError, acp4py.finalize)
    view[:3] = b"abc"
    assert bytes(pickle.loads(pickle.dumps(segment)))[:3] == b"abc"
    view.release()
    segment.free()
    for use in (segment.free, segment.at, lambda: segment.address, lambda: len(segment), lambda: memoryview(segment)):
        refused(ValueError, use, *((0,) if use == segment.at else ()))
    assert "gone" in repr(segment)
    with Segment(8) as scoped:
        attached = Segment.attach(scoped.address, 8)
    refused(ValueError, memoryview, scoped)
    refused(ValueError, attached.free)


def check_buffers_in_flight(segment):
    """A buffer may not be resized while a command may use it, and is free afterwards."""
    data = bytearray(range(24))
    acp4py.put(segment.address, data).wait()
    data.append(1)
    room = array.array("Q", [0] * 3)
    acp4py.get(segment.address, room).wait()
    assert room.tobytes() == bytes(range(24))
    for _ in range(100):
        acp4py.put(segment.address, bytes(24))  # handles that nobody keeps
        acp4py.get(segment.address, bytearray(24))
    gc.collect()
    acp4py.ALL.wait()


def check_maps():
    refused(TypeError, Map, float)
    refused(TypeError, Map, str, list)
    refused(ValueError, Map, ranks=[acp4py.size()])
    refused(TypeError, Map, ranks=["0"])
    refused(TypeError, Map, ranks=3)
    refused(ValueError, Map.attach, b"short")
    words = Map(key=str, value=int)
    refused(TypeError, words.__getitem__, b"bytes")
    refused(TypeError, words.__setitem__, "word", "1")
    refused(OverflowError, words.__setitem__, "word", 1 << 63)
    refused(UnicodeEncodeError, words.__setitem__, "\ud800", 1)
    refused(KeyError, words.__getitem__, "none")
    refused(KeyError, words.__delitem__, "none")
    refused(TypeError, words.fetch_add, "word", 1.5)
    refused(TypeError, words.__contains__, 1)
    refused(acp4py.Error, words.fetch_add, "x" * 2000, 1)
    words["word"] = -3
    assert words.fetch_add("word", 5) == -3 and words["word"] == 2 and words.get("none") is None and words.get("none", 7) == 7
    assert "word" in words and "none" not in words and len(words) == 1 and dict(words.items()) == {"word": 2}
    assert words.setdefault("word", 9) == 2 and words.setdefault("new", 9) == 9 and words.pop("new") == 9
    refused(TypeError, Map().fetch_add, b"k", 1)
    raw = Map()
    long = bytes(range(256)) * 20
    raw[b""] = b""
    raw[bytearray(b"k")] = memoryview(long)
    assert raw[b"k"] == long and raw[b""] == b"" and sorted(raw) == [b"", b"k"] and sorted(raw.values()) == [b"", long]
    numbers = Map(int, str)
    numbers.update((i, f"\u00e4{i}") for i in range(-100, 100))
    assert len(numbers) == 200 and {**numbers} == {i: f"\u00e4{i}" for i in range(-100, 100)}
    refused(ValueError, list, Map.attach(raw.name, int, int))
    copy = pickle.loads(pickle.dumps(numbers))
    assert copy[5] == "\u00e45" and copy.key is int and copy.value is str
    numbers.clear()
    assert len(copy) == 0 and list(copy.items()) == []
    numbers.destroy()
    refused(ValueError, numbers.get, 1)
    refused(acp4py.StaleError, copy.get, 1)
    iterator = iter(raw)
    raw.destroy()
    refused(ValueError, next, iterator)


def check_fork():
    child = os.fork()
    if child == 0:
        try:
            for function in (acp4py.rank, acp4py.sync, acp4py.finalize, acp4py.init, acp4py.ALL.wait):
                assert refused(acp4py.StateError, function).code == 12
            assert not acp4py.is_joined()
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def main():
    check_before_init()
    acp4py.init()
    assert refused(acp4py.StateError, acp4py.init).code == 11
    segment = Segment(64)
    check_commands(segment)
    check_atomics(segment)
    check_segments()
    check_buffers_in_flight(segment)
    check_maps()
    refused(ValueError, acp4py.broadcast, 1, acp4py.size()) if acp4py.rank() == 0 else None
    check_fork()
    starter, kept, table = acp4py.starter(), Segment(8), Map()
    handle = acp4py.put(kept.address, b"12345678")
    segment.free()
    acp4py.finalize()
    handle.wait()
    assert handle.done()
    for use in (lambda: len(starter), lambda: kept.address, kept.free, lambda: table[b"k"], table.destroy, acp4py.sync):
        refused(acp4py.StateError, use)
    errors = []
    thread = threading.Thread(target=lambda: errors.append(refused(acp4py.StateError, acp4py.put, 8, b"x")))
    thread.start()
    thread.join()
    assert len(errors) == 1
    acp4py.init()  # a second job of the same processes
    refused(ValueError, lambda: kept.address)
    refused(ValueError, table.get, b"k")
    handle.wait()
    print("ok", file=sys.stdout)


main()
