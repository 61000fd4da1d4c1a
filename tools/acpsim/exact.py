#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The best packing of whole messages, proven by CP-SAT of OR-tools: an oracle for the planner of exchanges.

Each message keeps one engine and all links of its route for as long as it takes alone; all that are sent at once have rates that the node
can inject. Such a packing can be carried out, so no bound may be above its time. What it may not do is share a link, cut a message or wait
for less than a nanosecond: with that a plan may be shorter.

Reads an object {"engines", "stairs_ns", "injection", "messages": [{"ns", "rate", "links"}]} from standard input and prints "TIME proven" or
"TIME found", in nanoseconds, where seconds (an argument, default 10) were too few for a proof. Exits with 3 without OR-tools.
"""
import json
import math
import sys

try:
    from ortools.sat.python import cp_model
except ImportError:
    print("exact.py: no OR-tools; install it with: pip install ortools", file=sys.stderr)
    sys.exit(3)


def solve(problem: dict, seconds: float) -> tuple[int, bool]:
    model = cp_model.CpModel()
    messages = problem["messages"]
    horizon = sum(message["ns"] for message in messages) + max(problem["stairs_ns"], default=0)
    end = model.new_int_var(0, horizon, "end")
    intervals, starts = [], {}
    by_link: dict[int, list] = {}
    for number, message in enumerate(messages):
        start = model.new_int_var(0, horizon, f"start{number}")
        interval = model.new_fixed_size_interval_var(start, message["ns"], f"message{number}")
        model.add(end >= start + message["ns"])
        for link in message["links"]:
            by_link.setdefault(link, []).append(interval)
        # Equal messages may begin in the order in which they are listed.
        key = (message["ns"], message["rate"], tuple(message["links"]))
        if key in starts:
            model.add(starts[key] <= start)
        starts[key] = start
        intervals.append(interval)
    stairs = [model.new_fixed_size_interval_var(0, ns, f"stair{i}") for i, ns in enumerate(problem["stairs_ns"]) if ns > 0]
    model.add_cumulative(intervals + stairs, [1] * (len(intervals) + len(stairs)), problem["engines"])
    # Whole numbers, rounded so that no more is sent at once than the node injects.
    rates = [math.ceil(message["rate"]) for message in messages]
    model.add_cumulative(intervals, rates, max(math.floor(problem["injection"]), *rates))
    for its in by_link.values():
        model.add_no_overlap(its)
    model.minimize(end)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 2
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        raise RuntimeError(solver.status_name(status))
    return solver.value(end), status == cp_model.OPTIMAL


if __name__ == "__main__":
    time_ns, is_proven = solve(json.load(sys.stdin), float(sys.argv[1]) if len(sys.argv) > 1 else 10)
    print(time_ns, "proven" if is_proven else "found")
