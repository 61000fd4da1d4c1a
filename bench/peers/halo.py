#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The halo exchange of paper 003 (14 messages to eight directions) by ACP's plans, and by persistent messages and neighbour collectives of Open
MPI and MPICH, on one node, in turns; medians over rounds. Prints a table for each number of ranks and writes rows as acpbench does (--json),
for the report page. An MPI that is not installed is left out, which is said; so is MPICH where ranks outnumber cores.

All buffers of MPI are private memory; ACP is measured with buffers there, and in memory of acp_malloc. None binds ranks to cores.
"""
import argparse
import json
import pathlib
import statistics
import sys
import tempfile

from messages import built_mpis, that_fit
from peers import header, output_of

SIZES = (60, 109, 218, 436, 872)


def exchange_bytes(k):
    return (k + 4) * 8 * (2 * 2 * 16 + 4 * 16 + 8 * 2)


def measure_acp(programs, ranks, rounds):
    """{(way, k): microseconds}"""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "rows.json"
        if output_of([programs / "acprun", "-n", ranks, programs / "acpbench", "halo", "--slices", rounds, "--json", file]) is None:
            return {}
        rows = json.loads(file.read_text())["rows"]
    return {("ACP, " + row["case"].split(",")[0], round(row["extra"]["k"])): row["latency_us"]["median"]
            for row in rows if "hidden" not in row["extra"]}


def collect(arguments, mpis, ranks):
    """{(way, k): median of microseconds}"""
    found = {}
    for number in range(arguments.rounds):
        if sys.stderr.isatty():
            print(f"\r{ranks} ranks: round {number + 1} of {arguments.rounds}", end="", file=sys.stderr)
        rounds = 3 if arguments.quick else 11
        measured = measure_acp(arguments.programs, ranks, rounds)
        for name, mpi in mpis.items():
            measured |= {(f"{name}, {way}", k): us for (way, k), us in mpi.measure(ranks, rounds, *SIZES).items()}
        for (way, k), us in measured.items():
            if k in SIZES:
                found.setdefault((way, k), []).append(us)
    return {key: statistics.median(values) for key, values in found.items()}


def best_other(medians, k):
    """The shortest time of an MPI; None without one."""
    return min((us for (way, its), us in medians.items() if its == k and not way.startswith("ACP")), default=None)


def print_table(medians, ranks):
    ways = list(dict.fromkeys(way for way, _ in medians))
    print(f"{ranks} ranks, us".ljust(32) + "".join(f"k = {k}".rjust(12) for k in SIZES))
    for way in ways:
        print(way.ljust(32) + "".join(f"{medians[way, k]:12.2f}" if (way, k) in medians else "-".rjust(12) for k in SIZES))
    print()


def rows_of(medians, ranks, rounds):
    rows = []
    for (way, k), us in medians.items():
        other = best_other(medians, k)
        is_ours = way.startswith("ACP") and other is not None
        rows.append({"experiment": "peers-halo", "case": f"{way}, {ranks} ranks", "mode": "", "ranks": ranks, "nodes": 1,
                     "bytes": exchange_bytes(k), "iterations": rounds,
                     "latency_us": {"min": us, "median": us, "p99": us, "mean": us}, "bandwidth_MBps": exchange_bytes(k) / us,
                     "yardstick": {"name": "best MPI", "value": other, "unit": "us"} if is_ours else None,
                     "ratio": us / other if is_ours else None, "extra": {"k": k}})
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
        mpis = built_mpis(folder, "mpi_halo")
        for ranks in (int(text) for text in arguments.ranks.split(",")):
            medians = collect(arguments, that_fit(mpis, ranks), ranks)
            if not medians:
                return 1
            print_table(medians, ranks)
            rows += rows_of(medians, ranks, arguments.rounds)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps({"header": header("bench/peers/halo.py"), "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
