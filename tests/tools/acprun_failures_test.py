# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that end as they should not: what is reported, what happens to the others, and the exit code."""
import os
import re
import signal
import socket

from support import ACT, MEMBER, ToolTest, acprun, main, marked_processes, ready

HOST = re.escape(socket.gethostname())


class Reports(ToolTest):
    def test_a_killed_rank_is_named_with_process_host_and_cause(self):
        job = self.start("-n", "4", MEMBER, "join", "meet", "print=ready", "1:signal=9", "outlive", "pause")
        code, _, error = job.finish()
        self.assertEqual(code, 137)
        self.assertRegex(error, rf"rank 1 \(process \d+ on {HOST}\) was killed by signal 9 \(SIGKILL[^)]*\) "
                                r"without acp_finalize; the other 3 ranks were ended\n")
        self.assertEqual(len(re.findall("acprun: rank", error)), 1)
        self.assert_nobody_is_left(job)

    def test_ranks_that_are_killed_alike_get_one_hint(self):
        result = acprun("-n", "3", "--on-failure=continue", ACT, "signal=9")
        self.assertEqual(result.stderr.count(b"was killed by signal 9"), 3)
        self.assertEqual(result.stderr.count(b"acprun: hint: if nobody sent it, memory ran out"), 1)

    def test_each_kind_of_end_has_its_words_and_its_code(self):
        for verbs, code, words in (
                (("1:exit=3",), 3, "rank 1 .* exited with code 3;"),
                (("1:join", "1:exit=3"), 3, "rank 1 .* exited with code 3 without acp_finalize;"),
                (("1:join", "1:exit=0"), 1, "rank 1 .* exited with code 0 without acp_finalize;"),
                (("1:signal=11",), 139, "rank 1 .* signal 11 .SIGSEGV: segmentation fault."),
                (("1:join", "1:signal=6"), 134, "rank 1 .* signal 6 .SIGABRT: aborted.")):
            result = acprun("-n", "2", MEMBER, *verbs, "pause")
            self.assert_fails(result, code, words)

    def test_the_report_stands_below_the_output(self):
        result = acprun("-n", "2", "sh", "-c", f"exec 2>&1; exec {ACT} 0:pause lines=1000 error=last exit=5")
        self.assertEqual(result.returncode, 5)
        both = acprun("-n", "2", ACT, "0:pause", "error=last words", "exit=5").stderr.decode().splitlines()
        self.assertEqual(both[0], "last words")
        self.assertRegex(both[1], "rank 1")

    def test_the_first_to_die_is_named_although_others_follow(self):
        for _ in range(20):
            result = acprun("-n", "8", MEMBER, "join", "meet", "5:signal=9", "outlive", "exit=4")
            self.assert_fails(result, 137, "rank 5 ")

    def test_quiet_leaves_the_error_and_drops_the_hint(self):
        result = acprun("-q", "-n", "2", MEMBER, "1:signal=9", "pause")
        self.assertRegex(result.stderr.decode(), r"\Aacprun: rank 1 [^\n]*\n\Z")

    def test_all_ranks_may_fail_alike(self):
        self.assert_fails(acprun("-n", "4", ACT, "exit=7"), 7, "exited with code 7")


class Joining(ToolTest):
    def test_programs_without_acp_need_not_join(self):
        self.assertEqual(acprun("-n", "4", ACT, "1:exit=0").returncode, 0)

    def test_a_rank_that_ends_before_joining_fails_the_waiting_ranks(self):
        for _ in range(10):
            result = acprun("-n", "3", "--on-failure=continue", MEMBER, "1:exit=0", "join", "outlive", "exit=7")
            self.assertEqual(result.stdout.count(b": rank 1 "), 2, result)
            self.assertIn(result.returncode, (1, 7))  # as rank 1 ended before or after the others joined

    def test_a_rank_that_ends_while_others_wait_for_it_is_a_failure(self):
        job = self.start("-n", "2", "sh", "-c",
                         f"[ $ACP_RANK = 0 ] && exec {MEMBER} join print=ready outlive pause; kill -STOP $$; exit 0")
        job.read_lines(1)
        self.continue_stopped(job)
        code, _, error = job.finish()
        self.assertEqual(code, 1)
        self.assertRegex(error, "rank 1 .* exited with code 0 without acp_init, in which others wait for it")

    def continue_stopped(self, job):
        """Continues the rank that stops itself, once it has."""
        while True:
            for pid, name in marked_processes(job.mark).items():
                if name != "sh":
                    continue
                with open(f"/proc/{pid}/stat") as stat:
                    if stat.read().rsplit(")", 1)[1].split()[0] == "T":
                        os.kill(pid, signal.SIGCONT)
                        return

    def test_a_rank_that_fails_after_leaving_does_not_end_the_others(self):
        result = acprun("-n", "3", MEMBER, "join", "meet", "leave", "1:exit=3", "print=done")
        self.assert_fails(result, 3, "rank 1 .* exited with code 3 after acp_finalize\n")
        self.assertEqual(result.stdout, b"done\n" * 2)


class Continue(ToolTest):
    def test_other_ranks_get_an_error_and_continue(self):
        result = acprun("-n", "4", "--on-failure=continue", MEMBER, "join", "meet", "2:signal=9", "outlive",
                        "print=ran on", "leave")
        self.assert_fails(result, 137, "rank 2 .* signal 9")
        self.assertEqual(result.stdout.count(b": rank 2 "), 3)
        self.assertEqual(result.stdout.count(b"ran on"), 3)

    def test_the_report_comes_at_once(self):
        job = self.start("-n", "2", "--on-failure=continue", ACT, "1:exit=9", "end-on=10", "print=ready", "pause")
        self.assertIn(b"rank 1", job.process.stderr.readline())
        job.read_lines(1)
        job.send(signal.SIGUSR1)
        self.assertEqual(job.finish()[0], 9)

    def test_the_code_is_that_of_the_first_and_all_are_counted(self):
        job = self.start("-n", "3", "--on-failure=continue", ACT, "0:exit=5", "1:end-on=10", "1:print=ready",
                         "2:print=ready", "pause")
        self.assertEqual(job.read_lines(2), ready(2))
        self.assertIn(b"rank 0", job.process.stderr.readline())
        job.send(signal.SIGUSR1)
        code, _, error = job.finish()
        self.assertEqual(code, 5)
        self.assertRegex(error, r"rank 2 .* signal 10[\s\S]*2 of 3 ranks failed")


class Families(ToolTest):
    def test_processes_that_ranks_leave_behind_are_ended(self):
        job = self.start("-n", "3", ACT, "fork", "fork", "print=done")
        self.assertEqual(job.finish()[:2], (0, "done\n" * 3))
        self.assert_nobody_is_left(job)

    def test_the_families_of_killed_ranks_are_killed(self):
        job = self.start("-n", "3", ACT, "fork", "fork", "ignore=15", "1:exit=1", "pause")
        self.assertEqual(job.finish()[0], 1)
        self.assert_nobody_is_left(job)

    def test_stopped_ranks_are_ended_too(self):
        job = self.start("-n", "3", ACT, "0:signal=19", "1:signal=9", "pause")
        self.assertEqual(job.finish()[0], 137)
        self.assert_nobody_is_left(job)

    def test_many_ranks_are_ended(self):
        job = self.start("-n", "100", ACT, "fork", "77:exit=2", "pause")
        code, _, error = job.finish()
        self.assertEqual(code, 2)
        self.assertIn("the other 99 ranks were ended", error)
        self.assert_nobody_is_left(job)


if __name__ == "__main__":
    main()
