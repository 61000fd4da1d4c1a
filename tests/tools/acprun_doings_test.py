# SPDX-License-Identifier: BSD-3-Clause
"""The report of acprun about a job that hangs, at SIGUSR2 and at its timeout: the call in which each rank waits, and for
which ranks; and its messages about ranks that ended by an error of their own, made a mistake, or used a pointer that
they did not get."""
import os
import re
import select
import signal
import subprocess
import time

from support import RANK, WATCHDOG_S, ToolTest, acprun, main, ready, stop


class Doings(ToolTest):
    def ask_until(self, job, *patterns):
        """Asks again until an answer has all patterns: a rank says what it waits for when it goes to sleep."""
        deadline = os.times().elapsed + WATCHDOG_S
        while os.times().elapsed < deadline:
            job.send(signal.SIGUSR2)
            answer = os.read(job.process.stderr.fileno(), 65536).decode()
            self.assertRegex(answer, r"\Aacprun: asked by SIGUSR2: ")
            if all(re.search(pattern, answer) for pattern in patterns):
                return answer
        self.fail(f"never told {patterns}; the last answer was {answer}")

    def start_with_rank_1_stopped(self, action):
        """A job on two nodes in which rank 1 is stopped before rank 0 does something."""
        job = self.start("-n", "2", "--nodes", "2", RANK, "init", "sync", "print=ready", "1:pause", "await-line", action,
                         stdin=subprocess.PIPE)
        self.assertEqual(job.read_lines(2), ready(2))
        stop(job.rank(1))
        job.process.stdin.write(b"go\n")
        job.process.stdin.flush()
        return job

    def end(self, job):
        job.send(signal.SIGINT)
        self.assertEqual(job.finish()[0], 130)

    def test_a_barrier_over_two_nodes_names_the_missing_ranks_and_their_calls(self):
        job = self.start("-n", "6", "--nodes", "3", RANK, "init", "print=ready", "1:pause", "4:pause", "5:finalize", "sync")
        self.assertEqual(job.read_lines(6), ready(6))
        self.ask_until(job, r"\n  ranks 0,2-3 wait in acp_sync for \d+\.\d s; not there yet: ranks 1,4\n",
                       r"\n  rank 5 waits in acp_finalize for \d+\.\d s; not there yet: ranks 1,4\n",
                       r"\n  ranks 1,4: no wait in a call of ACP\n")
        self.end(job)

    def test_ranks_that_have_not_joined_and_that_have_left_are_reported(self):
        job = self.start("-n", "3", "--nodes", "3", RANK, "0:pause", "1:print=ready", "init", "finalize")
        self.assertEqual(job.read_line(), "ready\n")
        self.ask_until(job, r"ranks 1-2 wait in acp_init .* not there yet: rank 0\n", r"rank 0: not called acp_init\n")
        self.end(job)

    def test_a_wait_for_a_command_names_ranks_bytes_and_addresses(self):
        job = self.start_with_rank_1_stopped("get=1")
        self.ask_until(job, r"\n  rank 0 waits in acp_wait for \d+\.\d s: acp_copy of 32768 bytes from rank 1 "
                            r"\(0x[0-9a-f]+\) to rank 0 \(0x[0-9a-f]+\)\n")
        self.end(job)

    def test_a_step_of_a_call_names_its_operation_and_the_rank_on_whose_memory_it_works(self):
        job = self.start_with_rank_1_stopped("malloc=1")
        self.ask_until(job, r"\n  rank 0 waits in acp_malloc for \d+\.\d s: allocating on memory of rank 1\n")
        self.end(job)

    def test_a_wait_for_a_word_names_the_word_and_what_it_is_compared_with(self):
        job = self.start("-n", "2", RANK, "init", "print=ready", "1:wait-word=7", "pause")
        self.assertEqual(job.read_lines(2), ready(2))
        self.ask_until(job, r"\n  rank 1 waits in acp_wait_word for \d+\.\d s: until its word of 8 bytes at 0x[0-9a-f]+ is 7 "
                            r"\(it held 0\)\n")
        self.end(job)

    def test_a_death_ends_waits_for_words_each_once(self):
        for nodes in ("1", "3"):
            result = acprun("-n", "3", "--nodes", nodes, "--on-failure=continue", RANK, "init", "sync", "2:signal=9",
                            "wait-word=7", "print=on")
            self.assertEqual(result.stdout.decode().count("wait-word: "), 2, result)
            self.assertEqual(len(re.findall(r"acp_wait_word by rank [01] on \S+: rank 2 .*; this process waited until its word of 8 bytes at "
                                            r"0x[0-9a-f]+ is 7 \(it held 0\)", result.stdout.decode())), 2, result)
            self.assertEqual(result.stdout.count(b"on\n"), 2, result)

    def expect_pointer_told(self, action, call, words):
        job = self.start_with_rank_1_stopped(f"{action}=1")
        memory = job.read_line().split()[-1]
        self.ask_until(job, rf"\n  rank 0 waits in {call} for \d+\.\d s: {words.format(memory=memory, ga='0x[0-9a-f]+')}\n")
        self.end(job)

    def test_a_wait_for_a_put_or_a_get_names_that_call_and_its_pointer(self):
        self.expect_pointer_told("put-pointer", "acp_wait",
                                 r"acp_put of 32768 bytes from its memory at {memory} to rank 1 \({ga}\)")
        self.expect_pointer_told("get-pointer", "acp_wait",
                                 r"acp_get of 32768 bytes from rank 1 \({ga}\) to its memory at {memory}")

    FAILED = r"2 commands failed that no acp_complete or acp_wait has reported; the first: acp_copy by rank 1 on \S+: .*1099511627776"

    def test_failures_that_no_call_has_completed_are_reported_of_a_rank_in_no_call(self):
        job = self.start("-n", "2", "--nodes", "2", RANK, "init", "1:lose-puts=0", "print=ready", "pause")
        self.assertEqual(job.read_lines(2), ready(2))
        self.ask_until(job, rf"\n  rank 1: {self.FAILED}")
        self.end(job)

    def test_finalize_reports_once_the_failures_that_no_call_has_completed(self):
        result = acprun("-n", "2", RANK, "init", "1:lose-puts=0", "finalize")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr.decode(), rf"\Aacp: acp_finalize by rank 1 on \S+: {self.FAILED}.*\n\Z")

    def test_finalize_does_not_repeat_a_reported_failure(self):
        result = acprun("-n", "2", RANK, "init", "1:complete-put=0", "finalize", env={"ACP_ON_ERROR": "return"})
        self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_a_stopped_rank_is_named(self):
        job = self.start_with_rank_1_stopped("get=1")
        self.ask_until(job, r"\n  rank 0 waits in acp_wait ", r"\n  rank 1 is stopped \(by a signal, or by a debugger\)\n")
        self.end(job)

    def test_a_rank_stopped_before_acp_init_is_named(self):
        job = self.start("-n", "2", RANK, "0:print=ready", "1:print=ready", "1:pause", "init")
        self.assertEqual(job.read_lines(2), ready(2))
        stop(job.rank(1))
        self.ask_until(job, r"\n  rank 0 waits in acp_init ", r"\n  rank 1: not called acp_init\n",
                       r"\n  rank 1 is stopped \(by a signal, or by a debugger\)\n")
        self.end(job)

    def test_a_stopped_job_without_acp_init_is_named(self):
        job = self.start("-n", "2", RANK, "print=ready", "pause")
        self.assertEqual(job.read_lines(2), ready(2))
        stop(job.rank(1))
        self.ask_until(job, r"\n  ranks 0-1: not called acp_init\n  rank 1 is stopped ")
        self.end(job)

    def test_a_wait_for_room_for_commands_is_reported_as_such(self):
        job = self.start_with_rank_1_stopped("flood=1")
        self.ask_until(job, r"\n  rank 0 waits in acp_copy for \d+\.\d s: for room for one more command, the oldest is "
                            r"acp_copy of 8 bytes from rank 0 ")
        self.end(job)

    def start_split(self, ranks, *arguments):
        """A job of ranks on one node that have made a team, and then do as the arguments say."""
        job = self.start("-n", str(ranks), RANK, "init", "split", "print=ready", *arguments, "pause")
        self.assertEqual(job.read_lines(ranks), ready(ranks))
        return job

    def test_calls_on_a_team_are_reported_with_call_team_and_missing_rank(self):
        for ranks, last in ((4, 3), (10, 9)):  # each rank polls each; all enter their leader's barrier
            job = self.start_split(ranks, f"{last}:pause", "team-sync")
            answer = self.ask_until(job, *(rf"\n  rank {rank} waits in acp_sync_team on team 0x[0-9a-f]+ for \d+\.\d s: for rank {last}\n"
                                           for rank in range(last)))
            self.assertEqual(len(set(re.findall("team (0x[0-9a-f]+)", answer))), 1, answer)
            self.end(job)

    def test_different_calls_of_members_of_different_nodes_are_reported_side_by_side(self):
        job = self.start("-n", "3", "--nodes", "3", RANK, "init", "print=ready", "0:team-sync", "1:team-broadcast=2", "2:pause")
        self.assertEqual(job.read_lines(3), ready(3))
        self.ask_until(job, r"\n  rank 0 waits in acp_sync_team on the team of all ranks for \d+\.\d s: for rank [12]\n",
                       r"\n  rank 1 waits in acp_broadcast_team of 8 bytes on the team of all ranks for \d+\.\d s: for rank 2\n")
        self.end(job)

    def test_a_non_blocking_call_on_a_team_is_reported_with_its_own_name(self):
        job = self.start_split(2, "1:pause", "team-nbsync")
        self.ask_until(job, r"\n  rank 0 waits in acp_wait_team for \d+\.\d s: acp_nbsync_team on team 0x[0-9a-f]+: for rank 1\n")
        self.end(job)

    def test_a_member_for_which_faster_members_wait_is_named(self):
        job = self.start_split(3, "2:pause", *["team-broadcast=0"] * 20)
        self.ask_until(job, r"\n  rank 0 waits in acp_broadcast_team of 8 bytes on team 0x[0-9a-f]+ for \d+\.\d s: for rank 2\n")
        self.end(job)

    def test_the_timeout_reports_the_waits_of_all_ranks(self):
        result = acprun("-n", "2", "--nodes", "2", "--timeout", "8", RANK, "init", "1:pause", "sync")
        self.assert_fails(result, 124, "ranks 0-1 were still running; the job was ended\n"
                                       r"  rank 0 waits in acp_sync for \d+\.\d s; not there yet: rank 1\n")

    def test_the_timeout_ends_no_rank_before_all_agents_have_answered(self):
        begin = time.monotonic()
        job = self.start("-n", "3", "--nodes", "3", "--timeout", "6", RANK, "init", "print=ready", "2:pause", "sync")
        self.assertEqual(job.read_lines(3), ready(3))
        self.ask_until(job, "\n  ranks 0-1 wait in acp_sync ")
        stop(job.agent_of(1))
        # The agent of rank 1 answers late: rank 0 must not end before, for then rank 1 would wait no longer.
        rank_0 = os.pidfd_open(job.rank(0))
        ended = select.select([rank_0], [], [], begin + 8 - time.monotonic())[0]
        os.close(rank_0)
        os.kill(job.agent_of(1), signal.SIGCONT)
        self.assertEqual(ended, [])
        code, _, error = job.finish()
        self.assertEqual(code, 124, error)
        self.assertRegex(error, r"ranks 0-2 were still running; the job was ended\n  ranks 0-1 wait in acp_sync ")

    def test_an_agent_that_dies_before_its_answer_to_the_timeout_keeps_no_report_back(self):
        begin = time.monotonic()
        job = self.start("-n", "3", "--nodes", "3", "--timeout", "4", RANK, "init", "print=ready", "2:pause", "sync")
        self.assertEqual(job.read_lines(3), ready(3))
        self.ask_until(job, "\n  ranks 0-1 wait in acp_sync ")
        agent = job.agent_of(1)
        stop(agent)
        # The other agents have answered, and acprun waits for this one.
        rank_0 = os.pidfd_open(job.rank(0))
        self.assertEqual(select.select([rank_0], [], [], begin + 5 - time.monotonic())[0], [])
        os.close(rank_0)
        os.kill(agent, signal.SIGKILL)
        code, _, error = job.finish()
        self.assertEqual(code, 124, error)
        self.assertRegex(error, r"timeout of 4 s: ranks 0,2 were still running; the job was ended\n"
                                r"  rank 0 waits in acp_sync for \d+\.\d s; not there yet: rank 2\n"
                                r"  rank 2: no wait in a call of ACP\n"
                                rf"acprun: the agent of node 1 \(process {agent}\) was killed by signal 9 \(SIGKILL\)")
        self.assertEqual(error.count("timeout of"), 1, error)
        job.wait_until_gone()

    def test_a_job_without_acp_init_is_reported_as_one(self):
        job = self.start("-n", "2", RANK, "print=ready", "pause")
        self.assertEqual(job.read_lines(2), ready(2))
        self.ask_until(job, r"\Aacprun: asked by SIGUSR2: no rank has called acp_init\n\Z")
        self.end(job)

    def test_nothing_is_reported_of_ranks_whose_agent_does_not_answer(self):
        job = self.start("-n", "2", RANK, "init", "print=ready", "pause")
        self.assertEqual(job.read_lines(2), ready(2))
        stopped = job.agent()
        os.kill(stopped, signal.SIGSTOP)
        self.assertEqual(self.ask_until(job, ""), "acprun: asked by SIGUSR2: no answer from node 0\n")
        os.kill(stopped, signal.SIGCONT)
        self.end(job)

    def test_a_node_that_does_not_answer_is_named(self):
        job = self.start("-n", "2", "--nodes", "2", RANK, "init", "print=ready", "0:sync", "pause")
        self.assertEqual(job.read_lines(2), ready(2))
        stopped = job.agent_of(1)
        os.kill(stopped, signal.SIGSTOP)
        self.ask_until(job, r"no answer from node 1\n")
        os.kill(stopped, signal.SIGCONT)
        self.end(job)


class Endings(ToolTest):
    def test_a_rank_that_an_error_ends_is_reported_once_and_is_no_crash(self):
        result = acprun("-n", "2", RANK, "init", "0:complete-put=1", "pause", env={"ACP_ON_ERROR": "fatal"})
        error = result.stderr.decode()
        self.assertEqual(result.returncode, 134, error)
        self.assertRegex(error, r"rank 0 \(process \d+ on \S+\) gave up because of the error it told on its standard error")
        self.assertNotIn("ulimit", error)
        self.assertNotIn("signal 6", error)
        line, = [line for line in error.splitlines() if "acp_copy" in line]
        self.assertEqual(line.count("rank 0 on "), 1, line)

    def test_a_call_before_init_that_ends_a_rank_is_no_crash(self):
        result = acprun("-n", "2", RANK, "0:print-sync", "pause", env={"ACP_ON_ERROR": "fatal"})
        error = result.stderr.decode()
        self.assertEqual(result.returncode, 134, error)
        self.assertRegex(error, r"acp: acp_sync by process \d+ on \S+ before acp_init: call that first")
        self.assertRegex(error, r"rank 0 \(process \d+ on \S+\) gave up because of the error it told on its standard error")
        self.assertNotIn("ulimit", error)

    def test_an_abort_in_a_forked_child_is_reported_of_a_process_and_not_of_a_rank(self):
        result = acprun("-n", "2", RANK, "init", "0:abort-in-child=why", "finalize")
        self.assertRegex(result.stderr.decode(), r"\Aacp: process \d+ on \S+ aborts: why")
        self.assertEqual(result.returncode, 0)

    def test_a_pointer_to_no_starter_memory_explains_a_crash(self):
        for nodes in ("1", "2"):
            result = acprun("-n", "2", "--nodes", nodes, "--starter-size=0", RANK, "init", "sync", "0:write-to=0", "pause")
            self.assert_fails(result, 139, r"rank 0 .* signal 11", "acp_query_address had given it NULL, .* no starter memory; --starter-size")

    def test_a_full_stack_of_a_non_blocking_call_explains_a_crash(self):
        result = acprun("-n", "2", RANK, "init", "sync", "team-deep", "pause")
        self.assert_fails(result, 139, r"signal 11", "non-blocking collective call, .* combine function on a stack of 1 MiB")
        result = acprun("-n", "2", RANK, "init", "sync", "team-nbsync", "0:signal=11", "pause")
        self.assert_fails(result, 139, r"rank 0 .* signal 11")
        self.assertNotIn(b"combine function", result.stderr)

    def test_a_pointer_that_was_not_there_explains_a_crash(self):
        result = acprun("-n", "2", "--nodes", "2", RANK, "init", "sync", "0:write-to=1", "pause")
        self.assert_fails(result, 139, r"rank 0 .* signal 11", "acp_query_address had given it NULL, .* rank 1 .*acp_copy")

    def test_an_unaligned_atomic_is_named_by_its_call(self):
        result = acprun("-n", "2", "--nodes", "2", RANK, "init", "0:add-askew=1", "finalize")
        self.assertRegex(result.stdout.decode(), r"acp_add8 by rank 0 on \S+: .*multiple of 8")
        result = acprun("-n", "2", RANK, "init", "0:add-askew=1", "finalize")
        self.assertRegex(result.stdout.decode(), r"acp_add8 by rank 0 on \S+: the source is .* no multiple of 8 ")

    def test_a_registration_that_fails_names_the_call_the_address_and_the_rank(self):
        lines = acprun("-n", "1", RANK, "init", "register-wrong", "finalize").stdout.decode().splitlines()
        self.assertRegex(lines[0], r"acp_register_memory\(NULL, 64 bytes\) by rank 0 on \S+: the address is NULL")
        self.assertRegex(lines[1], r"acp_register_memory\(0x[0-9a-f]+, 64 bytes\) by rank 0 on \S+: .* is not writable")
        key = lines[2].removeprefix("key ")
        self.assertRegex(lines[3], rf"acp_unregister_memory by rank 0 on \S+: .* has ended: {key}$")

    def test_a_collective_call_while_another_thread_is_in_one_is_reported(self):
        result = acprun("-n", "2", RANK, "init", "0:sync-twice", "1:await-note", "1:sync", "finalize")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(re.findall(r"acp_sync by rank \d on \S+ while acp_sync is under way in this process", result.stdout.decode())), 1, result.stdout)


class HangTimeout(ToolTest):
    """ACP_HANG_TIMEOUT in parts of a second: acprun says what all ranks do, once for those who wait for each other."""

    def start_waiting(self, *arguments, ranks=2):
        job = self.start(*arguments, env={"ACP_HANG_TIMEOUT": "0.3"}, stdin=subprocess.PIPE)
        self.assertEqual(job.read_lines(ranks), ready(ranks))
        return job

    def tell_go(self, job):
        job.process.stdin.write(b"go\n")
        job.process.stdin.flush()

    def assert_tells(self, job, *patterns):
        line = job.process.stderr.readline().decode()
        while line.startswith("acprun: the start has taken "):  # on a machine that has much else to do
            line = job.process.stderr.readline().decode()
        self.assertEqual(line, "acprun: a rank has waited for 0.3 s (ACP_HANG_TIMEOUT): the ranks do this\n")
        for pattern in patterns:
            self.assertRegex(job.process.stderr.readline().decode(), "^  " + pattern + "\n$")

    def test_a_barrier_is_reported_once_with_the_missing_ranks(self):
        job = self.start_waiting("-n", "3", RANK, "init", "print=ready", "0:await-line", "sync", "finalize", ranks=3)
        self.assert_tells(job, r"ranks 1-2 wait in acp_sync for 0\.\d s; not there yet: rank 0",
                          "rank 0: no wait in a call of ACP")
        self.tell_go(job)
        self.assertEqual(job.finish(), (0, "", ""))

    def test_ranks_of_all_nodes_are_reported(self):
        job = self.start_waiting("-n", "3", "--nodes", "3", RANK, "init", "print=ready", "0:await-line", "sync",
                                 "finalize", ranks=3)
        self.assert_tells(job, r"ranks 1-2 wait in acp_sync for 0\.\d s; not there yet: rank 0",
                          "rank 0: no wait in a call of ACP")
        self.tell_go(job)
        self.assertEqual(job.finish(), (0, "", ""))

    def test_the_wait_for_a_command_names_the_rank_that_holds_it_up(self):
        job = self.start_waiting("-n", "2", "--nodes", "2", RANK, "init", "print=ready", "1:pause", "await-line", "get=1",
                                 "finalize")
        stop(job.rank(1))
        self.tell_go(job)
        self.assert_tells(job, r"rank 0 waits in acp_wait for 0\.\d s: acp_copy of \d+ bytes from rank 1 .*",
                          "rank 1: no wait in a call of ACP", "rank 1 is stopped.*")
        job.send(signal.SIGINT)
        self.assertEqual(job.finish()[0], 130)

    def expect_told(self, told, *arguments, **environment):
        """The watch tells of a wait of rank 0 for rank 1, perhaps after one for the start."""
        job = self.start("-n", "2", "--timeout", "20", *arguments, env={"ACP_HANG_TIMEOUT": "0.3", **environment})
        lines = iter(job.process.stderr.readline, b"")
        self.assertTrue(any(re.fullmatch(rf"  rank 0 waits in {told}.*\n", line.decode()) for line in lines), "nothing was told before the job's end")
        job.send(signal.SIGINT)
        self.assertEqual(job.finish()[0], 130)

    def test_a_wait_for_room_for_a_pm_message_lasts_since_its_beginning(self):
        for nodes in ("1", "2"):
            self.expect_told(r"acp_wait_buffer_pm for (0\.[3-9]|[1-9]\d*\.\d) s: for rank 1 to receive messages",
                             "--nodes", nodes, RANK, "init", "1:pause", "pm-room=1")

    def test_a_checked_wait_for_a_plan_lasts_since_its_beginning(self):
        self.expect_told(r"acp_wait_plan .* for (0\.[3-9]|[1-9]\d*\.\d) s: for rank 1", RANK, "init", "plan-make", "1:pause",
                         "plan-wait", ACP_CHECK="1")

    def test_a_wait_that_lasts_is_reported_once(self):
        job = self.start_waiting("-n", "2", RANK, "init", "print=ready", "0:await-line", "sync", "finalize")
        self.assert_tells(job, "rank 1 waits in acp_sync .*", "rank 0: .*")
        time.sleep(1.5)  # five times as long: a second call would have been made
        self.tell_go(job)
        self.assertEqual(job.finish(), (0, "", ""))

    def test_zero_allows_every_wait(self):
        job = self.start("-n", "2", RANK, "init", "print=ready", "0:await-line", "sync", "finalize",
                         env={"ACP_HANG_TIMEOUT": "0"}, stdin=subprocess.PIPE)
        self.assertEqual(job.read_lines(2), ready(2))
        time.sleep(0.5)
        self.tell_go(job)
        self.assertEqual(job.finish(), (0, "", ""))


class Check(ToolTest):
    def test_mistakes_are_reported_once_per_place_in_the_program(self):
        result = acprun("-n", "1", RANK, "init", "make-mistakes", "finalize", env={"ACP_CHECK": "1"})
        lines = result.stderr.decode().splitlines()
        self.assertEqual((result.returncode, len(lines)), (0, 2), result.stderr)
        self.assertRegex(lines[0], r"ACP_CHECK: rank 0 on \S+: acp_copy of 64 bytes whose source and target overlap: .*"
                                   rf"called from .*{RANK} \(addr2line -e {RANK} 0x[0-9a-f]+\)")
        self.assertRegex(lines[1], r"acp_wait is given 4886718345, a handle that no call has returned; called from ")

    def test_a_long_wait_for_a_word_is_reported_with_the_place_of_the_call(self):
        job = self.start("-n", "1", RANK, "init", "wait-word=7", env={"ACP_CHECK": "1"})
        line = job.process.stderr.readline().decode()
        self.assertRegex(line, r"ACP_CHECK: rank 0 on \S+: acp_wait_word waits for 2 s: until its word of 8 bytes at 0x[0-9a-f]+ "
                               rf"is 7 \(it held 0\); called from .*{RANK} \(addr2line -e {RANK} 0x[0-9a-f]+\)")
        job.send(signal.SIGINT)
        job.finish()

    def test_overlaps_are_seen_whichever_call_makes_them(self):
        result = acprun("-n", "1", RANK, "init", "make-overlaps", "finalize", env={"ACP_CHECK": "1"})
        lines = [line.split(": ", 3)[-1] for line in result.stderr.decode().splitlines()]
        self.assertEqual((result.returncode, len(lines)), (0, 6), result.stderr)
        self.assertRegex(lines[0], "^acp_put of 64 bytes whose source and target overlap: the source is 64 bytes of this "
                                   "process at 0x[0-9a-f]+, the target is 64 bytes at .*: offset 8 of a segment of ")
        self.assertRegex(lines[1], "^acp_get of 64 bytes whose source and target overlap: the source is 64 bytes at .*: "
                                   "offset 0 .*, the target is 64 bytes of this process at 0x[0-9a-f]+; ")
        self.assertRegex(lines[2], "^acp_put_signal of 64 bytes whose signal lies in its target: the signal is 8 bytes at "
                                   ".*: offset 56 .*, the target is 64 bytes at .*: offset 0 ")
        self.assertRegex(lines[3], "^acp_copy_v: the target of range 2 overlaps the source of range 0 ")
        self.assertRegex(lines[4], "^acp_copy_strided: the target of range 0 overlaps the target of range 1 ")
        self.assertRegex(lines[5], "^acp_put of 64 bytes whose source and target overlap: ")

    def test_a_source_changed_before_its_put_has_ended_is_reported_at_every_length(self):
        result = acprun("-n", "2", "--nodes", "2", RANK, "init", "0:change-sources", "finalize", env={"ACP_CHECK": "1"})
        lines = [line.split(": ", 3)[-1] for line in result.stderr.decode().splitlines()]
        self.assertEqual((result.returncode, len(lines)), (0, 4), result.stderr)
        for line, put in zip(lines, ("acp_put of 8", "acp_put of 32768", "acp_put of 64", "acp_put_signal of 100")):
            size = put.split()[-1]
            self.assertRegex(line, rf"^the source of {put} bytes changed before the put had ended: it is {size} bytes "
                                   rf"of this process at 0x[0-9a-f]+; .*; called from .*{RANK} \(addr2line -e {RANK} 0x[0-9a-f]+\)")

    def test_separate_buffers_and_copies_onto_themselves_are_no_overlaps(self):
        result = acprun("-n", "1", RANK, "init", "avoid-overlaps", "finalize", env={"ACP_CHECK": "1"})
        self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_without_acp_check_no_mistake_is_reported(self):
        result = acprun("-n", "1", RANK, "init", "make-mistakes", "make-overlaps", "finalize")
        self.assertEqual((result.returncode, result.stderr), (0, b""))


if __name__ == "__main__":
    main()
