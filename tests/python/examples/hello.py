# SPDX-License-Identifier: BSD-3-Clause
"""Each rank says who it is, in the order of ranks."""
import acp4py

with acp4py.init():
    for line in acp4py.allgather(f"hello from rank {acp4py.rank()} of {acp4py.size()}"):
        if acp4py.rank() == 0:
            print(line)
