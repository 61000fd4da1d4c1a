# SPDX-License-Identifier: BSD-3-Clause
"""The life of a process in its job: joining, leaving at exit, and ending the job where an exception ends a rank."""
import asyncio
import atexit
import os
import sys
import traceback

from . import _acp

_is_prepared = False


class Job:
    """What init() returns: `with acp4py.init():` calls finalize() at the end of the block.

    After an exception it does not, since the other ranks would wait in vain or wait for this one: the exception ends
    the job instead.
    """

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None and _acp.is_joined():
            finalize()


def init():
    """Joins the job that acprun started, or makes a job of one rank. All ranks call it, once each.

    Takes words --acp-NAME VALUE out of sys.argv. From now on an exception that nothing catches ends the job: the
    process prints the traceback, then rank, file and line, and ends by SIGABRT. At the end of the interpreter
    finalize() is called. Blocks until all ranks have joined; ^C takes effect afterwards.
    StateError: joined already, or in a forked child. PeerError: a rank died. Error: a wrong setting.
    """
    rest = _acp.init(sys.argv[1:])
    if len(rest) != len(sys.argv) - 1:
        sys.argv[1:] = rest
    _prepare()
    return Job()


def finalize():
    """Completes all commands of this process, waits for all ranks, and leaves the job.

    Handles are done, segments and maps are gone afterwards. One thread calls it while no other one is in a call.
    BufferError: memoryviews of segments exist. StateError: not joined, or a thread is in a call. PeerError: a rank is
    dead; the caller has left all the same. Blocks; ^C takes effect afterwards.
    """
    _acp.finalize(False)


def _finalize_at_exit():
    if _acp.is_joined():
        _acp.finalize(True)


def _prepare():
    global _is_prepared
    if _is_prepared:
        return
    _is_prepared = True
    atexit.register(_finalize_at_exit)
    previous = sys.excepthook

    def end_job(kind, value, trace):
        previous(kind, value, trace)
        is_shell = hasattr(sys, "ps1") or sys.flags.interactive
        if _acp.is_joined() and _acp.size() > 1 and not is_shell:
            _flush()
            _acp.abort(_text_of(kind, value, trace))

    sys.excepthook = end_job


def _flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass  # closed, or none


def _text_of(kind, value, trace):
    """One line that names rank, file and line of the program; of frames, the last one outside of this package."""
    own = os.path.dirname(os.path.abspath(__file__))
    frames = traceback.extract_tb(trace)
    outside = [frame for frame in frames if os.path.dirname(os.path.abspath(frame.filename)) != own]
    frame = (outside or frames or [None])[-1]
    place = f"{frame.filename}:{frame.lineno}" if frame else "no file"
    what = traceback.format_exception_only(kind, value)[-1].strip()
    return f"rank {_acp.rank()}: {place}: {what}"


def await_handle(handle):
    """What `await handle` runs: a thread of the loop's default executor waits, so the loop needs no polling."""
    return _wait(handle).__await__()


async def _wait(handle):
    if not handle.done():
        await asyncio.get_running_loop().run_in_executor(None, handle.wait)
    else:
        handle.wait()
