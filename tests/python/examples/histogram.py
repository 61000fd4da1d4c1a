# SPDX-License-Identifier: BSD-3-Clause
"""All ranks count words in one map."""
import acp4py

WORDS = "one fish two fish red fish blue fish".split()

with acp4py.init():
    counts = acp4py.broadcast(acp4py.Map(key=str, value=int) if acp4py.rank() == 0 else None)
    for word in WORDS:
        counts.fetch_add(word, 1)
    acp4py.sync()  # all ranks have counted
    if acp4py.rank() == 0:
        for word, count in sorted(counts.items()):
            print(word, count)
