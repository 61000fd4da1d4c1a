# SPDX-License-Identifier: BSD-3-Clause
"""Signals sent to acprun, and the time limit."""
import contextlib
import os
import pathlib
import resource
import signal
import tempfile
import time

from support import ACT, MEMBER, SSH_STUB, WATCHDOG_S, ToolTest, command_line, main, marked_processes, ready


def no_core():
    """Before the start of a job that SIGQUIT ends."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Signals(ToolTest):
    def test_each_is_passed_on_to_all_ranks(self):
        job = self.start("-n", "3", ACT, *(f"trap={number}" for number in (1, 3, 10)), "end-on=15", "print=ready",
                         "pause")
        self.assertEqual(job.read_lines(3), ready(3))
        for number in (1, 3, 10, 15):
            job.send(number)
            self.assertEqual(job.read_lines(3), [f"got {number}\n"] * 3)
        self.assertEqual(job.finish()[0], 0)

    def test_an_end_by_signal_has_its_code_and_no_failure_report(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            for nodes in ("1", "3"):
                with self.subTest(signal=number.name, nodes=nodes):
                    job = self.start("-n", "3", "--nodes", nodes, ACT, "print=ready", "pause", preexec_fn=no_core)
                    job.read_lines(3)
                    job.send(number)
                    code, _, error = job.finish()
                    self.assertEqual((code, error), (128 + number, f"acprun: ended by {number.name}\n"))
                    self.assert_nobody_is_left(job)

    def test_a_signal_ends_a_job_whose_hosts_are_being_reached(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1):
            for hosts in ("a", "a,b"):
                with self.subTest(signal=number.name, hosts=hosts), tempfile.TemporaryDirectory() as folder:
                    reached = pathlib.Path(folder, "reached")
                    os.mkfifo(reached)
                    ssh = pathlib.Path(folder, "ssh")
                    ssh.write_text(f"#!/bin/sh\necho reached > {reached}\nexec sleep {WATCHDOG_S}\n")
                    ssh.chmod(0o755)
                    job = self.start("--hosts", hosts, "--ssh", str(ssh), ACT, "pause")
                    reached.read_text()  # until the first host is being reached
                    job.send(number)
                    code, _, error = job.finish()
                    self.assertEqual((code, error), (128 + number, f"acprun: ended by {number.name}\n"))
                    self.assert_nobody_is_left(job)

    def test_a_signal_at_any_moment_of_the_start_ends_the_job(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            for pauses in range(12):
                with self.subTest(signal=number.name, pauses=pauses):
                    job = self.start("-n", "3", "--nodes", "3", ACT, "pause")
                    for _ in range(pauses):
                        time.sleep(0.01)  # lint: a moment of the start
                    job.send(number)
                    self.assertIn(job.finish()[0], (128 + number, -number))  # or before acprun handles signals
                    self.assert_nobody_is_left(job)

    def test_the_last_signal_that_asks_for_the_end_is_reported(self):
        job = self.start("-n", "2", ACT, "trap=1", "print=ready", "pause")
        job.read_lines(2)
        job.send(signal.SIGHUP)
        self.assertEqual(job.read_lines(2), ["got 1\n"] * 2)
        job.send(signal.SIGTERM)
        code, _, error = job.finish()
        self.assertEqual((code, error), (143, "acprun: ended by SIGTERM\n"))

    def test_ranks_that_end_well_after_an_interrupt_make_a_good_job(self):
        job = self.start("-n", "3", ACT, "end-on=2", "print=ready", "pause")
        job.read_lines(3)
        job.send(signal.SIGINT)
        self.assertEqual(job.finish()[0], 0)

    def test_ranks_that_ignore_the_end_are_killed(self):
        job = self.start("-n", "3", ACT, "ignore=15", "fork", "print=ready", "pause")
        job.read_lines(3)
        job.send(signal.SIGTERM)
        self.assertEqual(job.finish()[0], 143)
        self.assert_nobody_is_left(job)

    def test_a_second_interrupt_kills_at_once(self):
        job = self.start("-n", "3", ACT, "trap=2", "print=ready", "pause")
        job.read_lines(3)
        job.send(signal.SIGINT)
        self.assertEqual(job.read_lines(3), ["got 2\n"] * 3)
        job.send(signal.SIGINT)
        self.assertEqual(job.finish()[0], 130)
        self.assert_nobody_is_left(job)

    def test_stop_and_continue_hold_for_the_ranks_too(self):
        job = self.start("-n", "2", ACT, "trap=18", "end-on=15", "print=ready", "pause")
        job.read_lines(2)
        job.send(signal.SIGTSTP)
        self.assertTrue(os.WIFSTOPPED(os.waitpid(job.process.pid, os.WUNTRACED)[1]))
        job.send(signal.SIGCONT)
        self.assertEqual(job.read_lines(2), ["got 18\n"] * 2)
        job.send(signal.SIGTERM)
        self.assertEqual(job.finish()[0], 0)

    def test_a_stopped_rank_is_no_failure(self):
        job = self.start("-n", "2", ACT, "0:signal=19", "1:print=ready", "1:pause")
        job.read_lines(1)
        job.send(signal.SIGTERM)
        self.assertEqual(job.finish()[0], 143)

    def test_an_ignored_hangup_stays_ignored(self):
        job = self.start("-n", "2", ACT, "state=1", "end-on=15", "print=ready", "pause",
                         preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.assertEqual(job.read_lines(4), ["ignored\n"] * 2 + ready(2))
        job.send(signal.SIGHUP)
        job.send(signal.SIGTERM)
        self.assertEqual(job.finish()[0], 0)

    def test_ranks_start_with_no_signal_blocked(self):
        job = self.start("-n", "1", ACT, "state=2", "state=13", "state=17",
                         preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32)))
        self.assertEqual(job.finish()[:2], (0, "default\n" * 3))

    def test_a_signal_that_kills_the_ranks_gives_its_code(self):
        job = self.start("-n", "3", ACT, "print=ready", "pause")
        job.read_lines(3)
        job.send(signal.SIGUSR1)
        code, _, error = job.finish()
        self.assertEqual(code, 138)
        self.assertIn("SIGUSR1", error)

    def test_an_end_that_an_agent_is_asked_for_is_as_if_acprun_were_asked(self):
        for nodes in "1", "2":
            job = self.start("-n", "2", "--nodes", nodes, ACT, "print=ready", "pause")
            job.read_lines(2)
            os.kill(job.agent_of(0), signal.SIGTERM)
            code, _, error = job.finish()
            self.assertEqual((code, error), (143, "acprun: ended by SIGTERM\n"))
            self.assert_nobody_is_left(job)

    def test_an_end_that_any_process_beside_the_ranks_is_asked_for_is_as_if_acprun_were_asked(self):
        """The keeper of an agent, and each link to another host: a batch system may send SIGTERM to any of them."""
        def is_link(option):
            return lambda pid: option in command_line(pid)
        by_ssh = ("--hosts", "alpha,beta", "--ssh", SSH_STUB)
        for options, name, is_one in ((("-n", "2"), "acp-keeper", lambda pid: True),
                                      (by_ssh, "acp-keeper", lambda pid: True),
                                      (by_ssh, "acp-agent", is_link("--reach")),
                                      (by_ssh, "acp-agent", is_link("--relay"))):
            job = self.start(*options, ACT, "print=ready", "pause")
            job.read_lines(2)
            os.kill(next(pid for pid, found in marked_processes(job.mark).items() if found == name and is_one(pid)),
                    signal.SIGTERM)
            code, _, error = job.finish()
            self.assertEqual((code, error), (143, "acprun: ended by SIGTERM\n"), (options, name))
            self.assert_nobody_is_left(job)

    def test_an_end_that_a_link_is_asked_for_before_its_host_has_answered_ends_the_job(self):
        job = self.start("--hosts", "silent", "--ssh", SSH_STUB, "-q", ACT)
        found = {}
        while not any(name == "tail" for name in found.values()):  # the stub that stands for ssh
            found = marked_processes(job.mark)
        os.kill(next(pid for pid, name in found.items() if name == "acp-agent"), signal.SIGTERM)
        self.assertEqual(job.finish()[0], 143)
        self.assert_nobody_is_left(job)

    def test_a_sigterm_to_all_processes_reaches_each_rank_once(self):
        job = self.start("-n", "2", "--nodes", "2", ACT, "trap=15", "print=ready", "pause")
        job.read_lines(2)
        agents = [job.agent_of(rank) for rank in (0, 1)]
        job.send(signal.SIGTERM)
        self.assertEqual(job.read_lines(2), ["got 15\n"] * 2)
        for agent in agents:
            with contextlib.suppress(ProcessLookupError):  # the ranks have 2 s, then they are killed
                os.kill(agent, signal.SIGTERM)
        self.assertEqual(job.finish()[:2], (143, ""))

    def test_the_user_is_not_at_the_mercy_of_a_stopped_agent(self):
        job = self.start("-n", "2", ACT, "fork", "trap=2", "print=ready", "pause")
        job.read_lines(2)
        os.kill(job.agent(), signal.SIGSTOP)
        while job.process.poll() is None:  # signals that come together count once
            job.send(signal.SIGINT)
        code, _, error = job.finish()
        self.assertEqual(code, 130)
        self.assertIn("the agent", error)
        self.assert_nobody_is_left(job)

    def test_a_grandchild_in_the_ranks_group_is_signalled_too(self):
        job = self.start("-n", "1", "sh", "-c", f"{ACT} trap=10 end-on=15 print=ready pause; true")
        job.read_lines(1)
        job.send(signal.SIGTERM)
        self.assertEqual(job.read_line(), "got 15\n")
        self.assertEqual(job.finish()[0], 143)


class Timeout(ToolTest):
    def test_the_timeout_ends_the_job_and_names_the_running_ranks(self):
        job = self.start("-n", "5", "--timeout", "0.5", ACT, "fork", "2:exit=0", "ignore=15", "pause")
        code, _, error = job.finish()
        self.assertEqual(code, 124)
        self.assertRegex(error, r"timeout of 0\.5 s: ranks 0-1,3-4 were still running")
        self.assert_nobody_is_left(job)

    def test_does_not_touch_a_job_that_is_faster(self):
        job = self.start("-n", "2", "--timeout", "100", ACT, "print=x")
        self.assertEqual(job.finish(), (0, "x\nx\n", ""))

    def test_may_be_over_before_the_job_has_started(self):
        job = self.start("-n", "3", "--timeout", "0.000001", ACT, "pause")
        code, _, error = job.finish()
        self.assertEqual(code, 124, error)
        self.assertIn("timeout", error)
        self.assert_nobody_is_left(job)

    def test_holds_although_the_agent_is_stopped(self):
        job = self.start("-n", "2", "--timeout", "1", ACT, "fork", "print=ready", "pause")
        job.read_lines(2)
        os.kill(job.agent(), signal.SIGSTOP)
        code, _, error = job.finish()
        self.assertEqual(code, 124)
        self.assertIn("the agent", error)
        self.assert_nobody_is_left(job)

    def test_ends_ranks_that_wait_for_each_other(self):
        job = self.start("-n", "2", "--timeout", "0.5", MEMBER, "join", "0:meet", "1:pause")
        code, _, error = job.finish()
        self.assertEqual(code, 124, error)
        self.assertIn("ranks 0-1 were", error)

    def test_the_timeout_ends_a_job_whose_output_is_not_read(self):
        job = self.start("-n", "2", "--timeout", "0.5", ACT, "bytes=1000000")
        self.assertEqual(job.process.wait(WATCHDOG_S), 124)
        self.assert_nobody_is_left(job)


if __name__ == "__main__":
    main()
