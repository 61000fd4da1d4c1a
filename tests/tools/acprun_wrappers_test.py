# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that are started by programs between the agent and them: those get the node's files though a descriptor was closed."""
import os
import re
import socket
import subprocess
import sys
import unittest

from support import RANK, WATCHDOG_S, ToolTest, acprun, environment_of, main

WHOLE_JOB = ("init", "fill=x", "put=0", "add=word", "sync", "reset=1", "sync", "who", "finalize")
# As many a script starts its program: all descriptors but the standard streams are closed.
WRAPPER = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"
# One that leaves the node segment and closes what else a rank inherits.
HALF = "import os, sys; fd = int(os.environ['ACP_NODE_FD']); os.closerange(3, fd); os.closerange(fd + 1, 256); " \
       "os.set_inheritable(fd, True); os.execv(sys.argv[1], sys.argv[1:])"
# One that has put a file of its own in the place of the segment.
REPLACED = "import os, sys; fd = int(os.environ['ACP_NODE_FD']); os.dup2(os.open('/dev/null', os.O_RDONLY), fd); " \
           "os.set_inheritable(fd, True); os.execv('/bin/sh', ['sh', '-c', '\"$@\"', 'sh', *sys.argv[1:]])"


def python(script, *words):
    return (sys.executable, "-c", script, *words)


class Wrappers(ToolTest):
    def assert_whole(self, result, ranks):
        self.assertEqual((result.returncode, result.stderr), (0, b""), result)
        self.assertEqual(sorted(result.stdout.decode().split("\n"))[1:], [f"{i} of {ranks}" for i in range(ranks)])

    def test_a_rank_below_a_program_that_closes_descriptors_joins(self):
        for nodes in ((), ("--nodes", "2"), ("--nodes", "4"), ("--nodes", "2", "--netns")):
            for script in (WRAPPER, HALF, REPLACED):
                with self.subTest(nodes=nodes, script=script):
                    result = acprun("-n", "4", *nodes, *python(script, RANK, *WHOLE_JOB))
                    if b"--netns" in result.stderr and result.returncode != 0:
                        self.skipTest(result.stderr.decode())
                    self.assert_whole(result, 4)

    def test_a_file_that_has_taken_the_number_of_the_descriptor_stays_open(self):
        look = "shell=[ /dev/null = $(readlink /proc/$PPID/fd/$ACP_NODE_FD) ] || echo lost"
        result = acprun("-n", "2", *python(REPLACED, RANK, "init", look, *WHOLE_JOB[1:]))
        self.assert_whole(result, 2)

    def test_a_rank_that_closes_its_own_descriptors_joins(self):
        self.assert_whole(acprun("-n", "3", RANK, "closefrom=3", *WHOLE_JOB), 3)

    def test_a_rank_that_joins_in_this_way_and_is_killed_ends_the_job(self):
        result = acprun("-n", "3", *python(WRAPPER, RANK, "init", "sync", "1:signal=9", "sync", "pause"))
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(b"rank 1 ", result.stderr)

    def test_the_refusal_of_a_program_of_a_rank_names_the_variables_to_unset(self):
        helper = f"{RANK} init"
        result = acprun("-n", "2", RANK, "init", "sync", f"0:shell={helper}", "sync", "finalize")
        self.assertEqual((result.returncode, result.stderr), (0, b""), result)
        said = result.stdout.decode()
        self.assertRegex(said, r"is rank 0 of this job already: .* needs ACP_SINGLETON=1, or ACP_NODE_FD and "
                               r"ACP_NODE_SOCKET unset")

    def test_a_program_of_a_rank_is_a_job_of_its_own_where_that_is_asked_for(self):
        for way in ("ACP_SINGLETON=1", "env -u ACP_NODE_FD -u ACP_NODE_SOCKET"):
            with self.subTest(way=way):
                result = acprun("-n", "2", RANK, "init", "sync", f"0:shell={way} {RANK} init who finalize", "sync",
                                "finalize", env={"ACP_SINGLETON": "1"})  # which acprun passes on to no rank
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"0 of 1\n", b""), result)

    def test_a_socket_without_an_agent_is_named(self):
        known = "ACP_RANK=0 ACP_PROCS=2 ACP_SLOT=0 ACP_NODE_SOCKET=acp-0123456789abcdef:" + "0" * 32
        result = subprocess.run(["sh", "-c", f"{known} {RANK} init"], capture_output=True, timeout=WATCHDOG_S)
        self.assertRegex(result.stdout.decode(), r"From the node's agent \(ACP_NODE_SOCKET\): no process listens there")


class Socket(ToolTest):
    """The agent's socket as other processes see it."""

    def place(self):
        job = self.start("-n", "2", RANK, "init", "print=ready", "0:await-line", "sync", "finalize",
                         stdin=subprocess.PIPE)
        job.read_lines(2)
        name, token = environment_of(job.rank(1))["ACP_NODE_SOCKET"].split(":")
        return job, "\0" + name, token

    def end(self, job):
        job.process.stdin.write(b"\n")
        job.process.stdin.flush()
        self.assertEqual(job.finish()[0], 0)

    def ask(self, name, words):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking:
            asking.settimeout(WATCHDOG_S)
            asking.connect(name)
            asking.send(words)
            text, files, _, _ = socket.recv_fds(asking, 1024, 8)
            for file in files:
                os.close(file)
            return text, len(files)

    def test_the_token_is_wanted(self):
        job, name, token = self.place()
        for words in (b"x", b"0" * 32, token.encode()[:-1], token.encode() + b"0", b"x" * 2000):
            text, files = self.ask(name, words)
            self.assertEqual(files, 0, words)
            self.assertNotEqual(text, b"granted", words)
        self.assertEqual(self.ask(name, token.encode()), (b"granted", 1))
        self.end(job)

    def test_connections_without_a_request_do_not_delay_others(self):
        job, name, token = self.place()
        idle = []
        for _ in range(200):
            idle.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            idle[-1].connect(name)
        self.assertEqual(self.ask(name, token.encode()), (b"granted", 1))
        for one in idle:
            one.close()
        self.end(job)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_another_user_is_refused(self):
        job, name, token = self.place()
        script = f"import os, socket; os.setuid(65534); s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); " \
                 f"s.connect({name!r}); s.send(b'{token}'); print(socket.recv_fds(s, 1024, 8)[:2])"
        result = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=WATCHDOG_S)
        self.assertRegex(result.stdout.decode() + result.stderr.decode(),
                         r"runs as another user than the job', \[\]|BrokenPipe|ConnectionReset")
        self.end(job)

    def test_no_key_stands_in_the_environment(self):
        job, _, _ = self.place()
        names = [name for name in environment_of(job.rank(0)) if re.search("KEY|SECRET", name)]
        self.assertEqual(names, [])
        self.end(job)


if __name__ == "__main__":
    main()
