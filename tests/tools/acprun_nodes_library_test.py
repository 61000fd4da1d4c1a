# SPDX-License-Identifier: BSD-3-Clause
"""Programs that use ACP, on several nodes: joining, meeting and leaving, and what a death on another node does."""
import os
import re
import signal
import socket
import tempfile
import time
import unittest

from support import RANK, SSH_STUB, ToolTest, acprun, main, port_of, sockets_of, state_of

HOST = re.escape(socket.gethostname())
WAYS = (("--nodes", "4"), ("--nodes", "2"), ("--hosts", "a:2,b:2", "--ssh", SSH_STUB))


class Library(ToolTest):
    def test_ranks_of_several_nodes_join_meet_and_leave(self):
        for way in WAYS:
            result = acprun("-n", "4", *way, RANK, "init", "who", "sync", "sync", "finalize")
            self.assertEqual((result.returncode, result.stderr), (0, b""), way)
            self.assertEqual(sorted(result.stdout.splitlines()), [b"%d of 4" % rank for rank in range(4)])

    @unittest.skipUnless(os.getuid() == 0, "network namespaces take root: not tested with networks of their own")
    def test_ranks_of_several_nodes_join_over_private_networks(self):
        result = acprun("-n", "4", "--nodes", "2", "--netns", RANK, "init", "who", "sync", "finalize")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual(sorted(result.stdout.splitlines()), [b"%d of 4" % rank for rank in range(4)])

    def test_ranks_may_join_again_after_finalize(self):
        result = acprun("-n", "4", "--nodes", "2", RANK, "init", "sync", "finalize", "init", "sync", "who", "finalize")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual(len(result.stdout.splitlines()), 4)

    def test_a_death_ends_the_job_of_all_nodes(self):
        for way in WAYS:
            result = acprun("-n", "4", *way, RANK, "init", "sync", "3:signal=9", "sync", "pause")
            self.assert_fails(result, 137, r"rank 3 .* was killed by signal 9 .* the other 3 ranks were ended")

    def test_with_continue_a_death_on_another_node_is_an_error_that_names_it(self):
        job = self.start("-n", "4", "--nodes", "4", "--on-failure=continue", RANK, "init", "sync", "2:signal=9", "sync",
                         "print=on", "pause")
        lines = [line for line in job.read_lines(6)]
        self.assertEqual(lines[:3], ["on\n"] * 3)
        job.send(signal.SIGTERM)
        code, _, error = job.finish()
        self.assertEqual(code, 137)
        found = re.search(rf"rank 2 \(process (\d+) on {HOST}, node 2\) was killed by signal 9", error)
        self.assertTrue(found, error)
        for line in lines[3:]:
            self.assertRegex(line, rf"sync: .*rank 2 \(process {found[1]}\) on node 2 \({HOST}, 127\.0\.1\.3\) was "
                                   r"killed by signal 9 \(SIGKILL\) without acp_finalize")

    def test_ranks_that_are_their_own_gateways_keep_to_the_range_of_ports(self):
        job = self.start("--nodes", "2", RANK, "init", "print=ready", "pause", env={"ACP_PORTS": "29482-29485"})
        job.read_lines(2)
        for rank in range(2):
            ports = {port_of(line) for line in sockets_of(job.rank(rank))}
            self.assertTrue(ports and ports <= {29482, 29483, 29484, 29485}, ports)
        job.send(signal.SIGKILL)

    def test_security_off_needs_no_libcrypto(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("libcrypto.so.3", "libcrypto.so.1.1"):
                with open(os.path.join(folder, name), "w"):
                    pass
            for ranks in ("2", "4"):
                env = {"LD_LIBRARY_PATH": folder, "ACP_SECURITY": "off"}
                result = acprun("-n", ranks, "--nodes", "2", RANK, "init", "sync", "print=in", "finalize", env=env)
                self.assertEqual((result.returncode, result.stdout), (0, b"in\n" * int(ranks)), result.stderr)
                env["ACP_SECURITY"] = "encrypt"
                result = acprun("-n", ranks, "--nodes", "2", RANK, "init", "sync", "print=in", "finalize", env=env)
                self.assertEqual((result.returncode, result.stdout), (69, b""))
                self.assertIn(b"libcrypto", result.stderr)

    def test_ranks_in_different_collective_calls_get_an_error_and_continue(self):
        for calls in (("0:sync", "1:reset"), ("0:reset", "1:sync"), ("0:sync", "1:finalize")):
            result = acprun("-n", "2", "--nodes", "2", "--on-failure=continue", RANK, "init", "sync", *calls, "sync", "finalize")
            self.assertIn(b"they have not made the same collective calls", result.stdout, calls)
            self.assertNotIn(b"has not answered", result.stdout)

    def start_in_meeting(self, *before):
        """Two ranks on a node each, of which, after these steps, rank 0 is in acp_sync and rank 1 is stopped."""
        job = self.start("-n", "2", "--nodes", "2", "--on-failure=continue", RANK, "init", *before, "print=on", "1:signal=19",
                         "sync", "print=met", "finalize", env={"ACP_PEER_TIMEOUT": "1"})
        self.assertEqual(job.read_lines(2), ["on\n"] * 2)
        while state_of(job.rank(1)) != "T":
            time.sleep(0.01)
        return job

    def test_a_stopped_rank_is_waited_for_longer_than_a_silent_gateway(self):
        for before in ((), ("reset=rank",), ("sync",)):  # also where it has made no call since acp_init
            job = self.start_in_meeting(*before)
            time.sleep(3)  # several times ACP_PEER_TIMEOUT
            os.kill(job.rank(1), signal.SIGCONT)
            self.assertEqual(job.read_lines(2), ["met\n"] * 2, before)
            self.assertEqual(job.finish()[0], 0)

    def test_a_frozen_node_is_given_up_though_only_ranks_carry_the_meeting(self):
        job = self.start_in_meeting()
        os.kill(job.agent_of(1), signal.SIGSTOP)
        self.assertRegex(job.read_lines(1)[0], r"sync: .*rank 1 is on node 1 .*has not answered for the \d+ m?s of ACP_PEER_TIMEOUT")
        os.kill(job.agent_of(1), signal.SIGCONT)
        job.send(signal.SIGTERM)
        os.kill(job.rank(1), signal.SIGCONT)
        job.finish()

    def test_ranks_of_other_nodes_get_an_error_for_a_rank_that_never_joins(self):
        result = acprun("-n", "2", "--nodes", "2", "--on-failure=continue", RANK, "1:exit=0", "init", "exit=7")
        self.assertRegex(result.stdout.decode(), r"\Ainit: .*rank 1 \(process \d+\) on node 1 ")
        self.assertEqual(result.returncode, 7)

    def test_a_rank_that_closed_its_own_socket_blames_itself(self):
        result = acprun("-n", "2", "--nodes", "2", RANK, "init", "sync", "1:close-files", "1:get=0", "sync", "finalize")
        self.assertRegex(result.stdout.decode(), r"get: .*acp_copy by rank 1 .*rank 0 is on node 0 .*cannot be reached, for this "
                                                 r"process has closed the descriptor of its own UDP socket")
        self.assertRegex(result.stdout.decode(), r"sync: .*rank 1 \(process \d+\) on node 1 .*has closed the descriptor of its own UDP socket")

    def test_a_rank_that_closed_its_socket_on_the_node_opens_another(self):
        result = acprun("-n", "3", RANK, "init", "sync", "1:close-files", "1:get=0", "2:get=1", "sync", "finalize",
                        env={"ACP_INTRANODE": "udp"})
        self.assertRegex(result.stderr.decode(), r"\Aacp: rank 1 has opened another UDP socket \(ACP_INTRANODE=udp\), for the "
                                                 r"program has closed descriptor \d+, which it did not open\n\Z")
        self.assertEqual((result.returncode, result.stdout), (0, b""))

    def test_ranks_that_end_after_finalize_fail_no_other(self):
        result = acprun("-n", "4", "--nodes", "4", RANK, "init", "finalize", "2:exit=3", "print=done")
        self.assert_fails(result, 3, "rank 2 .* exited with code 3 after acp_finalize")
        self.assertEqual(result.stdout, b"done\n" * 3)

    def test_many_short_jobs_end_well(self):
        for _ in range(30):
            result = acprun("-n", "4", "--nodes", "4", RANK, "init", "sync", "finalize")
            self.assertEqual((result.returncode, result.stderr), (0, b""))


if __name__ == "__main__":
    main()
