# SPDX-License-Identifier: BSD-3-Clause
"""kill -9 of any process of a job, at any moment: no process is left. Moments are chosen by chance; the seed is
printed, and TOOLTEST_SEED takes it back."""
import contextlib
import os
import random
import select
import signal
import time

from support import ACT, MEMBER, WATCHDOG_S, ToolTest, main, marked_processes, ready, stop

SEED = int(os.environ.get("TOOLTEST_SEED", random.randrange(2**32)))
MOMENTS = int(os.environ.get("TOOLTEST_MOMENTS", 25))
BUSY = ("join", "print=up", "meet", "outlive", "leave")


def kill(pid):
    with contextlib.suppress(ProcessLookupError):  # it was faster
        os.kill(pid, signal.SIGKILL)


def kill_if_named(pid, names):
    """Kills a process unless it has become another: an agent leaves its first process behind as its keeper."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it was faster
        stop(pid)
        with open(f"/proc/{pid}/comm") as file:
            os.kill(pid, signal.SIGKILL if file.read().strip() in names else signal.SIGCONT)


class Killed(ToolTest):
    """The job starts, passes a barrier, and ends by itself; a process is killed at some moment."""

    def at_random_moments(self, choose):
        chance = random.Random(SEED)
        print(f"seed {SEED}", flush=True)
        for _ in range(MOMENTS):
            job = self.start("-n", "3", "sh", "-c", f"{ACT} fork; exec {MEMBER} " + " ".join(BUSY))
            # How far the job is when the blow falls is what varies: this is the input, not a wait for it.
            time.sleep(chance.uniform(0, 0.03))
            victims = choose(job, chance)
            for pid in victims:
                kill(pid)
            with self.subTest(seed=SEED):
                job.process.wait(WATCHDOG_S)
                yield job
            job.clean_up()

    def test_the_launcher(self):
        for job in self.at_random_moments(lambda job, _: [job.process.pid]):
            job.wait_until_gone()

    def test_the_launcher_while_keepers_are_stopped(self):
        for options in (("-n", "2"), ("-n", "2", "--nodes", "2")):
            with self.subTest(options):
                job = self.start(*options, ACT, "print=ready", "pause")
                self.assertEqual(job.read_lines(2), ready(2))
                for pid, name in marked_processes(job.mark).items():
                    if name == "acp-keeper":
                        stop(pid)
                kill(job.process.pid)
                job.wait_until_gone()
                job.clean_up()

    def test_the_agent(self):
        def agent(job, _):
            return [pid for pid, name in marked_processes(job.mark).items() if name == "acp-agent"]

        for job in self.at_random_moments(agent):
            self.assertIn(job.process.returncode, (0, 137))
            self.assert_nobody_is_left(job)

    def test_any_rank(self):
        def rank(job, chance):
            ranks = [pid for pid, name in marked_processes(job.mark).items() if name not in ("acprun", "acp-agent")]
            return [chance.choice(ranks)] if ranks else []

        for job in self.at_random_moments(rank):
            self.assertIn(job.process.returncode, (0, 137))
            self.assert_nobody_is_left(job)

    def test_launcher_and_agent_together_end_the_ranks_and_their_children(self):
        chance = random.Random(SEED)
        for _ in range(MOMENTS):
            job = self.start("-n", "3", "sh", "-c", f"{ACT} fork; exec {MEMBER} " + " ".join(BUSY))
            time.sleep(chance.uniform(0, 0.03))
            names = ("acprun", "acp-agent")
            both = [pid for pid, name in marked_processes(job.mark).items() if name in names]
            for pid in sorted(both, reverse=chance.random() < 0.5):
                kill_if_named(pid, names)
            job.process.wait(WATCHDOG_S)
            job.wait_until_gone()
            job.clean_up()


class KilledWhilePausing(ToolTest):
    """The job would never end by itself."""

    def start_pausing(self):
        job = self.start("-n", "3", ACT, "fork", "ignore=15", "print=ready", "pause")
        job.read_lines(3)
        return job

    def test_without_its_launcher_the_job_ends(self):
        job = self.start_pausing()
        os.kill(job.process.pid, signal.SIGKILL)
        job.wait_until_gone()

    def test_without_its_agent_the_job_ends_with_a_message(self):
        job = self.start_pausing()
        agent = job.agent()
        os.kill(agent, signal.SIGKILL)
        code, _, error = job.finish()
        self.assertEqual(code, 137)
        self.assertRegex(error, rf"the agent \(process {agent}\) was killed by signal 9 \(SIGKILL\); all ranks were ended")
        self.assert_nobody_is_left(job)

    def test_without_launcher_and_agent_the_job_ends(self):
        job = self.start_pausing()
        agent = job.agent()
        os.kill(job.process.pid, signal.SIGKILL)
        kill_if_named(agent, ("acp-agent",))  # it may have ended for its launcher's end
        job.wait_until_gone()

    def test_without_the_keeper_the_job_ends(self):
        job = self.start_pausing()
        kill(next(pid for pid, name in marked_processes(job.mark).items() if name == "acp-keeper"))
        self.assertEqual(job.finish()[0], 137)
        self.assert_nobody_is_left(job)

    def test_a_stopped_job_dies_with_its_launcher(self):
        job = self.start_pausing()
        for pid, name in marked_processes(job.mark).items():
            if name == "act":
                os.kill(pid, signal.SIGSTOP)
        os.kill(job.process.pid, signal.SIGKILL)
        job.wait_until_gone()

    def test_a_stopped_agent_does_not_keep_the_job_of_a_dead_launcher(self):
        for stopped in ("acp-agent", "act"):
            job = self.start_pausing()
            for pid, name in marked_processes(job.mark).items():
                if name in ("acp-agent", stopped):
                    os.kill(pid, signal.SIGSTOP)
            os.kill(job.process.pid, signal.SIGKILL)
            job.wait_until_gone()

    def test_a_launcher_killed_while_its_output_is_not_read_leaves_no_process(self):
        job = self.start("-n", "2", ACT, "fork", "error=writes", "bytes=10000000")
        for _ in range(2):
            job.process.stderr.readline()
        self.assertTrue(select.select([job.process.stdout], [], [], WATCHDOG_S)[0])
        os.kill(job.process.pid, signal.SIGKILL)
        job.wait_until_gone()


if __name__ == "__main__":
    main()
