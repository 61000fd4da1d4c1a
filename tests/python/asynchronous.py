# SPDX-License-Identifier: BSD-3-Clause
"""Handles in asyncio, threads beside waits, time limits, and an interrupt in each call that waits in pieces."""
import _thread
import asyncio
import signal
import threading

import acp4py


async def await_handles(address):
    rooms = [bytearray(1 << 20) for _ in range(8)]
    await asyncio.gather(*(as_task(acp4py.get(address, room)) for room in rooms))
    assert all(room == bytes([7]) * (1 << 20) for room in rooms)
    try:
        await acp4py.get(0, bytearray(8))
    except acp4py.AddressError:
        return
    raise AssertionError("a failed command raised nothing")


async def as_task(handle):
    await handle


def check_interrupt(function):
    """SIGINT in a call that would wait for ever ends it."""
    is_inside = threading.Event()

    def interrupt():
        is_inside.wait()
        _thread.interrupt_main(signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        is_inside.set()
        function()
    except KeyboardInterrupt:
        thread.join()
        return
    raise AssertionError("SIGINT ended nothing")


def main():
    acp4py.init()
    rank, size = acp4py.rank(), acp4py.size()
    segment = acp4py.Segment(1 << 20)
    with memoryview(segment) as view:
        view[:] = bytes([7]) * (1 << 20)
    addresses = acp4py.allgather(segment.address)
    asyncio.run(await_handles(addresses[(rank + 1) % size]))

    # Other threads run while one waits for all ranks.
    turns = []
    if rank == 0:
        def end_wait():
            turns.append("ran")
            acp4py.fetch_add(acp4py.starter(1).address, 1)

        thread = threading.Thread(target=end_wait)
        thread.start()
        acp4py.sync()
        thread.join()
        assert turns == ["ran"]
    else:
        while rank == 1 and acp4py.fetch_add(acp4py.starter(1).address, 0) == 0:
            pass
        acp4py.sync()

    # Rank 0 leaves the barrier by SIGINT, and then arrives at the same one again.
    if rank == 0:
        check_interrupt(acp4py.sync)
        acp4py.fetch_add(acp4py.starter(1).at(8), 1)
        acp4py.sync()
    else:
        while rank == 1 and acp4py.fetch_add(acp4py.starter(1).at(8), 0) == 0:
            pass
        acp4py.sync()
    acp4py.sync()
    segment.free()
    acp4py.finalize()
    print("ok")


main()
