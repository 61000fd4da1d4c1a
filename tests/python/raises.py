# SPDX-License-Identifier: BSD-3-Clause
"""Ends as its first argument says, on rank 1; the other ranks wait for it, or do the same."""
import os
import signal
import sys

import acp4py

what = sys.argv[1]
if what == "block":
    with acp4py.init():
        if acp4py.rank() == 1:
            raise ValueError("a block\nof two lines")
        acp4py.sync()
acp4py.init()
if what == "command" and acp4py.rank() == 1:
    acp4py.get(0, bytearray(8)).wait()
if what == "exit":
    print(f"rank {acp4py.rank()} ends")
    sys.exit(3)  # the interpreter calls finalize()
if what == "hook" and acp4py.rank() == 1:
    sys.excepthook = sys.__excepthook__  # the program's own choice: the process ends without finalize
    acp4py.abort("by choice")
if what == "killed":
    if acp4py.rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    for function in (acp4py.sync, acp4py.sync, acp4py.finalize):
        try:
            function()
        except acp4py.PeerError as error:
            assert error.code == 6
            print(f"{function.__name__}: PeerError")
elif what == "view":
    view = memoryview(acp4py.starter())  # still there when the interpreter ends
    print("ends with a view")
else:
    acp4py.sync()
