# SPDX-License-Identifier: BSD-3-Clause
"""Heat in a rod: each rank has 100 cells between two halo cells, which its neighbours put. The sum stays."""
import acp4py

CELLS, STEPS = 100, 50

with acp4py.init():
    rank, size = acp4py.rank(), acp4py.size()
    segments = [acp4py.Segment(8 * (CELLS + 2)) for _ in range(2)]  # one for even steps, one for odd ones
    addresses = acp4py.allgather([segment.address for segment in segments])
    grids = [memoryview(segment).cast("d") for segment in segments]
    grids[0][1] = 100.0 * (rank + 1)
    for step in range(STEPS):
        now, then = grids[step % 2], grids[(step + 1) % 2]
        if rank > 0:
            acp4py.put(addresses[rank - 1][step % 2] + 8 * (CELLS + 1), now[1:2])
        if rank < size - 1:
            acp4py.put(addresses[rank + 1][step % 2], now[CELLS:CELLS + 1])
        acp4py.ALL.wait()
        acp4py.sync()  # the halos have arrived
        if rank == 0:
            now[0] = now[1]  # no heat leaves the rod
        if rank == size - 1:
            now[CELLS + 1] = now[CELLS]
        for i in range(1, CELLS + 1):
            then[i] = now[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1])
    total = sum(acp4py.allgather(sum(grids[STEPS % 2][1:CELLS + 1])))
    assert abs(total - 100.0 * size * (size + 1) / 2) < 1e-9 * total, total
    for grid in grids:
        grid.release()
    for segment in segments:
        segment.free()
    if rank == 0:
        print(f"heat: {total:.1f}")
