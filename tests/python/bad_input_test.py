# SPDX-License-Identifier: BSD-3-Clause
"""Bad input gives Python's own errors, in jobs of one rank and of two."""
import unittest

from support import JobTest


class BadInputTest(JobTest):
    def test_bad_input_is_refused_and_the_rank_lives_on(self):
        self.assertEqual(self.passes("bad_input.py"), "ok\nok\n")

    def test_bad_input_is_refused_in_a_job_of_one_rank(self):
        self.assertEqual(self.passes("bad_input.py", ranks=1, nodes="1"), "ok\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
