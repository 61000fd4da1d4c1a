#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Four programs that wait for words of their own memory, each as an example of ACP and in OpenSHMEM: how many lines both have (laid
out by clang-format with the same options, without comments and empty lines), and how long a word takes from rank to rank,
acp_wait_word beside shmem_wait_until, in turns; medians over rounds. Ends with 1 when one of ours is more than 1.15 times as long.

--lines compares the lines alone, and needs no OpenSHMEM. Without an OpenSHMEM the times are left out, which is said.
"""
import argparse
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

from peers import LIMIT_S, output_of

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# our example -> the program in OpenSHMEM
KERNELS = {"flag_ping_pong": "shmem_ping_pong", "key_exchange": "shmem_key_exchange", "transposition": "shmem_transposition",
           "wavefront": "shmem_wavefront"}
LINES_RATIO_MAX = 1.15
STYLE = "--style={BasedOnStyle: Google, IndentWidth: 4, ColumnLimit: 100}"
RUN_SHMEM = ("oshrun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n")


def lines_of(source):
    """The lines of code of a C program."""
    formatter = shutil.which("clang-format-14") or shutil.which("clang-format")
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", source.read_text(), flags=re.S)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / source.name
        file.write_text(text)
        laid_out = output_of([formatter, STYLE, file])
    if laid_out is None:
        sys.exit("kernels: clang-format is needed to compare the lines")
    return sum(1 for line in laid_out.splitlines() if line.strip())


def compare_lines():
    """Whether all of ours are short enough; prints a table."""
    are_short = True
    print(f"{'lines of code':<16}{'ACP':>6}{'OpenSHMEM':>11}{'ratio':>7}")
    for ours, theirs in KERNELS.items():
        own, other = lines_of(ROOT / "examples" / f"{ours}.c"), lines_of(HERE / f"{theirs}.c")
        print(f"{ours:<16}{own:>6}{other:>11}{own / other:>7.2f}")
        are_short = are_short and own <= LINES_RATIO_MAX * other
    return are_short


def one_way_us(command):
    """Of a ping-pong by a word, from the line that both programs print. What happens after that line is not looked at: shmem_finalize
    of Open MPI 4.1 crashes on some systems."""
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=LIMIT_S)
    found = re.search(r"([0-9.]+) us one way", done.stdout)
    if not found:
        sys.exit(f"kernels: {command[0]} ended with {done.returncode} and without a time: {done.stderr.strip()[-400:]}")
    return float(found[1])


def compare_times(programs, rounds):
    compiler = shutil.which("oshcc")
    with tempfile.TemporaryDirectory() as folder:
        other = pathlib.Path(folder) / "shmem_ping_pong"
        if not compiler or output_of([compiler, "-O2", "-o", other, HERE / "shmem_ping_pong.c"]) is None:
            print("kernels: the times are left out, for OpenSHMEM is not installed", file=sys.stderr)
            return
        own_us, other_us = [], []
        for _ in range(rounds):
            own_us.append(one_way_us([programs / "acprun", "-n", 2, programs / "flag_ping_pong"]))
            other_us.append(one_way_us([*RUN_SHMEM, 2, other]))
    own, other = statistics.median(own_us), statistics.median(other_us)
    print(f"one way of a word, median of {rounds} rounds: {own:.2f} us, OpenSHMEM {other:.2f} us, ratio {own / other:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path, nargs="?", help="folder of acprun and the examples; default: build/release/bin")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--lines", action="store_true", help="compare the lines alone")
    arguments = parser.parse_args()
    are_short = compare_lines()
    if not arguments.lines:
        compare_times(arguments.programs or ROOT / "build/release/bin", arguments.rounds)
    return 0 if are_short else 1


if __name__ == "__main__":
    sys.exit(main())
