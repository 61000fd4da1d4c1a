# SPDX-License-Identifier: BSD-3-Clause
"""A job that only stopped ranks keep alive, and one whose agent is stopped: acprun names them, once, and the job ends
when they continue."""
import os
import select
import signal

from support import ACT, SSH_STUB, WATCHDOG_S, ToolTest, command_line, main, marked_processes, ready, stop

NAMED = (r"^acprun: rank 1 on .* is stopped \(by a signal, or by a debugger\), and no other rank runs: the job waits until "
         r"they continue; SIGCONT to acprun continues all ranks\n$")


class Stopped(ToolTest):
    def read_message(self, job):
        stderr = job.process.stderr.fileno()
        self.assertTrue(select.select([stderr], [], [], WATCHDOG_S)[0], "no message")
        return os.read(stderr, 65536).decode()

    def check(self, *options):
        job = self.start("-n", "2", *options, ACT, "1:print=ready", "1:pause")
        self.assertEqual(job.read_lines(1), ready(1))
        stop(job.rank(1))
        self.assertRegex(self.read_message(job), NAMED)
        job.send(signal.SIGCONT)
        job.send(signal.SIGTERM)
        code, _, error = job.finish()
        self.assertEqual(code, 143, error)
        self.assertNotRegex(error, "is stopped")

    def test_it_is_named(self):
        self.check()

    def test_it_is_named_when_the_other_node_is_done(self):
        self.check("--nodes", "2")

    def check_agent(self, victim, name, *options):
        job = self.start(*options, ACT, "print=ready", "pause")
        self.assertEqual(job.read_lines(2), ready(2))
        pid = victim(job)
        stop(pid)
        self.assertRegex(self.read_message(job), rf"^acprun: {name} \(process {pid}\) is stopped \(by a signal, or by a debugger\): "
                         rf"until it continues, .* kill -CONT {pid} continues it\n$")
        os.kill(pid, signal.SIGCONT)
        job.send(signal.SIGTERM)
        self.assertEqual(job.finish(), (143, "", "acprun: ended by SIGTERM\n"))

    def test_a_stopped_agent_is_named_while_the_job_runs(self):
        self.check_agent(lambda job: job.agent(), "the agent of .*", "-n", "2")
        self.check_agent(lambda job: job.agent_of(1), "the agent of .*, node 1", "-n", "2", "--nodes", "2")

    def test_each_stopped_agent_is_named_once(self):
        job = self.start("-n", "2", "--nodes", "2", ACT, "print=ready", "pause")
        self.assertEqual(job.read_lines(2), ready(2))
        messages = ""
        for rank in (0, 1):
            stop(job.agent_of(rank))
            messages = self.read_message(job)
            self.assertRegex(messages, rf"\Aacprun: the agent of .*, node {rank} [^\n]*\n\Z")
        for rank in (0, 1):
            os.kill(job.agent_of(rank), signal.SIGCONT)
        job.send(signal.SIGTERM)
        self.assertEqual(job.finish(), (143, "", "acprun: ended by SIGTERM\n"))

    def test_a_stopped_connection_to_a_host_is_named_while_the_job_runs(self):
        def carrier(job):
            return next(pid for pid, name in marked_processes(job.mark).items() if name == "acp-agent"
                        and "--reach" in command_line(pid))
        self.check_agent(carrier, "the process that carries the connection to (alpha|beta)",
                         "--hosts", "alpha,beta", "--ssh", SSH_STUB)


if __name__ == "__main__":
    main()
