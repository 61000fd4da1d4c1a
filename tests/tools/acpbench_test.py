#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""acpbench from outside: every experiment writes rows of the stated shape, and wrong arguments get an error with the right
command. acpbench_report_test.py has the report that draws the rows.

Usage: acpbench_test.py FOLDER_OF_PROGRAMS
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BIN = pathlib.Path()
WATCHDOG_S = 300  # far above the time of a run: a longer one hangs

ROW_KEYS = {"experiment", "case", "mode", "distance", "ranks", "nodes", "bytes", "iterations", "latency_us",
            "bandwidth_MBps", "yardstick", "ratio", "paper"}
DIRECTIONS = ("remote-to-remote", "remote-to-local", "local-to-remote", "local-to-local")


def run(*command, environment=None):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ACP_")}
    return subprocess.run([str(part) for part in command], env={**kept, **(environment or {})}, text=True,
                          capture_output=True, timeout=WATCHDOG_S, check=False)


def in_job(ranks, *arguments, environment=None, nodes=1):
    return run(BIN / "acprun", "-n", ranks, "--nodes", nodes, "--starter-size", "4M", BIN / "acpbench", *arguments,
               environment=environment)


class Experiments(unittest.TestCase):
    def rows_from(self, finished, path):
        self.assertEqual(finished.returncode, 0, finished.stdout + finished.stderr)
        written = json.loads(pathlib.Path(path).read_text())
        for key in ("machine", "version", "date", "configuration"):
            self.assertIn(key, written["header"])
        self.assertTrue(written["rows"])
        for its in written["rows"]:
            self.assertLessEqual(ROW_KEYS, set(its), its)
            latency = its["latency_us"]
            self.assertLessEqual(latency["min"], latency["median"])
            self.assertLessEqual(latency["median"], latency["p99"])
            self.assertIn(its["distance"], ("near", "far", "shared", "-"))
            self.assertGreater(its["iterations"], 0)
            if its["yardstick"]:
                self.assertLessEqual({"name", "value", "unit"}, set(its["yardstick"]))
                self.assertGreater(its["ratio"], 0)
        return written["rows"]

    def quick(self, ranks, *arguments, environment=None, nodes=1):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/made/here.json"
            arguments = (*arguments, "--quick", "--json", path)
            finished = in_job(ranks, *arguments, environment=environment, nodes=nodes) if ranks else \
                run(BIN / "acpbench", *arguments, environment=environment)
            return self.rows_from(finished, path)

    def test_copy_measures_every_direction_size_and_memory(self):
        rows = self.quick(3, "copy", "--max", "16")
        wanted = {(f"{direction} {memory}{how}", size) for direction in DIRECTIONS
                  for memory in ("starter", "registered") for how in ("", " streamed") for size in (4, 8, 16)}
        self.assertEqual({(its["case"], its["bytes"]) for its in rows}, wanted)
        self.assertTrue(all(its["yardstick"] for its in rows))

    def test_a_direction_that_was_not_measured_does_not_shift_the_others(self):
        finished = in_job(3, "copy", "--quick", "--sizes", "8", "--no-streams",
                          environment={"ACP_INTRANODE": "direct"})
        self.assertEqual(finished.returncode, 0, finished.stderr)
        lines = finished.stdout.splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith("registered memory"))
        head, row = lines[at + 1], lines[at + 2]
        self.assertRegex(row, r"^ *8 B( +-){9} ")  # no direct way into registered memory of others
        last = head.index("local-to-local") + len("local-to-local")
        self.assertRegex(row[:last], r"\d ns$")

    def test_copy_names_the_papers_implementations_and_figures(self):
        rows = self.quick(3, "copy", "--max", "4", environment={
            "ACP_INTRANODE": "mailbox", "ACP_MAILBOX": "pairs", "ACP_DATAGRAM": "1408", "ACP_BYPASS": "off"})
        self.assertEqual({its["mode"] for its in rows}, {"new"})
        figures = {its["case"]: its["paper"]["value"] for its in rows if its["paper"]}
        self.assertEqual(figures["remote-to-remote starter"], 26)
        self.assertEqual(figures["local-to-local registered"], 4.9)

    def test_all_modes_runs_the_modes_and_sizes_that_were_asked_for(self):
        rows = self.quick(0, "copy", "--all-modes", "--modes", "new,old", "--sizes", "16,4", "--no-streams")
        wanted = {(f"{direction} {memory}", mode, size) for direction in DIRECTIONS
                  for memory in ("starter", "registered") for mode in ("old", "new") for size in (4, 16)}
        self.assertEqual({(its["case"], its["mode"], its["bytes"]) for its in rows}, wanted)
        self.assertEqual(len(rows), len(wanted))

    def test_a_job_prints_its_steps_as_lines_for_the_program_that_draws_them(self):
        finished = in_job(3, "copy", "--quick", "--sizes", "8", "--no-streams", "--tell-steps")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertIn("step 1/8 ", finished.stdout)
        self.assertIn("step 8/8 ", finished.stdout)

    def test_copy_fine_reports_the_nanoseconds_beyond_memcpy(self):
        rows = self.quick(2, "copy", "--fine", "--max", "4096")
        small = [its for its in rows if its["case"] == "overlapping" and its["bytes"] == 8]
        self.assertIn("over_memcpy_ns", small[0]["extra"])
        self.assertTrue(any(its["case"].startswith("cold") for its in rows))

    def test_sync_compares_two_ranks_with_a_cache_line(self):
        rows = self.quick(2, "sync")
        self.assertEqual(rows[0]["yardstick"]["name"], "cache-line round trip")
        self.assertGreater(rows[0]["extra"]["cpu_us_per_barrier"], 0)

    def test_sync_reports_the_cost_of_a_late_rank_beyond_its_delay(self):
        rows = self.quick(3, "sync", "--late", "300", "--hogs", "1")
        self.assertIn("extra_us", rows[0]["extra"])
        self.assertGreater(rows[0]["extra"]["mean_us"], 300)

    def test_laplace_is_compared_with_loops_on_private_memory(self):
        for ranks, nodes in ((1, 1), (2, 1), (3, 1), (2, 2), (4, 2)):
            rows = self.quick(ranks, "laplace", nodes=nodes)
            ways = {"shared pages", "shared pages, learned", "shared pages, prefetched", "shared pages, flush hints", "puts by hand", "without communication",
                    "one process"}
            self.assertLessEqual(ways, {its["case"] for its in rows})
            for its in rows:
                self.assertEqual((its["ranks"], its["nodes"], its["yardstick"]["name"]), (ranks, nodes, "private memory"))
                self.assertGreater(its["extra"]["speedup"], 0)
                if nodes == 1 and "shared pages" in its["case"]:
                    self.assertEqual(its["extra"]["faults_per_step"], 0)
            self.assertEqual(len(rows[0]["picture"]["values"]), rows[0]["picture"]["width"] ** 2)

    def test_laplace_without_a_launcher_runs_the_jobs_of_the_papers_table(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/laplace.json"
            finished = run(BIN / "acpbench", "laplace", "--quick", "--slices", 1, "--json", path)
            rows = self.rows_from(finished, path)
        self.assertEqual({(its["ranks"], its["nodes"]) for its in rows}, {(1, 1), (2, 1), (4, 1), (2, 2), (4, 2), (4, 4)})
        papers = {(its["nodes"], its["paper"]["value"]) for its in rows if its["paper"]}
        self.assertEqual(papers, {(2, 1.32), (4, 2.57)})
        self.assertRegex(finished.stdout, r"2 ranks on 2 nodes .* 1\.32\n")
        self.assertRegex(finished.stdout, r"4 ranks on 4 nodes .* 2\.57\n")

    def test_a_crowded_laplace_is_right_and_says_how_many_ranks_share_a_cpu(self):
        cpus = len(os.sched_getaffinity(0))
        ranks = 6 * cpus
        finished = run(BIN / "acpbench", "laplace", "-n", ranks, "--nodes", 3, "--quick", "--slices", 1)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertIn(f"{ranks} ranks share {cpus} CPUs, 6 on each", finished.stdout)

    def test_shared_pages_are_measured_beside_gets_barriers_and_private_memory(self):
        rows = self.quick(2, "dsm")
        self.assertEqual([its["case"] for its in rows], ["empty barrier", "loops on one node"])
        self.assertEqual(rows[1]["extra"]["faults"], 0)
        for ranks, nodes in ((2, 2), (3, 2)):
            rows = self.quick(ranks, "dsm", nodes=nodes)
            cases = [its["case"] for its in rows]
            for case in ("empty barrier", "barrier with 944 bytes of notices a node", "fault, peer waiting", "fault, peer computing",
                         "prefetch of 16 pages", "first write, 2 threads", "slowest of 100 faults, peer waiting"):
                self.assertIn(case, cases)
            stated = {its["case"]: its["paper"]["value"] for its in rows if its["paper"]}
            self.assertEqual(stated, {"fault, peer waiting": 101, "prefetch of 16 pages": 328})

    def test_programs_on_shared_pages_have_the_results_of_one_process(self):
        for ranks, nodes in ((1, 1), (3, 1), (2, 2), (4, 2)):
            rows = self.quick(ranks, "dsm-programs", nodes=nodes)
            cases = [its["case"] for its in rows]
            for case in ("SOR, aligned rows", "SOR, border page of two writers, beside", "Jacobi 3-D",
                         "LU, all homes at rank 0, beside after 3 barriers", "matrix product, prefetched", "hash join",
                         "sort by samples", "counters under a lock"):
                self.assertIn(case, cases)

    def test_stream_compares_strides_with_pages_at_random(self):
        for nodes in (1, 2):
            rows = self.quick(2, "stream", nodes=nodes)
            self.assertEqual([its["case"] for its in rows],
                             ["at random", "forward", "backward", "every third page",
                              "every third page backward", "by acp_prefetch_dsm"])
            self.assertEqual(rows[1]["extra"]["faults_a_page"] == 0, nodes == 1)
            self.assertLess(rows[1]["extra"]["faults_a_page"], 0.5)

    def test_matrices_beyond_the_bound_of_copies_are_multiplied(self):
        for ranks, nodes in ((1, 1), (2, 2), (4, 2)):
            rows = self.quick(ranks, "dsm-cache", nodes=nodes)
            self.assertEqual([its["case"] for its in rows],
                             ["matrices of 4 x the bound", "matrices of 4 x the bound, prefetched"])
            for its in rows:
                self.assertEqual(its["yardstick"]["name"], "without a bound")
                self.assertEqual(its["extra"]["evicted"] > 0, nodes > 1)

    def test_atomics_are_measured_alone_and_contended(self):
        rows = self.quick(3, "atomic")
        self.assertEqual([its["case"] for its in rows],
                         ["add8 alone", "add8 contended", "cas8 alone", "cas8 contended"])

    def test_resolve_runs_beside_registrations(self):
        rows = self.quick(2, "resolve")
        self.assertGreater(rows[0]["extra"]["registrations_M/s"], 0)

    def test_mailbox_measures_quiet_active_and_computing_owners(self):
        rows = self.quick(3, "mailbox", environment={"ACP_INTRANODE": "mailbox"})
        self.assertEqual(len(rows), 3)

    def test_idle_counts_every_process_of_the_job(self):
        rows = self.quick(4, "idle")
        self.assertIn("agent_and_launcher_percent", rows[0]["extra"])

    def test_heaps_are_timed_beside_the_c_library_or_a_get(self):
        for nodes, owner, yardstick in ((1, "another rank's", "of the C library"), (2, "another node's", "acp_get of 8 bytes")):
            with tempfile.TemporaryDirectory() as folder:
                path = f"{folder}/heap.json"
                rows = self.rows_from(run(BIN / "acprun", "-n", 2, "--nodes", nodes, BIN / "acpbench", "heap",
                                          "--quick", "--json", path), path)
            theirs = [its for its in rows if owner in its["case"]]
            self.assertGreaterEqual(len(theirs), 2)
            for its in theirs:
                self.assertIn(yardstick, its["yardstick"]["name"])
                self.assertGreater(its["ratio"], 0)

    def test_allocations_that_find_no_room_are_timed_on_each_node(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/heap_full.json"
            rows = self.rows_from(run(BIN / "acprun", "-n", 2, "--nodes", 2, "--heap-size", "16M", BIN / "acpbench", "heap-full",
                                      "--quick", "--json", path), path)
        self.assertEqual({its["case"] for its in rows},
                         {f"{where}, {fill} %" for where in ("own rank", "another node") for fill in (50, 75, 90, 95, 99)})
        for its in rows:
            self.assertEqual(its["bytes"], 16 << 20)
            self.assertGreaterEqual(its["extra"]["p99.9_us"], its["latency_us"]["median"])
            self.assertGreater(its["extra"]["p99.9_cpu_us"], 0)

    def test_messages_are_timed_beside_bare_copies_memcpy_or_puts(self):
        sizes = [8, 1024, 8192, 65536]
        for nodes, yardsticks in ((1, {"two bare copies", "memcpy"}), (2, {"two puts, half of both", "acp_copy, the same bytes"})):
            with tempfile.TemporaryDirectory() as folder:
                path = f"{folder}/message.json"
                rows = self.rows_from(run(BIN / "acprun", "-n", 2, "--nodes", nodes, "--starter-size", "1M", BIN / "acpbench",
                                          "message", "--quick", "--sizes", "8,1k,8k,64k", "--json", path), path)
            self.assertEqual([(its["case"], its["bytes"]) for its in rows],
                             [(case, size) for case in ("to and fro", "one way") for size in sizes] +
                             [(case, size) for case in ("to and fro, PM", "one way, PM") for size in sizes if size <= 8192] +
                             [(case, size) for case in ("to and fro, segbuf", "one way, segbuf") for size in sizes])
            self.assertEqual({its["yardstick"]["name"] for its in rows}, yardsticks)
            self.assertTrue(all(its["ratio"] > 0 for its in rows))
            self.assertTrue(all(its["extra"]["M/s"] > 0 for its in rows if its["case"].startswith("one way")))

    def test_locked_memory_is_written_and_read(self):
        sizes = [8, 4096, 65536]
        for nodes, yardsticks in ((1, ("process_vm_writev", "process_vm_readv")), (2, ("acp_copy, the same bytes", "acp_copy of 8 bytes"))):
            with tempfile.TemporaryDirectory() as folder:
                path = f"{folder}/rma.json"
                rows = self.rows_from(run(BIN / "acprun", "-n", 2, "--nodes", nodes, BIN / "acpbench", "rma", "--quick",
                                          "--sizes", "8,4k,64k", "--json", path), path)
            # A bare stream whose datagrams were not counted in time is no yardstick: the row is called disturbed.
            stream = "bare GSO+GRO stream"
            self.assertEqual([(its["case"], its["bytes"], its["yardstick"]["name"] if its["yardstick"] else stream) for its in rows],
                             [("write", size, yardsticks[0]) for size in sizes] +
                             [("stream of writes", 65536, stream)] * (nodes - 1) +
                             [("read", size, "the writes") for size in sizes] +
                             [("read, one at a time", 4096, yardsticks[1])])
            self.assertTrue(all(its["latency_us"]["median"] > 0 for its in rows))
            self.assertTrue(all(its["ratio"] > 0 for its in rows if its["case"] != "stream of writes" or its["yardstick"]))

    def test_messages_go_between_ranks_and_device_processes_by_every_way(self):
        system = ["FIFO", "POSIX message queue", "TCP", "Unix domain socket"]
        own = {"HH": ["PM", "acp_copy", "channel"], "HD": ["acp_copy", "read (acp_get)", "write (acp_put)"],
               "DH": ["acp_copy"], "DD": ["acp_copy"]}
        for ranks in (2, 3):
            rows = self.quick(ranks, "ipc", "--sizes", "1,128,10000")
            for place, names in own.items():
                wanted = sorted((f"{name}, {place}", size) for name in system + names for size in (1, 128, 10000))
                found = sorted((its["case"], its["bytes"]) for its in rows if its["experiment"] == f"ipc-{place.lower()}")
                self.assertEqual(found, wanted)
            self.assertTrue(all(its["yardstick"] for its in rows))

    def test_messages_between_devices_need_one_node(self):
        finished = in_job(2, "ipc", "--quick", nodes=2)
        self.assertEqual(finished.returncode, 2)
        self.assertIn("acpbench: ipc: all ranks must be on one node", finished.stderr)

    def test_halos_are_exchanged_in_both_kinds_of_memory(self):
        for ranks, nodes, yardstick in ((2, 1, "memcpy"), (4, 1, "memcpy"), (2, 2, "puts of the same messages")):
            with tempfile.TemporaryDirectory() as folder:
                path = f"{folder}/halo.json"
                rows = self.rows_from(run(BIN / "acprun", "-n", ranks, "--nodes", nodes, BIN / "acpbench", "halo", "--quick",
                                          "--json", path), path)
            shape = f"{ranks} ranks" + (f", {nodes} nodes" if nodes > 1 else "")
            wanted = [(f"{how}{memory}, {shape}", k) for memory in ("shared", "private")
                      for how, k in (("", 60), ("", 872), ("computing, ", 872), ("rank 0 computing, ", 872))
                      if (nodes > 1 or not how.startswith("rank 0")) and
                      (not how.startswith("computing") or ranks <= len(os.sched_getaffinity(0)))]
            self.assertEqual([(its["case"], its["extra"]["k"]) for its in rows], wanted)
            for its in rows:
                self.assertEqual(its["bytes"], 73728 if its["extra"]["k"] == 60 else 1009152)
                if "hidden" in its["extra"]:
                    self.assertEqual(its["yardstick"]["name"], "the computation alone")
                    self.assertLessEqual(its["extra"]["hidden"], 1.5)
                    self.assertEqual(its["extra"]["computing"], 1 if its["case"].startswith("rank 0") else ranks)
                else:
                    self.assertEqual(its["yardstick"]["name"], yardstick)
                    self.assertGreater(its["extra"]["start_us"], 0)

    def test_halos_go_by_several_rails_and_beside_it_by_one(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/halo.json"
            rows = self.rows_from(run(BIN / "acprun", "-n", 2, "--nodes", 2, "--rails", 3, BIN / "acpbench", "halo", "--quick",
                                      "--json", path), path)
        shape = "2 ranks, 2 nodes, 3 rails"
        self.assertEqual([(its["case"], its["extra"]["k"]) for its in rows],
                         [(f"{how}{memory}, {shape}", k) for memory in ("shared", "private")
                          for how, k in (("", 60), ("", 872), ("computing, ", 872), ("rank 0 computing, ", 872),
                                         ("all rails, ", 872))])
        for its in (its for its in rows if its["case"].startswith("all rails, ")):
            self.assertEqual(its["yardstick"]["name"], "the same by one rail")
            self.assertEqual(its["extra"]["rails"], 3)

    def test_halo_plan_has_every_scheduler_beside_the_paper(self):
        rows = self.quick(0, "halo-plan")
        modes = [its["mode"] for its in rows if its["case"] == "eight directions" and its["extra"]["k"] == 872]
        self.assertEqual(len(modes), len(set(modes)))
        self.assertLessEqual({"RR1", "RR2", "RR4", "BL1", "BL2", "BL4", "two-phase", "orig", "standard"}, set(modes))
        self.assertEqual(len(rows), (5 * 2 + 6) * len(modes))
        stated = [its for its in rows if its["paper"]]
        self.assertEqual(len(stated), 6 + 6 + 4)
        for its in stated:
            self.assertAlmostEqual(its["latency_us"]["median"] / its["paper"]["value"], 1, delta=0.02, msg=its)
        for its in rows:
            self.assertGreaterEqual(its["ratio"], 1 - 1e-9)  # nothing beats the bound
            if its["mode"] in ("standard", "deep"):
                best = min(one["latency_us"]["median"] for one in rows if (one["case"], one["bytes"]) == (its["case"], its["bytes"])
                           and one["mode"] not in ("standard", "deep"))
                self.assertLessEqual(its["latency_us"]["median"], best * (1 + 1e-9))

    def test_collective_calls_are_timed_by_size(self):
        calls = ["broadcast", "reduce", "allreduce", "gather", "allgather", "scatter", "alltoall", "scan"]
        cpus = len(os.sched_getaffinity(0))
        for ranks, nodes, yardstick in ((2, 1, "cache-line round trip"), (3, 2, "acp_sync"), (cpus + 1, 1, "acp_sync")):
            # Where the ranks of a node share CPUs, the meeting before a call that some may leave early is timed too.
            early = {"broadcast", "reduce", "gather", "scatter", "scan"} if nodes == 1 and ranks > cpus else set()
            wanted = [("acp_sync", 0), ("sync", 0)] + [(f"sync+{call}" if call in early else call, size)
                                                       for call in calls for size in (8, 65536)]
            with tempfile.TemporaryDirectory() as folder:
                path = f"{folder}/collective.json"
                rows = self.rows_from(run(BIN / "acprun", "-n", ranks, "--nodes", nodes, BIN / "acpbench", "collective", "--quick",
                                          "--sizes", "8,64k", "--json", path), path)
            self.assertEqual([(its["case"], its["bytes"]) for its in rows], wanted)
            for its in rows:
                self.assertEqual(its["yardstick"]["name"], "memcpy" if its["bytes"] == 65536 else yardstick)
                self.assertGreater(its["ratio"], 0)
                self.assertGreaterEqual(its["extra"]["slowest_rank_us"], 0.999 * its["latency_us"]["median"])

    def test_maps_are_timed_as_the_paper_did(self):
        for nodes, far in ((1, "another process of the node"), (4, "a process of another node")):
            with tempfile.TemporaryDirectory() as folder:
                path = f"{folder}/map.json"
                rows = self.rows_from(run(BIN / "acprun", "-n", 4, "--nodes", nodes, BIN / "acpbench", "map", "--quick",
                                          "--json", path), path)
            places = ["own process", "own process, growing", far, "4 processes"]
            self.assertEqual([its["case"] for its in rows],
                             [f"{call}, {place}" for place in places for call in ("insert", "find", "insert_many", "find_many", "assign")])
            self.assertTrue(all(its["ratio"] > 0 for its in rows))
            self.assertEqual(rows[0]["paper"]["value"], 56)
            wanted = "std::unordered_map" if nodes == 1 else "acp_get of 8 bytes"
            self.assertEqual({its["yardstick"]["name"] for its in rows if far in its["case"]}, {wanted})

    def test_rates_of_a_map_are_compared_with_two_tables(self):
        rows = self.quick(3, "map-rate")
        for ranks in ("1 rank", "2 ranks", "3 ranks"):
            cases = [its["case"] for its in rows if its["case"].endswith(f", {ranks}")]
            self.assertEqual(len(cases), 14)
            self.assertEqual(sum("YCSB" in case for case in cases), 6)
        for its in rows:
            self.assertGreater(its["extra"]["M/s"], 0)
            self.assertGreater(its["extra"]["flat_M/s"], 0)
            self.assertIn("std::unordered_map", its["yardstick"]["name"])

    def test_lists_vectors_and_deques_are_timed_beside_those_of_the_library_or_a_copy(self):
        calls = {"list": ["push_back", "iterate", "insert", "erase", "assign", "take_front"],
                 "vector": ["push_back", "at", "iterate", "insert", "erase", "assign", "take_back"],
                 "deque": ["push_back", "at", "iterate", "insert", "erase", "assign", "take_front"]}
        for nodes, far in ((1, "another process of the node"), (2, "a process of another node")):
            for experiment, kinds in (("list", ["list"]), ("vector", ["vector", "deque"])):
                with tempfile.TemporaryDirectory() as folder:
                    path = f"{folder}/rows.json"
                    rows = self.rows_from(run(BIN / "acprun", "-n", 2, "--nodes", nodes, BIN / "acpbench", experiment,
                                              "--quick", "--json", path), path)
                wanted = [f"{kind}, {what}" for kind in kinds for what in
                          [f"{call}, {place}" for place in ("own process", far) for call in calls[kind]] +
                          [f"an element in and one out, {count}" for count in ("1 rank", "2 ranks")]]
                self.assertEqual([its["case"] for its in rows], wanted)
                self.assertTrue(all(its["ratio"] > 0 for its in rows))
                for its in rows:
                    if nodes == 2 and far in its["case"]:
                        self.assertEqual(its["yardstick"]["name"], "acp_copy of 8 bytes")
                    else:
                        self.assertIn(f"std::{its['case'].split(',')[0]}", its["yardstick"]["name"])
                    if "one out" in its["case"]:
                        self.assertGreater(its["extra"]["M/s"], 0)
                if experiment == "list":
                    self.assertLessEqual(rows[0]["extra"]["bytes_over_payload_of_8"], 24)
                    self.assertLessEqual(rows[0]["extra"]["bytes_over_payload_of_40"], 24)

    def test_flag_reports_the_times_that_the_waiting_rank_sees(self):
        for nodes, yardstick in ((1, "half a cache-line round trip"), (2, "half a bare UDP round trip")):
            with tempfile.TemporaryDirectory() as folder:
                path = f"{folder}/flag.json"
                rows = self.rows_from(run(BIN / "acprun", "-n", 2, "--nodes", nodes, BIN / "acpbench", "flag",
                                          "--quick", "--json", path), path)
            self.assertEqual([its["case"] for its in rows],
                             [f"{way}, {memory}" for memory in ("starter", "registered") for way in
                              ("flag alone", "data, then flag", "data, then flag by ACP_HANDLE_CONT")])
            self.assertEqual({its["yardstick"]["name"] for its in rows}, {yardstick})
            for figure in ("acp_complete_us", "one_way_us", "one_way_wait_word_us"):
                self.assertTrue(all(its["extra"][figure] > 0 for its in rows), figure)

    def test_net_measures_puts_of_every_size_beside_bare_datagrams(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/net.json"
            rows = self.rows_from(run(BIN / "acprun", "-n", 2, "--nodes", 2, "--starter-size", "4M",
                                      BIN / "acpbench", "net", "--quick", "--json", path), path)
        for case in ("put", "stream of puts"):
            sizes = [its["bytes"] for its in rows if its["experiment"] == "net-sizes" and its["case"] == case]
            self.assertEqual(sizes, [8, 64, 512, 4096, 32768, 262144, 1048576])

    def test_memory_is_compared_with_the_same_program_without_acp(self):
        rows = self.quick(0, "memory", "--ranks", "1,3")
        self.assertEqual([its["ranks"] for its in rows], [1, 3])
        for its in rows:
            self.assertAlmostEqual(its["extra"]["difference_KiB"],
                                   its["extra"]["pss_KiB"] - its["yardstick"]["value"], places=6)

    def test_start_times_whole_jobs(self):
        rows = self.quick(0, "start", "--ranks", "2")
        self.assertEqual([its["ranks"] for its in rows], [2])

    def test_poll_measures_three_kinds_idle_and_loaded(self):
        rows = self.quick(0, "poll", "--ranks", "2,5")
        self.assertEqual(len({(its["case"], its["mode"], its["ranks"]) for its in rows}), 12)


class Mistakes(unittest.TestCase):
    def test_the_refusal_of_too_few_ranks_shows_the_command_to_type(self):
        finished = run(BIN / "acpbench", "copy")
        self.assertEqual(finished.returncode, 2)
        self.assertIn("acprun -n 3", finished.stderr)

    def test_the_refusal_of_net_on_one_node_shows_the_command_to_type(self):
        finished = in_job(2, "net", "--quick")
        self.assertEqual(finished.returncode, 2, finished)
        ours = [line for line in finished.stderr.splitlines() if not line.startswith("acprun: ")]
        self.assertEqual(ours, ["acpbench: this measures between nodes and all ranks are on one; type:",
                                "  acprun -n 2 --nodes 2 --starter-size 16M acpbench net"], finished.stderr)

    def test_sizes_the_wrong_way_round_are_refused(self):
        finished = run(BIN / "acpbench", "copy", "--min", "8k", "--max", "4k")
        self.assertEqual(finished.returncode, 2)
        self.assertIn("8192", finished.stderr)

    def test_the_refusal_of_an_unknown_mode_lists_the_modes(self):
        finished = run(BIN / "acpbench", "copy", "--all-modes", "--modes", "older")
        self.assertNotEqual(finished.returncode, 0)
        self.assertIn("older", finished.stderr)
        self.assertIn("new+bypass", finished.stderr)

    def test_the_refusal_of_an_empty_report_shows_how_to_make_results(self):
        with tempfile.TemporaryDirectory() as folder:
            finished = run(BIN / "acpbench", "report", "--in", folder)
        self.assertNotEqual(finished.returncode, 0)
        self.assertIn("acpbench copy --json", finished.stderr)


if __name__ == "__main__":
    BIN = pathlib.Path(sys.argv.pop(1))
    unittest.main()
