#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What crosses between two nodes by ACP, beside UCX and Open MPI over TCP and beside bare datagrams, all over the
loopback of this machine, in turns: each round runs every one of them, and the figures are medians over rounds. Prints
a table and writes rows in acpbench's form. A library that is not installed is left out, which is said.

UCX tells half a round trip for its puts; what stands here is the whole, for ACP and Open MPI wait until a put is in
place. ACP encrypts unless told otherwise; the others never do, so ACP stands here twice.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LIMIT_S = 120  # for one run of one library: longer ones hang
# case -> (what it is, bytes, unit, whether more is better)
CASES = {
    "put": ("put, until it is in place", 8, "us", False),
    "get": ("get", 8, "us", False),
    "add8": ("fetching addition", 8, "us", False),
    "row": ("small puts in a row", 8, "M/s", True),
    "stream": ("stream of puts", 1 << 20, "MB/s", True),
    "to-and-fro": ("message to and fro", 8, "us", False),
}
LIBRARIES = ("ACP", "ACP, security off", "UCX tcp", "Open MPI tcp", "bare UDP")


def output_of(command, environment=None):
    """What a command prints, or None when it fails, which is said."""
    try:
        done = subprocess.run([str(word) for word in command], env={**os.environ, **(environment or {})}, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        print(f"peers: {command[0]} took longer than {LIMIT_S} s", file=sys.stderr)
        return None
    if done.returncode != 0:
        print(f"peers: {command[0]} ended with {done.returncode}: {done.stderr.strip()[-400:]}", file=sys.stderr)
        return None
    return done.stdout


class Acp:
    def __init__(self, programs, slices):
        self.programs, self.slices = programs, slices

    def measure(self, is_encrypted):
        """({case: value} of ACP, the same of bare datagrams)"""
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "net.json"
            done = output_of([self.programs / "acprun", "-n", 2, "--nodes", 2, "--starter-size", "16M",
                              self.programs / "acpbench", "net", "--slices", self.slices, "--json", file],
                             {} if is_encrypted else {"ACP_SECURITY": "off"})
            if done is None:
                return {}, {}
            rows = {row["case"]: row for row in json.loads(file.read_text())["rows"]}
        own = {case: rows[case]["latency_us"]["median"] for case in ("put", "get", "add8")}
        own["row"] = rows["small puts, pipelined"]["extra"]["M/s"]
        own["stream"] = rows["stream of puts"]["bandwidth_MBps"]
        bare = {case: rows[case]["yardstick"]["value"] for case in ("put", "get", "add8")}
        bare["to-and-fro"] = statistics.median(bare.values())
        bare["stream"] = rows["stream of puts"]["yardstick"]["value"]
        return own, bare


class Ucx:
    # case -> test, options, column of the final line, factor
    TESTS = {
        "put": (["-t", "ucp_put_lat", "-s", "8"], 1, 2.0),
        "get": (["-t", "ucp_get", "-s", "8", "-O", "1"], 3, 1.0),
        "add8": (["-t", "ucp_fadd", "-s", "8", "-O", "1"], 3, 1.0),
        "row": (["-t", "ucp_put_bw", "-s", "8"], 7, 1e-6),
        # ucx_perftest's MB are 2^20 bytes
        "stream": (["-t", "ucp_put_bw", "-s", str(1 << 20)], 5, 1.048576),
    }
    ENVIRONMENT = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo", "UCX_LOG_LEVEL": "error"}

    def __init__(self, is_quick):
        self.counts = {"row": 200_000, "stream": 1000}
        self.count = 20_000
        if is_quick:
            self.counts, self.count = {"row": 20_000, "stream": 100}, 2000

    @staticmethod
    def is_there():
        return shutil.which("ucx_perftest") is not None

    @staticmethod
    def free_port():
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            return one.getsockname()[1]

    @staticmethod
    def wait_until_listening(port, server):
        while server.poll() is None:
            entry = f":{port:04X} 00000000:0000 0A"
            if any(entry in pathlib.Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6")):
                return
            os.sched_yield()

    def measure(self):
        values = {}
        for case, (options, column, factor) in self.TESTS.items():
            count = self.counts.get(case, self.count)
            port = self.free_port()
            server = subprocess.Popen(["ucx_perftest", "-p", str(port)], env={**os.environ, **self.ENVIRONMENT},
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                self.wait_until_listening(port, server)
                text = output_of(["ucx_perftest", "127.0.0.1", "-p", port, *options, "-n", count, "-w", count // 10, "-f"],
                                 self.ENVIRONMENT)
            finally:
                server.kill()
                server.wait()
            if text:
                values[case] = float(text.split("\n")[-2].split()[column]) * factor
        return values


class OpenMpi:
    OPTIONS = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl",
               "tcp,self", "--mca", "osc", "pt2pt", "--mca", "btl_tcp_if_include", "lo"]

    def __init__(self, folder, is_quick):
        self.program = pathlib.Path(folder) / "mpi_pair"
        self.seconds = "0.2" if is_quick else "1"

    @staticmethod
    def is_there():
        return shutil.which("mpicc") is not None and shutil.which("mpirun") is not None

    def build(self):
        return output_of(["mpicc", "-O2", "-o", self.program, HERE / "mpi_pair.c"]) is not None

    def measure(self):
        text = output_of(["mpirun", *self.OPTIONS, "-n", 2, self.program, self.seconds])
        return {line.split()[0]: float(line.split()[1]) for line in (text or "").splitlines()}


def collect(arguments, folder):
    """{library: {case: [value of each round]}}"""
    found = {library: {case: [] for case in CASES} for library in LIBRARIES}
    acp = Acp(arguments.programs, 2 if arguments.quick else 10)
    ucx = Ucx(arguments.quick) if Ucx.is_there() else None
    mpi = OpenMpi(folder, arguments.quick) if OpenMpi.is_there() else None
    if mpi is not None and not mpi.build():
        mpi = None
    for library, package in ((ucx, "ucx-utils"), (mpi, "openmpi-bin and libopenmpi-dev")):
        if library is None:
            print(f"peers: left out, for it is not installed: {package}", file=sys.stderr)

    def add(library, values):
        for case, value in values.items():
            found[library][case].append(value)

    for number in range(arguments.rounds):
        if sys.stderr.isatty():
            print(f"\rround {number + 1} of {arguments.rounds}", end="", file=sys.stderr)
        for library, is_encrypted in (("ACP", True), ("ACP, security off", False)):
            own, bare = acp.measure(is_encrypted)
            add(library, own)
            add("bare UDP", bare)
        if ucx is not None:
            add("UCX tcp", ucx.measure())
        if mpi is not None:
            add("Open MPI tcp", mpi.measure())
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return {library: {case: statistics.median(values) for case, values in cases.items() if values}
            for library, cases in found.items()}


def standing(medians, case):
    """How many times as good as the better of the two libraries ACP is; None without one."""
    peers = [medians[library][case] for library in ("UCX tcp", "Open MPI tcp") if case in medians[library]]
    own = medians["ACP"].get(case)
    if not peers or not own:
        return None
    return own / max(peers) if CASES[case][3] else min(peers) / own


def print_table(medians):
    rows = [["case", "bytes", "unit", *LIBRARIES, "ACP is better by"]]
    for case, (what, size, unit, _) in CASES.items():
        better = standing(medians, case)
        rows.append([what, str(size), unit,
                     *(f"{medians[library][case]:.2f}" if case in medians[library] else "-" for library in LIBRARIES),
                     "-" if better is None else f"{better:.2f}"])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) if i in (0, 2) else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(row, widths))).rstrip())


def row_of(case, library, value, better, rounds):
    """A row as acpbench writes it."""
    what, size, unit, _ = CASES[case]
    time_us = value if unit == "us" else 0
    row = {"experiment": "peers", "case": f"{what}: {library}", "mode": "", "ranks": 2, "nodes": 2, "bytes": size,
           "iterations": rounds, "latency_us": {"min": time_us, "median": time_us, "p99": time_us, "mean": time_us},
           "bandwidth_MBps": value if unit == "MB/s" else 0, "yardstick": None,
           "ratio": better if library == "ACP" else None}
    if unit == "M/s":
        row["extra"] = {unit: value}
    return row


def header(command):
    """Where and when, as acpbench writes it."""
    return {"machine": f"{os.cpu_count()} CPUs, {platform.machine()}", "kernel": platform.release(), "version": "",
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "command": command, "configuration": {}}


def write_json(path, medians, rounds):
    rows = [row_of(case, library, medians[library][case], standing(medians, case), rounds)
            for case in CASES for library in LIBRARIES if case in medians[library]]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"header": header("bench/peers/peers.py"), "rows": rows}, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path, help="folder of acprun and acpbench")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="shows that it works rather than how fast it is")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        medians = collect(arguments, folder)
    if not medians["ACP"]:
        return 1
    print_table(medians)
    if arguments.json:
        write_json(arguments.json, medians, arguments.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
