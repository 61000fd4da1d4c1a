# SPDX-License-Identifier: BSD-3-Clause
"""What a process keeps, and what other threads may do: handles in asyncio, interrupts, a thousand rounds."""
import unittest

from support import NODES, JobTest


class RoundsTest(JobTest):
    def test_many_rounds_leave_descriptors_and_memory_as_they_were(self):
        rounds = "1000" if NODES == "1" else "100"  # between nodes a round has two dozen round trips
        self.assertEqual(self.passes("rounds.py", rounds, python=()), "ok\nok\n")

    def test_handles_are_awaited_and_an_interrupt_ends_a_barrier(self):
        self.assertEqual(self.passes("asynchronous.py", python=()), "ok\nok\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
