#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""acpinfo --memory against real jobs: the bytes the kernel gave to the node's shared memory after every
rank has joined are those stated, and so, between nodes, are those of shared memory and gateways at start and in use.

Usage: acpinfo_memory_test.py ACPINFO ACPRUN NODE_MEMORY_PROGRAM
"""
import json
import os
import subprocess
import sys
import unittest

ACPINFO, ACPRUN, PROGRAM = "", "", ""


def output_of(command, settings):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ACP_")}
    result = subprocess.run(command, env={**environment, **settings}, text=True, check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if result.returncode != 0:
        raise AssertionError(f"{command} ended with {result.returncode}: {result.stderr}")
    return result.stdout


class NodeMemory(unittest.TestCase):
    def test_too_many_ranks_on_a_node_are_refused_by_the_option_that_was_given(self):
        for options, message in ((["-n", "1000000"], "the number of ranks on one node (-n) is 1 to 1024, not 1000000; --ppn says"),
                                 (["-n", "4000", "--ppn", "2000"], "the number of ranks per node (--ppn) is 1 to 1023, not 2000")):
            result = subprocess.run([ACPINFO, "--memory", *options], capture_output=True, text=True, check=False)
            self.assertEqual((result.returncode, result.stdout), (64, ""), result.stderr)
            self.assertIn(message, result.stderr)

    def stated_and_real(self, procs, settings):
        stated = json.loads(output_of([ACPINFO, "--memory", "-n", str(procs), "--json", "-"], settings))
        real = int(output_of([ACPRUN, "-n", str(procs), PROGRAM], settings))
        return stated["memory"]["node_start_bytes"], real

    def assert_stated(self, procs, settings):
        stated, real = self.stated_and_real(procs, settings)
        self.assertEqual(real, stated, (procs, settings))

    def test_is_as_stated_for_every_number_of_ranks(self):
        for procs in (1, 2, 3, 4, 8, 16):
            self.assert_stated(procs, {})

    def test_is_as_stated_for_every_path_between_ranks(self):
        for path in ("auto", "direct", "attach", "mailbox", "udp"):
            self.assert_stated(4, {"ACP_INTRANODE": path})

    def test_is_as_stated_for_every_kind_of_mailbox(self):
        for kind in ("mpsc", "pairs", "bitmap"):
            self.assert_stated(4, {"ACP_MAILBOX": kind})
        self.assert_stated(4, {"ACP_MAILBOX": "bitmap", "ACP_INTRANODE": "mailbox"})

    def test_is_at_most_as_stated_where_polling_touches_mailboxes(self):
        for path in ("mailbox", "udp"):
            for procs in (2, 4, 16):
                stated, real = self.stated_and_real(procs, {"ACP_MAILBOX": "pairs", "ACP_INTRANODE": path})
                self.assertLessEqual(real, stated, (procs, path))

    def test_is_as_stated_for_every_size_of_starter_memory(self):
        for size in ("0", "1", "4097", "1M"):
            self.assert_stated(3, {"ACP_STARTER_SIZE": size})


class Network(unittest.TestCase):
    """Jobs of several emulated nodes, with two ranks each unless said otherwise."""

    PER_NODE = 2
    RANK_KIB = 300  # of a rank that talks through the agent's gateway, which acpinfo does not state
    # What is measured is at most what is stated, and not less than this share of it: how ends of commands are
    # gathered decides how much of a ring is used, and some of a gateway depends on the library that ciphers.
    LEAST = 0.75
    RING_RECORDS = 1024  # not fewer than a ring between a rank and its gateway has

    def stated(self, nodes, per_node=PER_NODE, rails=1):
        command = [ACPINFO, "--memory", "-n", str(nodes * per_node), "--ppn", str(per_node), "--json", "-"]
        stated = json.loads(output_of(command, {"ACP_RAILS": str(rails)}))["memory"]
        self.assertEqual(stated["rails"], rails)
        return stated

    def measured(self, nodes, times, size, per_node=PER_NODE, rails=1):
        """[(moment, segment bytes, gateway bytes, the first rank's bytes)] of every node."""
        text = output_of([ACPRUN, "-n", str(nodes * per_node), "--nodes", str(nodes), "--rails", str(rails), PROGRAM,
                          str(per_node), str(times), str(size)], {})
        rows = [(line.split()[0], *map(int, line.split()[1:])) for line in text.splitlines()]
        self.assertEqual(sorted(row[0] for row in rows), ["start"] * nodes + ["used"] * nodes)
        return rows

    @staticmethod
    def sum_of(stated, key, kind, without=()):
        """The sum of the parts of a kind: "segment", "gateway" or "own gateway"."""
        def kind_of(part):
            return part.split(": ")[0] if ": " in part else "segment"
        return sum(part[key] for part in stated["parts"]
                   if kind_of(part["part"]) == kind and part["part"].split(": ")[-1] not in without)

    def assert_as_stated(self, real, most, what):
        self.assertLessEqual(real, most, what)
        self.assertGreaterEqual(real, most * self.LEAST, what)

    def test_gateways_take_the_stated_memory_at_start_and_after_traffic_between_all(self):
        for nodes in (2, 4, 8):
            stated = self.stated(nodes)
            for moment, _, gateway, _ in self.measured(nodes, 16, 8):
                # Few and small puts fill no buffers.
                most = self.sum_of(stated, f"node_{moment}_bytes", "gateway", without=("buffers",))
                self.assert_as_stated(gateway, most, (nodes, moment))

    def test_ranks_that_are_their_own_gateways_take_as_much_again(self):
        for nodes in (2, 4, 8):
            stated = self.stated(nodes, per_node=1)
            for moment, _, gateway, own in self.measured(nodes, 16, 8, per_node=1):
                key = f"node_{moment}_bytes"
                most = self.sum_of(stated, key, "own gateway", without=("buffers",)) + self.RANK_KIB * 1024
                self.assert_as_stated(own, most, (nodes, moment))
                self.assert_as_stated(gateway, self.sum_of(stated, key, "gateway", without=("buffers",)), (nodes, moment))

    def test_shared_memory_is_as_stated_at_start_and_once_all_have_talked_for_long(self):
        for nodes in (2, 4, 8):
            stated = self.stated(nodes)
            for moment, segment, gateway, _ in self.measured(nodes, 2 * self.RING_RECORDS, 8):
                key = f"node_{moment}_bytes"
                self.assert_as_stated(segment, self.sum_of(stated, key, "segment"), (nodes, moment))
                if moment == "start":
                    self.assertEqual(segment, self.sum_of(stated, key, "segment"), nodes)
                self.assertLessEqual(gateway, self.sum_of(stated, key, "gateway"), (nodes, moment))

    def test_a_stream_to_all_nodes_stays_within_what_is_stated_for_use(self):
        for nodes in (2, 4, 8):
            stated = self.stated(nodes)
            for moment, segment, gateway, _ in self.measured(nodes, 100, 60000):
                key = f"node_{moment}_bytes"
                self.assertLessEqual(segment, self.sum_of(stated, key, "segment"), (nodes, moment))
                self.assertLessEqual(gateway, self.sum_of(stated, key, "gateway"), (nodes, moment))

    def test_each_rail_takes_what_is_stated(self):
        for nodes in (2, 8):
            for rails in (2, 4):
                stated = self.stated(nodes, rails=rails)
                for moment, _, gateway, _ in self.measured(nodes, 16, 8, rails=rails):
                    most = self.sum_of(stated, f"node_{moment}_bytes", "gateway", without=("buffers",))
                    self.assert_as_stated(gateway, most, (nodes, rails, moment))

    def test_each_rail_of_ranks_that_are_their_own_gateways_takes_as_much_again(self):
        for rails in (2, 4):
            stated = self.stated(4, per_node=1, rails=rails)
            for moment, _, gateway, own in self.measured(4, 16, 8, per_node=1, rails=rails):
                key = f"node_{moment}_bytes"
                most = self.sum_of(stated, key, "own gateway", without=("buffers",)) + self.RANK_KIB * 1024
                self.assert_as_stated(own, most, (rails, moment))
                self.assert_as_stated(gateway, self.sum_of(stated, key, "gateway", without=("buffers",)), (rails, moment))

    def test_a_stream_by_all_rails_stays_within_what_is_stated_for_use(self):
        stated = self.stated(4, rails=3)
        for moment, segment, gateway, _ in self.measured(4, 100, 60000, rails=3):
            key = f"node_{moment}_bytes"
            self.assertLessEqual(segment, self.sum_of(stated, key, "segment"), moment)
            self.assertLessEqual(gateway, self.sum_of(stated, key, "gateway"), moment)

    def test_a_million_ranks_take_half_a_megabyte_each_in_use(self):
        text = output_of([ACPINFO, "--memory", "-n", "1000000", "--ppn", "100", "--json", "-"], {})
        stated = json.loads(text)["memory"]
        self.assertLessEqual(stated["start_bytes"], 125_000)  # nothing per rank of the job on every node
        self.assertLessEqual(stated["used_bytes"], 500_000)


if __name__ == "__main__":
    ACPINFO, ACPRUN, PROGRAM = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1])
