#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The time of a put of 8 bytes to the next rank of a node, with its completion, in Python and in C in turns, in one run; and of
an insertion into a map.

    PYTHONPATH=build/release/python python3 -m acp4py.run -n 2 bench/python/put_speed.py build/release/bin/acpcc
"""
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time

import acp4py

LOOPS = r"""
#include <acp.h>
int put_loop(acp_ga_t target, const void* source, int rounds) {
    for (int i = 0; i < rounds; ++i) {
        if (acp_wait(acp_put(target, source, 8, ACP_HANDLE_NULL), -1) != 0) return -1;
    }
    return 0;
}
int map_loop(const acp_map_t* map, int rounds) {
    for (int64_t i = 0; i < rounds; ++i) {
        if (acp_insert_or_assign_map(*map, &i, 8, &i, 8) < 0) return -1;
    }
    return 0;
}
"""
ROUNDS, SAMPLES = 20_000, 21


def timed(function, *arguments):
    """The time of a round in ns."""
    begin = time.perf_counter_ns()
    function(*arguments)
    return (time.perf_counter_ns() - begin) / ROUNDS


def put_loop(target, source):
    put = acp4py.put
    for _ in range(ROUNDS):
        put(target, source).wait()


def map_loop(table):
    for i in range(ROUNDS):
        table[i] = i


def checked(function):
    """Runs a loop in C, which returns 0."""
    return lambda *arguments: function(*arguments, ROUNDS) == 0 or sys.exit("a call failed")


def report(name, python, c):
    quarters = [f"{statistics.quantiles(times)[0]:.0f}..{statistics.quantiles(times)[2]:.0f}" for times in (python, c)]
    medians = statistics.median(python), statistics.median(c)
    print(f"{name}: Python {medians[0]:.0f} ns ({quarters[0]}), C {medians[1]:.0f} ns ({quarters[1]}), "
          f"difference {medians[0] - medians[1]:.0f} ns; medians and quartiles of {SAMPLES} samples of {ROUNDS} rounds")


def measure(folder):
    source, library = os.path.join(folder, "loops.c"), os.path.join(folder, "loops.so")
    with open(source, "w") as file:
        file.write(LOOPS)
    subprocess.run([sys.argv[1], "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
    loops = ctypes.CDLL(library)
    loops.put_loop.argtypes = [ctypes.c_uint64, ctypes.c_char_p, ctypes.c_int]
    loops.map_loop.argtypes = [ctypes.c_char_p, ctypes.c_int]
    target = acp4py.starter(1 % acp4py.size()).address
    table = acp4py.Map(key=int, value=int)
    name = table.name
    samples = [(timed(put_loop, target, b"12345678"), timed(checked(loops.put_loop), target, b"12345678"),
                timed(map_loop, table), timed(checked(loops.map_loop), name)) for _ in range(SAMPLES)]
    columns = list(zip(*samples))
    report("put of 8 bytes", columns[0], columns[1])
    report("assignment of a map's entry of 8 and 8 bytes", columns[2], columns[3])


with acp4py.init():
    if acp4py.rank() == 0:
        with tempfile.TemporaryDirectory() as temporary:
            measure(temporary)
