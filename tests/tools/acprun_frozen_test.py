# SPDX-License-Identifier: BSD-3-Clause
"""A job whose agent is stopped, or whose host or connection is frozen, still ends when it shall: after the agents have
had their time to give a sign of life, those that gave none are named and done without."""
import os
import select
import signal

from support import (ACT, SSH_STUB, WATCHDOG_S, ToolTest, command_line, environment_of, main, marked_processes, parent_of,
                     ready, stop)

SILENCE = r"did not answer for 5 s"


def ancestors_of(pid):
    while (pid := parent_of(pid)) > 1:
        yield pid


class FrozenTest(ToolTest):
    def assert_ended(self, job, code, *patterns):
        ended, _, error = job.finish()
        self.assertEqual(ended, code, error)
        for pattern in patterns:
            self.assertRegex(error, pattern)
        self.assert_nobody_is_left(job)


class OneNode(FrozenTest):
    def start_stopped(self, *options):
        job = self.start("-n", "2", *options, ACT, "fork", "print=ready", "pause")
        self.assertEqual(job.read_lines(2), ready(2))
        os.kill(job.agent(), signal.SIGSTOP)
        return job

    def test_an_end_by_signal_holds(self):
        job = self.start_stopped()
        agent = job.agent()
        job.send(signal.SIGTERM)
        self.assert_ended(job, 143, rf"the agent of .*process {agent}\) {SILENCE}: it was killed", "ended by SIGTERM")

    def test_the_time_limit_holds(self):
        job = self.start_stopped("--timeout", "0.5")
        self.assert_ended(job, 124, rf"the agent of .* {SILENCE}", r"timeout of 0\.5 s; the job was ended")

    def test_an_interrupt_holds_where_ranks_may_continue(self):
        job = self.start_stopped("--on-failure", "continue")
        job.send(signal.SIGUSR2)
        job.send(signal.SIGINT)
        self.assert_ended(job, 130, SILENCE)


class SeveralNodes(FrozenTest):
    def start_stopped(self, *options):
        """Rank 0 fails when its input ends; the agent of rank 3 is stopped."""
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        job = self.start("-n", "4", "--nodes", "2", *options, "sh", "-c",
                         'echo ready; if [ $ACP_RANK = 0 ]; then read line; exit 3; fi; exec sleep 1000', stdin=read)
        self.assertEqual(job.read_lines(4), ready(4))
        os.kill(job.agent_of(3), signal.SIGSTOP)
        return job, write

    def test_an_end_by_signal_names_the_node(self):
        job, write = self.start_stopped()
        job.send(signal.SIGTERM)
        self.assert_ended(job, 143, rf"the agent of node 1 .*{SILENCE}")
        os.close(write)

    def test_a_failure_elsewhere_ends_the_job(self):
        job, write = self.start_stopped()
        os.close(write)
        self.assert_ended(job, 3, rf"the agent of node 1 .*{SILENCE}", "rank 0 .* exited with code 3")

    def test_the_time_limit_names_the_running_ranks_of_nodes_that_answer(self):
        job, write = self.start_stopped("--timeout", "2")
        self.assert_ended(job, 124, rf"the agent of node 1 .*{SILENCE}",
                          r"timeout of 2 s: ranks 0-1 were still running")
        os.close(write)


class Asked(FrozenTest):
    def test_a_rank_killed_on_a_node_that_gets_the_end_late_is_no_failure(self):
        job = self.start("-n", "2", "--nodes", "2", ACT, "print=ready", "pause")
        self.assertEqual(job.read_lines(2), ready(2))
        first, late = job.rank(0), job.agent_of(1)
        end = os.pidfd_open(first)
        self.addCleanup(os.close, end)
        stop(late)
        os.kill(job.rank(1), signal.SIGKILL)  # the event that the agent finds first when it is continued
        job.send(signal.SIGINT)
        self.assertTrue(select.select([end], [], [], WATCHDOG_S)[0])  # the request has come through
        os.kill(late, signal.SIGCONT)
        self.assertEqual(job.finish(), (130, "", "acprun: ended by SIGINT\n"))


class OtherHosts(FrozenTest):
    """Each link of the chain to a host, stopped."""

    def check(self, which):
        job = self.start("--hosts", "alpha:2,beta:2", "--ssh", SSH_STUB, ACT, "print=ready", "pause")
        self.assertEqual(job.read_lines(4), ready(4))
        victims = [pid for pid, name in marked_processes(job.mark).items()
                   if name == "acp-agent" and which(command_line(pid))]
        os.kill(victims[-1], signal.SIGSTOP)
        job.send(signal.SIGTERM)
        self.assert_ended(job, 143, rf"(alpha|beta) {SILENCE}: the connection was dropped")

    def check_that_ends_by_itself(self, which):
        """The ranks of the other host end well; the link is stopped before those behind it do."""
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        job = self.start("--hosts", "alpha:1,beta:1", "--ssh", SSH_STUB, "sh", "-c",
                         "echo ready; if [ $ACP_RANK = 0 ]; then read line; fi", stdin=read)
        self.assertEqual(job.read_lines(2), ready(2))
        first = next(pid for pid, name in marked_processes(job.mark).items() if environment_of(pid).get("ACP_RANK") == "0")
        victim = next(pid for pid in ancestors_of(first) if which(command_line(pid)))
        stop(victim)
        os.close(write)
        self.assert_ended(job, 69, r"other nodes are done, and the agent of alpha has not answered for 5 s",
                          r"alpha did not answer for 15 s: the connection was dropped")

    def test_a_frozen_relay_on_the_host_while_the_job_ends_by_itself(self):
        self.check_that_ends_by_itself(lambda words: "--relay" in words)

    def test_a_frozen_agent_on_the_host_while_the_job_ends_by_itself(self):
        self.check_that_ends_by_itself(lambda words: words[0].endswith("acp-agent"))

    def test_a_frozen_process_that_reaches_the_host(self):
        self.check(lambda words: "--reach" in words)

    def test_a_frozen_relay_on_the_host(self):
        self.check(lambda words: "--relay" in words)

    def test_a_frozen_agent_on_the_host(self):
        self.check(lambda words: "--reach" not in words and "--relay" not in words)


if __name__ == "__main__":
    main()
