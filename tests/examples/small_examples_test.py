#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each small example on 1 to 8 ranks: its exit code, and that it prints what its opening comment says."""
import harness

RANKS = range(1, 9)


class SmallExamples(harness.ExampleTest):
    def assert_prints(self, program: str, ranks: int, *lines: str) -> None:
        with self.subTest(ranks=ranks):
            job = self.run_job(ranks, program)
            self.assert_succeeds(job)
            self.assertEqual(job.out, "".join(line + "\n" for line in lines), str(job))
            self.assertEqual(job.err, "")

    def test_hello_prints_the_line_of_every_rank_in_order(self):
        for ranks in RANKS:
            self.assert_prints("hello", ranks,
                               *(f"hello from rank {rank} of {ranks}" for rank in range(ranks)))

    def test_third_party_copy_moves_all_numbers(self):
        for ranks in RANKS[2:]:
            self.assert_prints("third_party_copy", ranks,
                               "rank 0 moved 1000000 numbers from rank 1 to rank 2: all arrived")

    def test_third_party_copy_says_that_two_ranks_are_too_few(self):
        for ranks in (1, 2):
            with self.subTest(ranks=ranks):
                job = self.run_job(ranks, "third_party_copy")
                self.assertEqual(job.code, 1, str(job))
                self.assertEqual(job.out, "")
                self.assertEqual(job.err.count(f"third_party_copy: needs 3 ranks, has {ranks}: acprun -n 3"), 1,
                                 str(job))

    def test_ring_of_atomics_gives_each_ticket_once(self):
        for ranks in RANKS:
            self.assert_prints("ring_of_atomics", ranks,
                               f"{ranks} ranks walked 100 laps: {100 * ranks * ranks} tickets, each given once")

    def test_ordered_chain_brings_the_parcel_home(self):
        for ranks in RANKS:
            self.assert_prints("ordered_chain", ranks,
                               f"the parcel came home with {100 * ranks} stamps after 100 rounds of {ranks} ranks")

    def test_poll_on_flag_sees_every_letter_whole(self):
        for ranks in RANKS:
            self.assert_prints("poll_on_flag", ranks, f"100 letters went round {ranks} ranks")

    def test_each_runs_alone_without_a_launcher(self):
        for program, line in (("hello", "hello from rank 0 of 1"),
                              ("ring_of_atomics", "1 ranks walked 100 laps: 100 tickets, each given once"),
                              ("ordered_chain", "the parcel came home with 100 stamps after 100 rounds of 1 ranks"),
                              ("poll_on_flag", "100 letters went round 1 ranks")):
            with self.subTest(program=program):
                job = self.run_alone(program)
                self.assert_succeeds(job)
                self.assertEqual(job.out, line + "\n", str(job))


if __name__ == "__main__":
    harness.main()
