#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""acpstat beside jobs that have shared pages: the counters of each rank, and the wait for a page of a stopped node."""
import json
import os
import re
import signal
import subprocess
import time

from support import BIN, PROGRAMS, RANK, WATCHDOG_S, ToolTest, environment_of, main, ready, stop

ACPSTAT = os.path.join(BIN, "acpstat")
PAGES = os.path.join(PROGRAMS, "pages")
MANUAL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/man/acpstat.1.md")


def acpstat(*arguments):
    return subprocess.run([ACPSTAT, *arguments], capture_output=True, text=True, timeout=WATCHDOG_S)


class SharedPages(ToolTest):
    def start_pages(self, *arguments):
        job = self.start("-q", *arguments, "--heap-size", "8M", PAGES, stdin=subprocess.PIPE)
        self.assertEqual(job.read_lines(2), ready(2))
        self.name = environment_of(job.rank(0))["ACP_JOB_ID"]
        return job

    def counters(self):
        """{rank: its counters}"""
        nodes = json.loads(acpstat(self.name, "--json").stdout)["nodes"]
        return {rank["rank"]: rank for node in nodes for rank in node["shared_pages"]}

    def end(self, job):
        job.process.stdin.close()
        job.process.stdin = None
        self.assertEqual(job.finish()[0], 0)

    def test_the_counters_of_each_rank_say_what_it_fetched_sent_and_dropped(self):
        job = self.start_pages("-n", "2", "--nodes", "2")
        reader, writer = (self.counters()[rank] for rank in (0, 1))
        for rank in (reader, writer):
            self.assertEqual((rank["bytes"], rank["bytes_allocated"], rank["allocations"], rank["barriers"]),
                             (1 << 20, 8192, 1, 4))
            self.assertEqual((rank["pages_sent"], rank["bytes_sent"], rank["pages_prefetched"], rank["homes_gained"]),
                             (0, 0, 0, 0))
        self.assertEqual((reader["pages_fetched"], reader["pages_dropped"], reader["faults"]), (1, 1, 1))
        self.assertGreater(reader["fault_ns"], 0)
        self.assertEqual(writer["pages_fetched"], 0)
        self.assertRegex(acpstat(self.name).stdout, r"(?m)^shared pages, in all:\n *rank +bytes +bytes allocated ")
        with open(MANUAL, encoding="utf-8") as file:
            manual = file.read()
        for name in ["shared_pages", *reader]:
            self.assertIn(f"**{name}**", manual)
        self.end(job)

    def test_a_job_on_one_node_has_counters_without_faults(self):
        job = self.start_pages("-n", "2")
        self.assertEqual([(rank["barriers"], rank["faults"], rank["bytes"]) for rank in self.counters().values()],
                         [(4, 0, 1 << 20)] * 2)
        self.end(job)

    def test_a_job_without_shared_pages_shows_none(self):
        job = self.start("-q", "-n", "2", RANK, "init", "print=ready", "pause")
        self.assertEqual(job.read_lines(2), ready(2))
        self.name = environment_of(job.rank(0))["ACP_JOB_ID"]
        self.assertEqual(self.counters(), {})
        self.assertNotIn("shared pages", acpstat(self.name).stdout)
        job.send(signal.SIGINT)
        self.assertEqual(job.finish()[0], 130)

    def test_a_rank_that_waits_for_a_page_is_shown_with_the_page_and_its_home(self):
        job = self.start_pages("-n", "2", "--nodes", "2")
        stop(job.rank(1))
        job.process.stdin.write(b"go\n")
        job.process.stdin.flush()
        end = time.monotonic() + WATCHDOG_S
        wanted = r"(?m)^rank 0 waits in a touch of page 1, home node 1 for \d+\.\d s: "
        while not re.search(wanted, seen := acpstat(self.name).stdout):
            self.assertLess(time.monotonic(), end, seen)
            time.sleep(0.02)  # lint: a pause between looks
        os.kill(job.rank(1), signal.SIGCONT)
        self.assertEqual(job.read_line(), "touched\n")
        self.end(job)


if __name__ == "__main__":
    main()
