# SPDX-License-Identifier: BSD-3-Clause
"""How ranks end: an exception ends the job and names rank, file and line; an exit leaves the job."""
import os
import re
import unittest

from support import FOLDER, JobTest, run

PROGRAM = os.path.join(FOLDER, "raises.py")


def line_of(text):
    with open(PROGRAM) as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


class FailuresTest(JobTest):
    def ends_job(self, what, line, error):
        code, _, text = run("raises.py", what, python=())
        self.assertNotEqual(code, 0, text)
        self.assertRegex(text, re.escape(f"rank 1: {PROGRAM}:{line}: {error}"))
        self.assertRegex(text, r"acprun: rank 1 .* called acp_abort")
        self.assertIn("Traceback", text)

    def test_an_exception_of_a_command_ends_the_job_and_names_the_line(self):
        self.ends_job("command", line_of("acp4py.get(0"), "acp4py.AddressError: acp_get")

    def test_an_exception_in_a_with_block_ends_the_job_and_names_the_line(self):
        self.ends_job("block", line_of("raise ValueError"), "ValueError: a block")

    def test_abort_prints_its_text(self):
        code, _, text = run("raises.py", "hook", python=())
        self.assertNotEqual(code, 0)
        self.assertIn("by choice", text)

    def test_an_exit_of_all_ranks_leaves_the_job_with_their_code(self):
        code, out, text = run("raises.py", "exit")
        self.assertEqual((code, sorted(out.splitlines())), (3, ["rank 0 ends", "rank 1 ends"]), text)
        self.assertNotIn("without acp_finalize", text)

    def test_the_death_of_a_rank_is_an_error_of_the_others(self):
        code, out, text = run("raises.py", "killed", options=("--on-failure", "continue"))
        self.assertNotEqual(code, 0)
        self.assertEqual(out, "sync: PeerError\nsync: PeerError\nfinalize: PeerError\n", text)

    def test_a_view_of_a_segment_does_not_keep_the_interpreter_from_leaving(self):
        self.assertEqual(self.passes("raises.py", "view"), "ends with a view\n" * 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
