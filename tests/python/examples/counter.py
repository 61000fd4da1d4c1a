# SPDX-License-Identifier: BSD-3-Clause
"""All ranks draw numbers from one counter in rank 0's memory; no number is drawn twice."""
import acp4py

with acp4py.init():
    counter = acp4py.starter(0).address
    drawn = [acp4py.fetch_add(counter, 1) for _ in range(100)]
    everything = sorted(number for part in acp4py.allgather(drawn) for number in part)
    assert everything == list(range(100 * acp4py.size()))
    if acp4py.rank() == 0:
        print("counter:", len(everything))
