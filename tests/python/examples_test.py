# SPDX-License-Identifier: BSD-3-Clause
"""Every example runs and prints what it promises."""
import unittest

from support import JobTest


class ExamplesTest(JobTest):
    def test_hello_names_every_rank(self):
        self.assertEqual(self.passes("examples/hello.py", ranks=3),
                         "".join(f"hello from rank {rank} of 3\n" for rank in range(3)))

    def test_ring_passes_every_number_round(self):
        self.assertEqual(self.passes("examples/ring.py", ranks=4), "ring: 6\n")

    def test_histogram_counts_the_words_of_all_ranks(self):
        self.assertEqual(self.passes("examples/histogram.py", ranks=3), "blue 3\nfish 12\none 3\nred 3\ntwo 3\n")

    def test_no_number_of_a_counter_is_drawn_twice(self):
        self.assertEqual(self.passes("examples/counter.py", ranks=4), "counter: 400\n")

    def test_heat_stays_in_the_rod(self):
        self.assertEqual(self.passes("examples/heat.py", ranks=4), "heat: 1000.0\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
