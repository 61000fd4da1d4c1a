#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Refuses one allocation after the other of rank 0 of a job, in one mode: every command of every rank ends, no process is
aborted, and the job works once allocations succeed. refused.cpp says what a rank checks. refusals_test.py MODE
short|long short: every so-many-th request, some in one job. long: a job for each of 1000 requests, refused alone and
with all that follow."""
import os
import subprocess
import sys

ACPRUN = os.environ["ALLOC_ACPRUN"]
PROGRAM = os.environ["ALLOC_PROGRAM"]
PRELOAD = os.environ["ALLOC_PRELOAD"]
WATCHDOG_S = 3000  # far above the time of a run: refused ends itself long before

# For each mode, acprun's arguments, the environment, threads per rank.
MODES = {
    "default": (["-n", "3"], {}, 1),
    "attach_off": (["-n", "3"], {"ACP_ATTACH": "off"}, 1),
    "pairs": (["-n", "3"], {"ACP_ATTACH": "off", "ACP_MAILBOX": "pairs"}, 1),
    "bitmap": (["-n", "3"], {"ACP_ATTACH": "off", "ACP_MAILBOX": "bitmap"}, 1),
    "bypass_off": (["-n", "3"], {"ACP_BYPASS": "off"}, 1),
    "udp": (["-n", "3"], {"ACP_INTRANODE": "udp"}, 1),
    "threads": (["-n", "2"], {"ACP_ATTACH": "off"}, 3),
    "own_gateways": (["-n", "2", "--nodes", "2"], {}, 1),
    "own_gateways_libcrypto": (["-n", "2", "--nodes", "2"], {"ACP_CIPHER_LIBRARY": "libcrypto"}, 1),
    "agents_gateways": (["-n", "4", "--nodes", "2"], {}, 1),
}
ALL = 0
# A rank whose allocations all fail never connects to another one, and is severed after this time.
BRIEF = {"ACP_PEER_TIMEOUT": "3"}


def run_job(mode, phase, first, last, step, count, more=None, may_end_by=None):
    """Runs one job; ends the test with its words when it went wrong, unless they are may_end_by. Returns what it printed."""
    arguments, environment, threads = MODES[mode]
    environment = {**environment, **(more or {})}
    plan = [phase, *map(str, (first, last, step, count, threads))]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ACP_")}
    try:
        result = subprocess.run([ACPRUN, *arguments, PROGRAM, *plan], capture_output=True, timeout=WATCHDOG_S,
                                env={**kept, "ACP_ON_ERROR": "return", **environment}, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired as hang:
        sys.exit(f"{mode} {' '.join(plan)}: the job hangs\n{(hang.stderr or b'').decode(errors='replace')}")
    if may_end_by and may_end_by in result.stderr:
        return result.stdout.decode()
    if result.returncode != 0:
        sys.exit(f"{mode} {' '.join(plan)}: exit code {result.returncode}\n"
                 f"{result.stdout.decode(errors='replace')}{result.stderr.decode(errors='replace')}")
    return result.stdout.decode()


def requests_of(mode):
    """How many requests a round makes in a job that has all its memory."""
    return int(run_job(mode, "run", 10**9, 10**9, 1, 1).split()[0])


def refuse_gateways(form):
    """Allocations of ranks succeed; those of the gateways of their nodes fail, at first or later."""
    # Not permanently: two gateways that cannot keep each other's address never connect. Each of 50 refusals before the
    # first contact costs a quarter of a second, since the router asks again twice a second.
    plans = {1: (1,), 2: (5,), 3: (5, 10), 5: (5,), 7: (50,), 13: (5,), 21: (50,), 34: (10,), 40: (50,)}
    if form == "long":
        plans = {number: (1, 2, 5, 10, 50) for number in range(1, 301)}
    for number, counts in plans.items():
        for count in counts:
            run_job("agents_gateways", "run", 10**9, 10**9, 1, 1,
                    {"LD_PRELOAD": PRELOAD, "REFUSE_FIRST": str(number), "REFUSE_COUNT": str(count)})


def main():
    mode, form = sys.argv[1:]
    if mode == "refused_gateway":
        refuse_gateways(form)
        return
    requests = requests_of(mode)
    print(f"{mode}: {requests} requests in a round")
    # A job without a failed allocation tests nothing.
    numbers = range(1, 1001) if form == "long" else [1, 2, 3, 5, 8, 13, 21, 34, 55]
    for number in numbers:
        if form == "short" and number > requests:
            break
        for count in (1, ALL):
            run_job(mode, "run", number, number, 1, count)
    # Later rounds of a job make other allocations than its first one.
    run_job(mode, "run", 1, 40 if form == "short" else 1000, 1, 1)
    run_job(mode, "run", 1, 40 if form == "short" else 1000, 1, ALL)
    run_job(mode, "register", 1, 40, 1, 1)
    run_job(mode, "register", 1, 40, 1, ALL)
    for phase in ("init", "finalize"):
        for number in range(1, 301) if form == "long" else (1, 4, 9, 16, 25, 36, 49, 64):
            # If an allocation of libcrypto fails in its first key agreement, all later ones of that process fail.
            lasting = b"no memory for its keys" if mode.startswith("own_") and phase == "init" else None
            run_job(mode, phase, number, number, 1, 1, BRIEF, may_end_by=lasting)
            run_job(mode, phase, number, number, 1, ALL, BRIEF, may_end_by=lasting)


if __name__ == "__main__":
    main()
