# SPDX-License-Identifier: BSD-3-Clause
"""A death is detected by the process that watches the rank, never by a process number that belongs to another process
in another namespace. Ranks in pid namespaces of their own, ranks that a wrapper started, ranks that run another
program."""
import os
import shutil
import signal
import subprocess
import time
import unittest

from support import RANK, ToolTest, acprun, environment_of, main, marked_processes, state_of

APART = ("unshare", "--user", "--map-root-user", "--pid", "--mount-proc", "--fork", "--kill-child")


def can_be_apart():
    return shutil.which("unshare") is not None and subprocess.run([*APART, "true"], capture_output=True).returncode == 0


def ranks_of(job):
    """The processes that run the rank program itself, by rank."""
    return sorted((pid for pid, name in marked_processes(job.mark).items() if name == "rank"),
                  key=lambda pid: environment_of(pid)["ACP_RANK"])


@unittest.skipUnless(can_be_apart(), "this system refuses pid namespaces")
class InPidNamespaces(ToolTest):
    """One rank per container: to the others their numbers are 1 and 1."""

    def test_a_job_succeeds(self):
        result = acprun("-n", "3", *APART, RANK, "init", "fill=x", "put=0", "add=word", "sync", "reset=1", "who", "finalize")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual(result.stdout.count(b" of 3"), 3)

    def test_a_rank_that_is_late_is_not_dead(self):
        # The other one sleeps in acp_sync, and looks after 2 s who lives.
        one_apart = f'[ $ACP_RANK = 0 ] || set -- {" ".join(APART)} "$@"; exec "$@"'
        result = acprun("-n", "2", "sh", "-c", one_apart, "sh", RANK, "init", "1:sleep=3", "sync", "finalize")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))

    def test_a_killed_rank_is_reported(self):
        job = self.start("-n", "2", "--on-failure=continue", *APART, RANK, "init", "print=ready", "1:pause", "sync")
        job.read_lines(2)
        os.kill(ranks_of(job)[1], signal.SIGKILL)
        code, out, error = job.finish()
        self.assertIn(code, (1, 137), "as unshare tells it, of which some versions exit with code 1")
        self.assertRegex(out, "sync: .*rank 1 ")
        self.assertRegex(error, "rank 1 .* without acp_finalize")


class Wrapped(ToolTest):
    """The agent's child is a shell that waits for the rank, and lives on."""

    def test_a_rank_that_died_in_a_wrapper_is_reported_at_once(self):
        job = self.start("-n", "2", "sh", "-c", f"{RANK} init print=ready 1:pause sync; exec sleep 1000")
        job.read_lines(2)
        os.kill(ranks_of(job)[1], signal.SIGKILL)
        self.assertRegex(job.read_line(), "sync: .*rank 1 .* is gone")

    def test_a_rank_that_finalized_inside_a_wrapper_is_no_failure(self):
        result = acprun("-n", "2", "sh", "-c", f"{RANK} init sync finalize; exec true")
        self.assertEqual((result.returncode, result.stderr), (0, b""))


class RunningAnotherProgram(ToolTest):
    """exec keeps the process and its number; the library and all it owes the others are gone."""

    def test_a_rank_that_runs_another_program_counts_as_dead_at_once(self):
        result = acprun("-n", "2", RANK, "init", "sync", "1:exec=exec sleep 1000", "sync", "finalize")
        self.assert_fails(result, 1, r"rank 1 \(process \d+ on [^)]*\) has run another program \(exec\) "
                                     "without acp_finalize(; the other rank was ended)?\n")  # unless it has failed first

    def test_the_agent_reports_the_exec_although_other_ranks_detected_it_first(self):
        job = self.start("-n", "2", RANK, "init", "print=ready", "1:sleep=2", "1:exec=exec sleep 1000", "sync")
        job.read_lines(2)
        agent, survivor = job.agent(), job.rank(0)
        os.kill(agent, signal.SIGSTOP)
        while state_of(survivor) not in "ZX":  # it finds that rank 1 is gone, and ends
            time.sleep(0.05)  # lint: sleep is the subject
        os.kill(agent, signal.SIGCONT)
        self.assertRegex(job.finish()[2], r"rank 1 \(process \d+ on [^)]*\) has run another program \(exec\)")

    def test_other_ranks_are_notified_of_the_exec_although_a_child_lives(self):
        result = acprun("-n", "3", "--on-failure=continue", "--timeout=60", RANK, "init", "sync", "1:child",
                        "1:exec=sleep 2", "sync")
        self.assertEqual(result.returncode, 1, result)
        self.assertEqual(result.stdout.count(b"has run another program (exec)"), 2, result)

    def test_other_nodes_are_notified_of_the_exec(self):
        result = acprun("-n", "4", "--nodes=2", "--on-failure=continue", "--timeout=60", RANK, "init", "sync",
                        "3:exec=sleep 2", "sync")
        self.assertEqual(result.returncode, 1, result)
        self.assertEqual(result.stdout.count(b"has run another program (exec)"), 3, result)

    def test_a_program_started_by_exec_may_not_join(self):
        result = acprun("-n", "2", "--on-failure=continue", "--timeout=60", RANK, "init", "sync", "1:again", "sync")
        self.assertEqual(result.returncode, 1, result)
        out = result.stdout.decode()
        self.assertRegex(out, "init: ")
        self.assertRegex(out, "sync: .*rank 1 ")

    def test_exec_after_finalize_is_no_failure(self):
        result = acprun("-n", "2", RANK, "init", "sync", "finalize", "exec=true")
        self.assertEqual((result.returncode, result.stderr), (0, b""))


class WhatChangesNothing(ToolTest):
    def test_closing_all_descriptors(self):
        job = self.start("-n", "2", RANK, "init", "1:closefrom=3", "print=ready", "sync", "finalize")
        job.read_lines(2)
        self.assertEqual(job.finish(), (0, "", ""))

    def test_a_child_that_ends_or_lives(self):
        job = self.start("-n", "2", RANK, "init", "child", "print=ready", "sync", "finalize", "print=done")
        self.assertEqual(job.read_lines(4), ["done\n"] * 2 + ["ready\n"] * 2)

    def test_a_stopped_agent(self):
        job = self.start("-n", "2", "--on-failure=continue", RANK, "init", "print=ready", "1:pause", "sync", "print=over")
        job.read_lines(2)
        agent = job.agent()
        survivor, victim = ranks_of(job)
        os.kill(agent, signal.SIGSTOP)
        os.kill(victim, signal.SIGKILL)
        while state_of(survivor) not in "ZX":  # it finds the dead itself, within 2 s, and ends
            time.sleep(0.05)  # lint: sleep is the subject
        os.kill(agent, signal.SIGCONT)
        self.assertRegex(job.finish()[1], "sync: .*rank 1 .* is gone")


if __name__ == "__main__":
    main()
