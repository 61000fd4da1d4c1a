#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Messages and collective calls of ACP beside those of Open MPI and MPICH on one node, in turns; medians over rounds. Prints a table for
each number of ranks and writes rows as acpbench does (--json), for the report page. An MPI that is not installed is left out, which is
said; so is MPICH where ranks outnumber cores: its waiting ranks keep their cores to the end of their time slices, and a barrier takes
tens of milliseconds.

Where ranks outnumber CPUs, calls that some ranks may leave before all have come are timed with the barrier before them ("sync+broadcast"):
each library's scheduling decides which rank waits in which of the two, so a time of the call alone says nothing.

Messages go through channels (acp_send_ch) and MPI_Send; with more than two ranks only collective calls are measured. Each library runs as
installed, and none binds ranks to cores.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile

from peers import output_of, header

HERE = pathlib.Path(__file__).resolve().parent
SIZES = {"message": (8, 1024, 4096, 65536, 1 << 20, 4 << 20), "collective": (8, 1024, 32768, 1 << 20)}
MESSAGES = {"to and fro": "to-and-fro", "one way": "one-way"}
MPIS = {"Open MPI": ("openmpi", ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"], {}),
        "MPICH": ("mpich", ["-bind-to", "none"], {})}


class Mpi:
    def __init__(self, folder, name, source="mpi_messages"):
        suffix, self.options, self.environment = MPIS[name]
        self.compiler, self.launcher = shutil.which(f"mpicc.{suffix}"), shutil.which(f"mpirun.{suffix}")
        self.source, self.program = HERE / f"{source}.c", pathlib.Path(folder) / f"{source}.{suffix}"

    def build(self):
        return self.compiler and self.launcher and output_of(
            [self.compiler, "-O2", "-o", self.program, self.source]) is not None

    def measure(self, ranks, *arguments):
        """{(case, number): microseconds}, from the program's lines "CASE NUMBER NANOSECONDS" """
        text = output_of([self.launcher, *self.options, "-n", ranks, self.program, *arguments], self.environment)
        lines = [line.split() for line in (text or "").splitlines()]
        return {(case, int(number)): float(ns) / 1e3 for case, number, ns in lines}


def built_mpis(folder, source="mpi_messages"):
    """{name: Mpi} of those that are installed; of the others it is said."""
    mpis = {name: Mpi(folder, name, source) for name in MPIS}
    for name in [name for name, mpi in mpis.items() if not mpi.build()]:
        print(f"{source}: left out, for it is not installed: {name}", file=sys.stderr)
        del mpis[name]
    return mpis


def that_fit(mpis, ranks):
    """Without MPICH where ranks outnumber cores, which is said."""
    if "MPICH" not in mpis or ranks <= len(os.sched_getaffinity(0)):
        return mpis
    print(f"left out, for it cannot share cores: MPICH with {ranks} ranks", file=sys.stderr)
    return {name: mpi for name, mpi in mpis.items() if name != "MPICH"}


def measure_acp(programs, ranks, experiment, rounds):
    """({(case, bytes): microseconds}, the same of what acpbench compares with)"""
    own, yardsticks = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "rows.json"
        sizes = ",".join(str(size) for size in SIZES[experiment])
        if output_of([programs / "acprun", "-n", ranks, "--starter-size", "4M", programs / "acpbench", experiment,
                      "--slices", rounds, "--sizes", sizes, "--json", file]) is None:
            return own, yardsticks
        for row in json.loads(file.read_text())["rows"]:
            key = (MESSAGES.get(row["case"], row["case"]), row["bytes"])
            own[key] = row["latency_us"]["median"]
            yardsticks[key] = row["yardstick"]
    own.pop(("acp_sync", 0), None)
    return own, yardsticks


def collect(arguments, mpis, ranks):
    """({library: {(case, bytes): microseconds}}, yardsticks)"""
    mpis = that_fit(mpis, ranks)
    found = {library: {} for library in ("ACP", *mpis)}
    yardsticks = {}

    def add(library, values):
        for key, value in values.items():
            found[library].setdefault(key, []).append(value)

    for number in range(arguments.rounds):
        if sys.stderr.isatty():
            print(f"\r{ranks} ranks: round {number + 1} of {arguments.rounds}", end="", file=sys.stderr)
        rounds = 3 if arguments.quick else 11
        for experiment in ["message", "collective"] if ranks == 2 else ["collective"]:
            own, its_yardsticks = measure_acp(arguments.programs, ranks, experiment, rounds)
            add("ACP", own)
            yardsticks.update(its_yardsticks)
            for library, mpi in mpis.items():
                add(library, mpi.measure(ranks, experiment, rounds, *SIZES[experiment]))
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return {library: {key: statistics.median(values) for key, values in cases.items()}
            for library, cases in found.items()}, yardsticks


def standing(medians, key):
    """How many times as long ACP takes as the best of the others; None without one."""
    others = [cases[key] for library, cases in medians.items() if library != "ACP" and key in cases]
    return medians["ACP"][key] / min(others) if others else None


def size_text(size):
    if size >= 1 << 20:
        return f"{size >> 20} MiB"
    return f"{size >> 10} KiB" if size >= 1024 else f"{size} B" if size else ""


def print_table(medians, ranks):
    rows = [[f"{ranks} ranks", "bytes", *(f"{library}, us" for library in medians), "ACP / best other"]]
    for key in medians["ACP"]:
        ratio = standing(medians, key)
        rows.append([key[0], size_text(key[1]), *(f"{cases[key]:.3f}" if key in cases else "-" for cases in medians.values()),
                     "-" if ratio is None else f"{ratio:.2f}x"])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(row, widths))).rstrip())
    print()


def rows_of(medians, yardsticks, ranks, rounds):
    rows = []
    for library, cases in medians.items():
        for key, us in cases.items():
            if key not in medians["ACP"]:
                continue
            rows.append({"experiment": "peers-messages", "case": f"{key[0]}: {library}", "mode": "", "ranks": ranks, "nodes": 1,
                         "bytes": key[1], "iterations": rounds,
                         "latency_us": {"min": us, "median": us, "p99": us, "mean": us}, "bandwidth_MBps": key[1] / us,
                         "yardstick": yardsticks[key] if library == "ACP" else None,
                         "ratio": standing(medians, key) if library == "ACP" else None})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path, help="folder of acprun and acpbench")
    parser.add_argument("--ranks", default="2,4", help="numbers of ranks, such as 2,4")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="shows that it works rather than how fast it is")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        mpis = built_mpis(folder)
        for ranks in (int(text) for text in arguments.ranks.split(",")):
            medians, yardsticks = collect(arguments, mpis, ranks)
            if not medians["ACP"]:
                return 1
            print_table(medians, ranks)
            rows += rows_of(medians, yardsticks, ranks, arguments.rounds)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps({"header": header("bench/peers/messages.py"), "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
