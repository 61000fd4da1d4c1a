#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""acpinfo --memory against real jobs: the bytes the kernel gave to the node's shared memory after every
rank has joined are those stated.

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


if __name__ == "__main__":
    ACPINFO, ACPRUN, PROGRAM = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1])
