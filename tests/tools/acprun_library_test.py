# SPDX-License-Identifier: BSD-3-Clause
"""acprun with programs that use the library itself: what a launcher and its ranks owe each other."""
import os
import signal

from support import PRIVATE, RANK, ToolTest, acprun, main, marked_processes


class Library(ToolTest):
    def test_ranks_find_their_places(self):
        result = acprun("-n", "5", RANK, "init", "sync", "who", "finalize")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(result.stdout.decode().splitlines()), [f"{i} of 5" for i in range(5)])

    def test_a_program_without_a_launcher_is_a_job_of_one(self):
        self.assertEqual(os.popen(f"env -u ACP_RANK -u ACP_NODE_FD {RANK} init who finalize").read(), "0 of 1\n")

    def test_an_unknown_variable_is_reported_once_and_not_by_every_rank(self):
        result = acprun("-n", "4", RANK, "init", "finalize", env={"ACP_MAILBOXX": "mpsc"})
        self.assertEqual((result.returncode, result.stderr.count(b"ACP_MAILBOXX")), (0, 1), result.stderr)

    def test_an_argument_that_acprun_has_already_fixed_is_reported_once(self):
        late = ("--acp-starter-size", "1M", "--acp-report=0", "--acp-peer-timeout", "3")
        result = acprun("-n", "3", PRIVATE, "nothing", *late)
        lines = result.stderr.decode().splitlines()
        self.assertEqual((result.returncode, len(lines)), (0, 2), result)
        self.assertIn("the argument --acp-starter-size 1M has no effect: acprun has fixed ACP_STARTER_SIZE=64K for the "
                      "whole job; acprun -x ACP_STARTER_SIZE=1M", lines[0])
        self.assertIn("--acp-peer-timeout 3 has no effect", lines[1])

    def test_an_argument_with_the_value_that_the_job_has_is_not_reported(self):
        result = acprun("-n", "2", "-x", "ACP_STARTER_SIZE=1M", PRIVATE, "nothing", "--acp-starter-size", "1024k")
        self.assertEqual((result.returncode, result.stderr), (0, b""), result)

    def test_a_killed_rank_ends_the_waits_of_the_others(self):
        result = acprun("-n", "4", "--on-failure=continue", RANK, "init", "sync", "2:signal=9", "sync", "print=ran on",
                        "finalize")
        self.assert_fails(result, 137, "rank 2 .* signal 9 .* without acp_finalize")
        out = result.stdout.decode()
        self.assertEqual(out.count("ran on"), 3, out)
        self.assertEqual(out.count("sync: a needed process is dead"), 3, out)

    def test_a_killed_rank_ends_the_job(self):
        job = self.start("-n", "4", RANK, "init", "sync", "2:signal=9", "0:pause", "sync", "pause")
        code, _, error = job.finish()
        self.assertEqual(code, 137, error)
        self.assertRegex(error, "rank 2 .* signal 9 .*; the other 3 ranks were ended")
        self.assert_nobody_is_left(job)

    def test_an_exit_without_finalize_is_a_failure_of_its_own_name(self):
        self.assert_fails(acprun("-n", "2", RANK, "init", "sync", "1:exit=0", "pause"), 1,
                          "rank 1 .* exited with code 0 without acp_finalize; the other rank", "acp_abort")

    def test_buffered_output_is_not_lost_where_acp_ends_the_process(self):
        for end in (("init", "print-buffered=kept", "abort=out of cheese"), ("init", "finalize", "print-buffered=kept", "sync")):
            with self.subTest(end=end):
                result = acprun("-n", "1", RANK, *end, env={"ACP_ON_ERROR": "fatal"})
                self.assertEqual((result.returncode, result.stdout), (134, b"kept\n"), result)

    def test_abort_ends_the_job(self):
        result = acprun("-n", "3", RANK, "init", "1:abort=out of cheese", "sync", "pause")
        self.assert_fails(result, 134, "out of cheese", "rank 1 .* called acp_abort; the other 2 ranks were ended")

    def test_a_rank_that_never_joins_fails_the_others_initialisation(self):
        result = acprun("-n", "3", "--on-failure=continue", RANK, "1:exit=0", "init", "print=next", "exit=3")
        self.assertEqual(result.stdout.count(b"init: a needed process is dead"), 2, result)
        self.assertIn(result.returncode, (1, 3))

    def test_an_initialisation_names_a_rank_that_never_joined(self):
        result = acprun("-n", "2", "--on-failure=continue", RANK, "1:exit=0", "init")
        self.assertRegex(result.stdout.decode(), r"init: .*: rank 1 .* exited with code 0 without acp_init")

    def test_a_later_initialisation_names_a_rank_that_has_finalized_and_exited(self):
        result = acprun("-n", "3", "--on-failure=continue", RANK, "init", "sync", "finalize", "1:exit=0", "init")
        lines = result.stdout.decode().splitlines()
        self.assertEqual(len(lines), 2, lines)
        for line in lines:
            self.assertRegex(line, r"^init: .*: rank 1 .* exited with code 0 after acp_finalize")

    def test_a_rank_that_has_finalized_and_exited_fails_no_other(self):
        result = acprun("-n", "3", RANK, "init", "sync", "finalize", "1:exit=0", "print=on")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"on\n" * 2, b""))

    def test_a_failure_is_reported_with_the_rank_after_a_reset(self):
        result = acprun("-n", "3", RANK, "init", "reset=1", "2:signal=9", "sync", "pause")  # rank 2 is now rank 0
        self.assert_fails(result, 137, "rank 0 .* signal 9")

    def test_the_launcher_dies_and_so_do_ranks_in_the_library(self):
        job = self.start("-n", "3", RANK, "init", "0:print=ready", "0:pause", "sync")
        job.read_lines(1)
        job.send(signal.SIGKILL)
        job.process.wait()
        job.wait_until_gone()

    def test_a_stopped_rank_delays_and_does_not_fail(self):
        job = self.start("-n", "2", RANK, "init", "1:print=stops", "1:signal=19", "sync", "finalize", "print=done")
        job.read_lines(1)
        self.assertEqual(job.process.poll(), None)
        stopped = [pid for pid, name in marked_processes(job.mark).items() if name == "rank"]
        while job.process.poll() is None:  # the stop itself may still be to come
            for pid in stopped:
                try:
                    os.kill(pid, signal.SIGCONT)
                except ProcessLookupError:
                    continue
        self.assertEqual(job.finish()[:2], (0, "done\ndone\n"))


if __name__ == "__main__":
    main()
