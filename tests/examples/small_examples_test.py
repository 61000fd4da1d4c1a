#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each small example on 1 to 8 ranks: its exit code, and that it prints what its opening comment says."""
import os
import pathlib
import re

import harness

RANKS = range(1, 9)
RETURNING = {**os.environ, "ACP_ON_ERROR": "return"}


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

    def test_device_copy_gets_its_bytes_back_and_calls_a_function_on_them(self):
        for ranks in RANKS:
            self.assert_prints("device_copy", ranks,
                               f"{ranks} ranks: 128 bytes came back from each device, and strnlen counts 127 there")

    def test_device_copy_ends_with_the_exit_codes_of_the_paper(self):
        job = self.run_job(1, "device_copy", "/no/such/program", environment=RETURNING)
        self.assertEqual(job.code, 1, str(job))
        self.assertIn("acp_create_process: ", job.err)
        self.assertIn("/no/such/program", job.err)
        job = self.run_job(1, "device_copy", launcher=("--heap-size", "0"), environment=RETURNING)
        self.assertEqual(job.code, 5, str(job))
        self.assertIn("acp_malloc: ", job.err)

    def test_device_pipeline_passes_all_blocks_and_waits_once(self):
        for ranks in RANKS:
            self.assert_prints("device_pipeline", ranks,
                               f"{ranks} ranks: 32 blocks each passed 3 devices without a wait in between")

    def test_device_pipeline_says_that_there_is_no_memory(self):
        job = self.run_job(1, "device_pipeline", launcher=("--heap-size", "0"), environment=RETURNING)
        self.assertEqual(job.code, 1, str(job))
        self.assertIn("acp_malloc: ", job.err)

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

    def test_laplace_has_the_bits_of_one_process(self):
        for ranks, points in ((1, 3), (1, 200), (2, 300), (3, 257), (4, 10), (8, 5)):
            with self.subTest(ranks=ranks, points=points):
                job = self.run_job(ranks, "laplace", "-n", points, "-s", 20)
                self.assert_succeeds(job)
                self.assertRegex(job.out, f"^{ranks} ranks: 20 steps of {points} x {points} points took [0-9.]+ s, "
                                          "and each bit is as one process computes it\n$", str(job))
                self.assertEqual(job.err, "")

    def test_laplace_has_the_bits_of_one_process_on_several_nodes(self):
        for ranks, nodes, points in ((2, 2, 300), (4, 2, 257), (4, 4, 10)):
            with self.subTest(ranks=ranks, nodes=nodes, points=points):
                job = self.run_job(ranks, "laplace", "-n", points, "-s", 20, launcher=("--nodes", str(nodes)))
                self.assert_succeeds(job)
                self.assertIn("each bit is as one process computes it", job.out, str(job))

    def test_red_black_has_the_bits_of_one_process_where_two_ranks_write_a_page(self):
        for ranks, nodes in ((1, 1), (3, 1), (2, 2), (3, 3), (8, 4)):
            with self.subTest(ranks=ranks, nodes=nodes):
                job = self.run_job(ranks, "red_black", launcher=("--nodes", str(nodes)))
                self.assert_succeeds(job)
                self.assertEqual(job.out, f"{ranks} ranks: after 200 sweeps the mean of 100 x 100 points is 0.160, "
                                          "and each bit is as one process computes it\n", str(job))

    def test_matrix_product_is_right_in_all_elements(self):
        for ranks, nodes in ((1, 1), (4, 1), (2, 2), (4, 2), (5, 3)):
            with self.subTest(ranks=ranks, nodes=nodes):
                job = self.run_job(ranks, "matrix_product", launcher=("--nodes", str(nodes)))
                self.assert_succeeds(job)
                self.assertEqual(job.out, f"{ranks} ranks: the product of two 256 x 256 matrices is right in all "
                                          "65536 elements\n", str(job))

    def test_laplace_refuses_what_is_no_problem(self):
        for arguments in (("-n", 2), ("-s", -1), ("-n",), ("-x", 1)):
            with self.subTest(arguments=arguments):
                job = self.run_job(2, "laplace", *arguments)
                self.assertEqual(job.code, 2, str(job))
                self.assertEqual(job.err.count("usage: laplace"), 1, str(job))

    def test_programs_that_wait_for_words_print_their_results(self):
        for launcher, counts in (((), (1, 2, 3, 4, 7, 8)), (("--nodes", "2"), (2, 4))):
            for ranks in counts:
                for program, line in (("wavefront", "the last of 512 x 512 numbers is 983345"),
                                      ("transposition", f"{ranks} ranks transposed a matrix of 64 x 64"),
                                      ("key_exchange", f"{ranks} ranks sorted {4096 // ranks * ranks} keys")):
                    with self.subTest(program=program, ranks=ranks, launcher=launcher):
                        job = self.run_job(ranks, program, launcher=launcher)
                        self.assert_succeeds(job)
                        self.assertEqual(job.out, line + "\n", str(job))

    def test_flag_ping_pong_prints_the_one_way_time_of_a_word(self):
        for ranks, launcher in ((2, ()), (3, ()), (5, ("--nodes", "2"))):
            with self.subTest(ranks=ranks, launcher=launcher):
                job = self.run_job(ranks, "flag_ping_pong", launcher=launcher)
                self.assert_succeeds(job)
                self.assertRegex(job.out, r"^10000 rounds, \d+\.\d\d us one way\n$")

    def test_programs_that_wait_for_words_are_as_short_as_with_openshmem(self):
        root = pathlib.Path(__file__).resolve().parents[2]

        def lines_of(path):
            text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
            return sum(1 for line in text.splitlines() if line.strip())

        for ours, theirs in (("flag_ping_pong", "ping_pong"), ("wavefront", "wavefront"),
                             ("transposition", "transposition"), ("key_exchange", "key_exchange")):
            with self.subTest(program=ours):
                self.assertLessEqual(lines_of(root / "examples" / f"{ours}.c"),
                                     1.15 * lines_of(root / "bench" / "peers" / f"shmem_{theirs}.c"))

    def test_ping_pong_prints_the_one_way_time_of_each_length(self):
        for launcher in ((), ("--nodes", "2")):
            with self.subTest(launcher=launcher):
                job = self.run_job(3, "ping_pong", launcher=launcher)
                self.assert_succeeds(job)
                self.assertRegex(job.out, r"^ +8 bytes +\d+\.\d\d us\n +1024 bytes +\d+\.\d\d us\n +131072 bytes +\d+\.\d\d us\n$")

    def test_prime_pipeline_finds_all_primes(self):
        for ranks in (1, 2, 4, 30):
            self.assert_prints("prime_pipeline", ranks, f"the pipeline of {ranks} ranks found 1229 primes below 10000")

    def test_work_queue_finds_the_longest_way(self):
        for ranks in (2, 3, 8):
            self.assert_prints("work_queue", ranks,
                               f"837799 takes 524 steps; 100 pieces of work were done by {ranks - 1} workers")

    def test_pm_letters_brings_all_letters_in_order(self):
        for launcher in ((), ("--nodes", "2")):
            for ranks in (2, 4):
                with self.subTest(launcher=launcher, ranks=ranks):
                    job = self.run_job(ranks, "pm_letters", launcher=launcher)
                    self.assert_succeeds(job)
                    self.assertEqual(
                        job.out, f"{ranks} ranks exchanged {1000 * ranks * ranks} letters, each in the order written\n", str(job))

    def test_pmv2_ping_pong_gets_back_what_it_sent(self):
        for launcher in ((), ("--nodes", "2")):
            with self.subTest(launcher=launcher):
                job = self.run_job(3, "pmv2_ping_pong", launcher=launcher)
                self.assert_succeeds(job)
                self.assertEqual(job.out, "1000 messages went to and fro; 65536 bytes were written and read back\n", str(job))

    def test_programs_that_need_two_ranks_refuse_one(self):
        for program in ("ping_pong", "work_queue", "pmv2_ping_pong"):
            with self.subTest(program=program):
                job = self.run_job(1, program)
                self.assertEqual((job.code, job.out), (1, ""), str(job))
                self.assertIn(f"{program}: needs 2 ranks, has 1: acprun -n 2", job.err)

    def test_jacobi_computes_what_one_rank_does(self):
        for ranks in (1, 2, 3, 8):
            self.assert_prints("jacobi", ranks,
                               f"{ranks} ranks needed 1627 sweeps over 42 x 42 points; the plate is that of a single rank")

    def test_heat_is_what_the_closed_form_says(self):
        for ranks, grid, points in ((1, (1, 1), 20), (4, (2, 2), 31), (6, (3, 2), 64), (3, (), 96), (8, (2, 2, 2), 12), (6, (1, 2, 3), 17)):
            for nodes in (1, 2):
                with self.subTest(ranks=ranks, grid=grid, nodes=nodes):
                    job = self.run_job(ranks, "heat", "-n", points, "-s", 50, *grid, launcher=("--nodes", str(min(nodes, ranks))))
                    self.assert_succeeds(job)
                    shape = " x ".join(map(str, grid or (1, ranks)))
                    size = " x ".join([str(points)] * (len(grid) or 2))
                    self.assertEqual(job.out, f"{ranks} ranks as {shape}: after 50 steps of {size} points the heat is what the "
                                     "closed form says\n", str(job))

    def test_heat_refuses_grids_that_are_not_of_the_job(self):
        for arguments in ((2, 3), (4,), (4, 1, 1, 1), ("-n", 7, 4, 1), ("-q",)):
            with self.subTest(arguments=arguments):
                job = self.run_job(4, "heat", *arguments)
                self.assertEqual((job.code, job.out), (2, ""), str(job))
                self.assertEqual(job.err.count("usage: heat"), 1, str(job))

    def test_programs_with_channels_run_over_two_nodes(self):
        for program, line in (("prime_pipeline", "the pipeline of 4 ranks found 1229 primes below 10000"),
                              ("work_queue", "837799 takes 524 steps; 100 pieces of work were done by 3 workers"),
                              ("jacobi", "4 ranks needed 1627 sweeps over 42 x 42 points; the plate is that of a single rank")):
            with self.subTest(program=program):
                job = self.run_job(4, program, launcher=("--nodes", "2"))
                self.assert_succeeds(job)
                self.assertEqual(job.out, line + "\n", str(job))

    def test_each_runs_alone_without_a_launcher(self):
        for program, line in (("hello", "hello from rank 0 of 1"),
                              ("ring_of_atomics", "1 ranks walked 100 laps: 100 tickets, each given once"),
                              ("ordered_chain", "the parcel came home with 100 stamps after 100 rounds of 1 ranks"),
                              ("poll_on_flag", "100 letters went round 1 ranks"),
                              ("pm_letters", "1 ranks exchanged 1000 letters, each in the order written"),
                              ("prime_pipeline", "the pipeline of 1 ranks found 1229 primes below 10000")):
            with self.subTest(program=program):
                job = self.run_alone(program)
                self.assert_succeeds(job)
                self.assertEqual(job.out, line + "\n", str(job))


if __name__ == "__main__":
    harness.main()
