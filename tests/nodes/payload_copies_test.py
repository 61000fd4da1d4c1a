# SPDX-License-Identifier: BSD-3-Clause
"""How often a payload is copied on its way from the caller's memory into a datagram, before the seal: twice. The rank writes it into
the record of the command, and the gateway, which the rank or its agent runs, writes it from there into the datagram. Encryption is off,
so the seal is one copy more. For a put with a signal, an insertion into a map, pushes to a list, a deque and a vector, and a message of
a channel."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from support import PROGRAMS, ToolTest, acprun, main  # noqa: E402

CALLS = ("put_signal", "insert", "push_list", "push_deque", "push_vector", "channel")


class PayloadCopies(ToolTest):
    def expect(self, ranks, copies):
        """Expects of each call in a job of two nodes: copies and origins of them by rank 0, and by its agent."""
        with tempfile.NamedTemporaryFile() as table:
            table.truncate(4096)
            result = acprun("-n", str(ranks), "--nodes", "2", os.path.join(PROGRAMS, "nodes_payload_copies"),
                            env={"LD_PRELOAD": os.environ["COUNTED_COPIES_LIBRARY"], "TEST_COUNTED_COPIES": table.name,
                                 "ACP_SECURITY": "off"})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.decode().splitlines(), [f"{call} {copies}" for call in CALLS])

    def test_by_a_rank_that_is_its_own_gateway(self):
        self.expect(2, "3 1 0 0")

    def test_by_a_rank_and_an_agent(self):
        self.expect(4, "1 1 2 1")


if __name__ == "__main__":
    main()
