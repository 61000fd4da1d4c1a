# SPDX-License-Identifier: BSD-3-Clause
"""Each rank puts its number into the starter memory of the next rank, which adds its own and passes the sum on."""
import acp4py

with acp4py.init():
    rank, size = acp4py.rank(), acp4py.size()
    mine, right = acp4py.starter(), acp4py.starter((rank + 1) % size)
    value = rank
    total = rank
    for _ in range(size - 1):
        acp4py.put(right.address, value.to_bytes(8, "little")).wait()
        acp4py.sync()  # all puts have arrived
        with memoryview(mine) as bytes_:
            value = int.from_bytes(bytes_[:8], "little")
        acp4py.sync()  # all ranks have read
        total += value
    assert total == size * (size - 1) // 2, total
    if rank == 0:
        print("ring:", total)
