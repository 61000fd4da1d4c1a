# SPDX-License-Identifier: BSD-3-Clause
"""ACP for Python: memory, copies, atomics and maps over all ranks of a parallel program.

    import acp4py

    with acp4py.init():
        print(acp4py.rank(), acp4py.size())

Start it by `python3 -m acp4py.run -n 4 program.py`. Alone it is a job of one rank. Units are bytes and seconds.
Every function may be called by any thread after init(), unless its text says otherwise.
"""
import pickle
from collections.abc import ItemsView, MutableMapping, ValuesView

from . import _acp, _job
from ._acp import (ALL, AddressError, Error, Handle, OutOfMemoryError, PeerError, Segment, StaleError, StateError,
                   TimeoutError, abort, compare_and_swap, copy, fetch_add, fetch_and, fetch_max, fetch_min, fetch_or,
                   fetch_xor, get, is_joined, put, rank, size, swap, sync, version)
from ._job import finalize, init

__all__ = ["ALL", "AddressError", "Error", "Handle", "Map", "OutOfMemoryError", "PeerError", "Segment", "StaleError",
           "StateError", "TimeoutError", "abort", "allgather", "broadcast", "compare_and_swap", "copy", "fetch_add",
           "fetch_and", "fetch_max", "fetch_min", "fetch_or", "fetch_xor", "finalize", "get", "init", "is_joined", "put",
           "rank", "size", "starter", "swap", "sync", "version"]

_acp.set_await(_job.await_handle)


def starter(rank=None):
    """The starter memory of a rank (None: the caller's) as a Segment: zero at init(), and never freed.

    Its length, 64 KiB by default, is acprun's --starter-size. ValueError: no such rank. Does not block.
    """
    return _acp.starter(rank)


def broadcast(value, root=0):
    """The value of rank `root`, on all ranks. All ranks call it; the value of other ranks is not looked at.

    Any object that pickle takes; segments and maps become attached ones. Blocks until root has called it; ^C takes
    effect afterwards. PeerError: a rank is dead or lost. ValueError: no such rank.
    """
    return pickle.loads(_acp.broadcast(pickle.dumps(value) if rank() == root else b"", root))


def allgather(value):
    """The values of all ranks, in the order of ranks, on all ranks. All ranks call it. Otherwise as broadcast."""
    return [pickle.loads(part) for part in _acp.allgather(pickle.dumps(value))]


class _Values(ValuesView):
    def __iter__(self):
        return self._mapping._walk(1)


class _Items(ItemsView):
    def __iter__(self):
        return self._mapping._walk(2)


class Map(_acp.MapCalls, MutableMapping):
    """Map(key=bytes, value=bytes, ranks=None): entries spread over the heaps of ranks (None: all ranks).

    One rank makes it, and the others get it by broadcast(map), allgather(map) or Map.attach(map.name). All of them use
    it at once, without locks. Keys, and values, are of one type each: bytes (any contiguous buffer is taken) as they
    are, str as UTF-8, int as 8 signed bytes in the machine's order. So a program in C sees no tag.
    A call on one key is atomic, also setdefault() and fetch_add(). pop(), popitem(), update() and == are several calls.
    Calls on entries of other nodes block for a round trip, without the GIL; ^C takes effect afterwards. An entry whose
    key has more than about 950 bytes cannot be iterated or added to. TypeError: another type than the map's.
    OverflowError: an int beyond 64 bits. KeyError: no entry. ValueError: destroyed. OutOfMemoryError, PeerError.
    """

    __slots__ = ()
    __hash__ = object.__hash__

    def values(self):
        return _Values(self)

    def items(self):
        return _Items(self)

    def __reduce__(self):
        return type(self).attach, (self.name, self.key, self.value)

    def __repr__(self):
        return f"<acp4py.Map of {self.key.__name__} to {self.value.__name__}>"
