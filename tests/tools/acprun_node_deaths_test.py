# SPDX-License-Identifier: BSD-3-Clause
"""kill -9 of any process of a job over several nodes, here or behind ssh, at any moment: the job ends with the cause, and
no process is left. Moments are random; the seed is printed, and TOOLTEST_SEED sets it."""
import contextlib
import os
import random
import select
import signal
import subprocess
import time

from support import ACT, MEMBER, RANK, SSH_STUB, WATCHDOG_S, ToolTest, main, marked_processes, parent_of, stop

SEED = int(os.environ.get("TOOLTEST_SEED", random.randrange(2**32)))
MOMENTS = int(os.environ.get("TOOLTEST_MOMENTS", 25))
EMULATED = ("-n", "4", "--nodes", "2")
HOSTS = ("--hosts", "a:2,b:2", "--ssh", SSH_STUB)


def kill(pid):
    with contextlib.suppress(ProcessLookupError):  # it was faster
        os.kill(pid, signal.SIGKILL)


class Pausing(ToolTest):
    """A job that would never end by itself."""

    def start_pausing(self, nodes):
        job = self.start(*nodes, ACT, "fork", "ignore=15", "print=ready", "pause")
        self.assertEqual(job.read_lines(4), ["ready\n"] * 4)
        return job

    def test_without_an_agent_the_job_ends_with_a_message(self):
        for rank, node in ((0, 0), (3, 1)):
            job = self.start_pausing(EMULATED)
            agent = job.agent_of(rank)
            kill(agent)
            code, _, error = job.finish()
            self.assertEqual(code, 137)
            self.assertRegex(error, rf"\Aacprun: the agent of node {node} \(process {agent}\) was killed by signal 9 "
                                    r"\(SIGKILL\); all ranks were ended\n\Z")
            self.assert_nobody_is_left(job)

    def test_without_acprun_the_job_ends(self):
        for nodes in (EMULATED, HOSTS):
            job = self.start_pausing(nodes)
            kill(job.process.pid)
            job.wait_until_gone()

    def test_without_acprun_and_an_agent_the_job_ends(self):
        job = self.start_pausing(EMULATED)
        victims = [job.process.pid, job.agent_of(2)]
        for pid in victims:
            kill(pid)
        job.wait_until_gone()

    def test_a_killed_rank_of_another_node_ends_the_job(self):
        for nodes, place in ((EMULATED, ", node 1"), (HOSTS, "on b")):
            job = self.start_pausing(nodes)
            kill(job.rank(2))
            code, _, error = job.finish()
            self.assertEqual(code, 137)
            self.assertRegex(error, rf"rank 2 \(process \d+ .*{place}\) was killed by signal 9 \(SIGKILL[^)]*\); "
                                    r"the other 3 ranks were ended")
            self.assert_nobody_is_left(job)

    def test_a_stopped_node_dies_with_acprun(self):
        job = self.start_pausing(EMULATED)
        os.kill(job.rank(3), signal.SIGSTOP)
        kill(job.process.pid)
        job.wait_until_gone()

    def test_an_agent_that_dies_on_a_host_is_reported(self):
        job = self.start_pausing(HOSTS)
        agent = job.agent_of(2)
        kill(agent)
        code, _, error = job.finish()
        self.assertEqual(code, 69)
        self.assertRegex(error, rf"the agent of b \(process {agent}\) exited with code 137 before the job was over")
        self.assert_nobody_is_left(job)

    def test_a_connection_that_breaks_is_reported(self):
        job = self.start_pausing(HOSTS)
        relay = parent_of(parent_of(job.agent_of(2)))  # over the keeper
        kill(relay)
        code, _, error = job.finish()
        self.assertEqual(code, 69)
        self.assertRegex(error, "acprun: b: the connection was lost")
        job.wait_until_gone()

    def test_the_death_of_the_process_that_reaches_a_host_ends_the_job(self):
        job = self.start_pausing(HOSTS)
        here = next(pid for pid, name in marked_processes(job.mark).items()
                    if name == "acp-agent" and parent_of(pid) == job.process.pid)
        kill(here)
        self.assertEqual(job.finish()[0], 137)
        job.wait_until_gone()

    def test_descendants_of_ranks_are_ended_on_all_nodes(self):
        for nodes in (EMULATED, HOSTS):
            job = self.start(*nodes, ACT, "fork", "print=done")
            self.assertEqual(job.finish(), (0, "done\n" * 4, ""))
            self.assert_nobody_is_left(job)


class Causes(ToolTest):
    """A rank's death is reported to acprun after the failure of another node's rank that it caused: acprun prints it first."""

    def end_both(self, first, second, *ends):
        """Rank 0 exits with 5 and rank 1 is ended by a signal, which is reported to acprun later, since its agent is stopped."""
        job = self.start("-n", "2", "--nodes=2", RANK, "init", "sync", "print=ready", "0:await-line", "0:exit=5",
                         "1:pause", stdin=subprocess.PIPE)
        self.assertEqual(job.read_lines(2), ["ready\n"] * 2)
        agent, ranks = job.agent_of(1), (job.rank(0), job.rank(1))
        stop(agent)
        for rank in (first, second):
            handle = os.pidfd_open(ranks[rank])
            if rank == 0:
                job.process.stdin.write(b"go\n")
                job.process.stdin.flush()
            else:
                os.kill(ranks[1], ends[0])
            self.assertTrue(select.select([handle], [], [], WATCHDOG_S)[0])
            os.close(handle)
        # The agent reaps rank 0 after its report to acprun, so acprun reads it before any report of the other agent.
        while os.path.exists(f"/proc/{ranks[0]}"):
            os.sched_yield()
        os.kill(agent, signal.SIGCONT)
        code, _, error = job.finish()
        self.assert_nobody_is_left(job)
        return code, error

    def test_a_signal_is_reported_before_an_exit_whose_report_arrived_first(self):
        for order in ((1, 0), (0, 1)):
            for number in (signal.SIGKILL, signal.SIGSEGV):
                with self.subTest(order=order, signal=number):
                    code, error = self.end_both(*order, number)
                    self.assertRegex(error, rf"\Aacprun: rank 1 \(process \d+ on .*, node 1\) was killed by signal {int(number)} "
                                            r"[^\n]* without acp_finalize\n(acprun: hint: [^\n]*\n)?"
                                            r"acprun: also rank 0 exited with code 5 without acp_finalize\n"
                                            r"acprun: 2 of 2 ranks failed\n\Z")
                    self.assertEqual(code, 128 + number)


class FirstContact(ToolTest):
    """A rank alone on its node is stopped before another one has connected to it: its timeout is that of a silent node."""

    def start_stopped(self, *actions, **more):
        job = self.start("-n", "2", "--nodes=2", *actions, stdin=subprocess.PIPE, **more)
        job.read_lines(2)
        stop(job.rank(1))
        job.process.stdin.write(b"go\n")
        job.process.stdin.flush()
        return job

    def test_a_rank_stopped_before_its_first_message_is_waited_for(self):
        for timeout in ("0", "60"):
            job = self.start_stopped(RANK, "init", "print=ready", "0:await-line", "0:put=1", "sync", "finalize",
                                     env={"ACP_PEER_TIMEOUT": timeout})
            # Longer than five seconds, which was once the limit for a first answer whatever the user had set.
            time.sleep(6)  # lint: sleep is the subject
            os.kill(job.rank(1), signal.SIGCONT)
            self.assertEqual(job.finish(), (0, "", ""))

    def test_a_rank_that_stays_stopped_is_lost_after_the_peer_timeout(self):
        job = self.start_stopped("--on-failure=continue", RANK, "init", "print=ready", "0:await-line", "0:put=1",
                                 "0:print=over", "0:exit=0", "1:pause", env={"ACP_PEER_TIMEOUT": "1"})
        self.assertRegex(job.read_line(), "put: .*(could not be reached|has not answered)")
        self.assertEqual(job.read_line(), "over\n")


class AtRandomMoments(ToolTest):
    """The job starts, passes a barrier, and ends by itself; a process is killed at some moment."""

    def strike(self, nodes, names):
        chance = random.Random(SEED)
        print(f"seed {SEED}", flush=True)
        for _ in range(MOMENTS):
            job = self.start(*nodes, "sh", "-c", f"{ACT} fork; exec {MEMBER} join print=up meet outlive leave")
            # How far the job is when the blow falls is what varies: this is the input, not a wait for it.
            time.sleep(chance.uniform(0, 0.05))
            victims = sorted(pid for pid, name in marked_processes(job.mark).items() if not names or name in names)
            if victims:
                kill(chance.choice(victims))
            with self.subTest(seed=SEED):
                job.process.wait(WATCHDOG_S)
                job.wait_until_gone()
                self.assertIn(job.process.returncode, (0, -9, 69, 137))
            job.clean_up()

    def test_any_process_of_emulated_nodes(self):
        self.strike(EMULATED, None)

    def test_an_agent_of_emulated_nodes(self):
        self.strike(EMULATED, ("acp-agent", "acp-keeper"))

    def test_acprun_of_emulated_nodes(self):
        self.strike(EMULATED, ("acprun",))

    def test_any_process_of_hosts(self):
        self.strike(HOSTS, None)

    def test_acprun_of_hosts(self):
        self.strike(HOSTS, ("acprun",))


if __name__ == "__main__":
    main()
