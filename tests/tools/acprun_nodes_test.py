# SPDX-License-Identifier: BSD-3-Clause
"""A job over several emulated nodes of this machine: which ranks are where, and that it behaves like a job on one."""
import os
import re
import signal
import socket
import tempfile
import unittest

from support import (ACPRUN, ACT, MEMBER, RANK, ToolTest, acprun, main, marked_processes, port_of, ready, sockets_of,
                     state_of)

HOST = re.escape(socket.gethostname())
WHERE = "echo $ACP_RANK of $ACP_PROCS, node $ACP_NODE of $ACP_NODES, slot $ACP_SLOT"


class Placement(ToolTest):
    def test_ranks_go_to_nodes_in_blocks_as_even_as_can_be(self):
        for ranks, nodes, blocks in ((4, 2, (2, 2)), (5, 2, (3, 2)), (7, 3, (3, 2, 2)), (3, 3, (1, 1, 1))):
            result = acprun("-n", str(ranks), "--nodes", str(nodes), "sh", "-c", WHERE)
            wanted = [(node, slot) for node, count in enumerate(blocks) for slot in range(count)]
            self.assertEqual(sorted(result.stdout.decode().splitlines()),
                             [f"{rank} of {ranks}, node {node} of {nodes}, slot {slot}"
                              for rank, (node, slot) in enumerate(wanted)], result.stderr)
            self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_without_a_number_each_node_has_one_rank(self):
        self.assertEqual(acprun("--nodes", "3", ACT, "print=x").stdout, b"x\n" * 3)

    def test_one_node_is_an_ordinary_job(self):
        result = acprun("-n", "2", "--nodes", "1", "sh", "-c", WHERE)
        self.assertEqual(sorted(result.stdout.splitlines()),
                         [b"0 of 2, node 0 of 1, slot 0", b"1 of 2, node 0 of 1, slot 1"])

    def test_many_nodes_start(self):
        result = acprun("-n", "80", "--nodes", "40", ACT, "print=x")
        self.assertEqual((result.returncode, result.stdout), (0, b"x\n" * 80), result.stderr)

    def test_nodes_share_no_memory(self):
        show = "stat -L -c %i /proc/self/fd/$ACP_NODE_FD"
        inodes = acprun("-n", "4", "--nodes", "2", "sh", "-c", show).stdout.split()
        self.assertEqual((len(inodes), len(set(inodes))), (4, 2))

    def test_all_nodes_are_one_job(self):
        names = acprun("-n", "4", "--nodes", "4", ACT, "variable=ACP_JOB_ID").stdout.split()
        self.assertEqual((len(names), len(set(names)), len(names[0])), (4, 1, 16))

    def test_each_node_listens_on_an_address_of_its_own(self):
        job = self.start("--nodes", "3", ACT, "print=ready", "pause")
        self.assertEqual(job.read_lines(3), ready(3))
        listening = [self.addresses_of(job.agent_of(rank)) for rank in range(3)]
        self.assertEqual(listening, [["127.0.1.1"], ["127.0.1.2"], ["127.0.1.3"]])
        job.send(signal.SIGKILL)

    def test_each_rail_of_a_node_has_an_address_of_its_own(self):
        job = self.start("--nodes", "2", "--rails", "3", ACT, "print=ready", "pause")
        self.assertEqual(job.read_lines(2), ready(2))
        listening = [self.addresses_of(job.agent_of(rank)) for rank in range(2)]
        self.assertEqual(listening, [["127.0.1.1", "127.1.1.1", "127.2.1.1"], ["127.0.1.2", "127.1.1.2", "127.2.1.2"]])
        job.send(signal.SIGKILL)

    def test_a_range_of_ports_is_kept_to_and_a_full_one_is_named(self):
        env = {"ACP_PORTS": "29480-29481"}
        options = ("-n", "4", "--nodes", "2", "--rails", "2", ACT, "print=ready", "pause")
        first = self.start(*options, env=env)
        self.assertEqual(first.read_lines(4), ready(4))
        self.assertEqual({port_of(line) for line in sockets_of(first.agent_of(0))}, {29480})
        second = self.start(*options, env=env)
        self.assertEqual(second.read_lines(4), ready(4))
        self.assertEqual({port_of(line) for line in sockets_of(second.agent_of(0))}, {29481})
        third = acprun("-n", "4", "--nodes", "2", ACT, "print=x", env=env)
        self.assertEqual((third.returncode, third.stdout), (69, b""))
        self.assertRegex(third.stderr.decode(), r"127\.0\.1\.[12]:29480 to 29481.*ACP_PORTS")
        first.send(signal.SIGKILL)
        second.send(signal.SIGKILL)

    def test_all_ranks_get_the_number_of_rails_which_is_bounded(self):
        result = acprun("--nodes", "2", "--rails", "4", ACT, "variable=ACP_RAILS")
        self.assertEqual(result.stdout, b"4\n4\n", result.stderr)
        for wrong in ("0", "5", "two"):
            result = acprun("--nodes", "2", "--rails", wrong, ACT, "print=x")
            self.assertEqual((result.returncode, result.stdout), (64, b""))
            self.assertIn(b"--rails wants a number of networks from 1 to 4", result.stderr)

    def addresses_of(self, pid):
        """Of the UDP sockets a process has."""
        return sorted(socket.inet_ntoa(bytes.fromhex(line[1].split(":")[0])[::-1]) for line in sockets_of(pid))

    def test_ranks_inherit_no_socket(self):
        result = acprun("--nodes", "2", "sh", "-c", "ls -l /proc/self/fd | grep -c socket: || true")
        self.assertEqual(result.stdout, b"0\n0\n")

    def test_binding_to_cores_goes_by_the_rank_of_the_machine(self):
        one = acprun("-n", "2", "--bind", "core", "sh", "-c", "grep Cpus_allowed_list /proc/self/status").stdout
        two = acprun("-n", "2", "--nodes", "2", "--bind", "core", "sh", "-c",
                     "grep Cpus_allowed_list /proc/self/status").stdout
        self.assertEqual(sorted(two.splitlines()), sorted(one.splitlines()))

    def test_a_dry_run_prints_the_place_of_each_rank(self):
        result = acprun("-n", "3", "--nodes", "2", "--dry-run", ACT, "print=started")
        self.assertRegex(result.stdout.decode(), r"would start 3 ranks on 2 nodes of \S+:\n"
                                                 r"  node 0 +ranks 0-1, address 127\.0\.1\.1\n"
                                                 r"  node 1 +ranks 2, address 127\.0\.1\.2\n")
        self.assertNotIn(b"started", result.stdout.replace(b"print=started", b""))

    def test_fewer_ranks_than_nodes_are_refused(self):
        self.assert_fails(acprun("-n", "2", "--nodes", "3", ACT), 64, "3 nodes want at least 3 ranks, not 2")

    def test_more_ranks_than_nodes_hold_are_refused(self):
        self.assert_fails(acprun("-n", "2047", "--nodes", "2", ACT), 64, "node 0 would have 1024 ranks", "1023")

    def test_options_that_exclude_each_other_are_refused(self):
        for options in (("--nodes", "0"), ("--nodes", "x"), ("--nodes", "62501"), ("--netns",),
                        ("--nodes", "2", "--hosts", "a"), ("--net", "10.0.0.0/8"), ("--hosts", "a", "--hostfile", "b")):
            self.assert_fails(acprun(*options, ACT), 64, options[0])


class Streams(ToolTest):
    def test_lines_of_several_nodes_do_not_mix(self):
        result = acprun("-n", "8", "--nodes", "4", ACT, "lines=2000")
        lines = result.stdout.decode().splitlines()
        self.assertEqual(len(lines), 8 * 2000)
        for line in lines:
            self.assertRegex(line, r"\Arank \d line \d+ x* end\Z")

    def test_each_rank_keeps_its_order(self):
        lines = acprun("-n", "4", "--nodes", "2", ACT, "lines=500").stdout.decode().splitlines()
        for rank in range(4):
            own = [int(line.split()[3]) for line in lines if line.startswith(f"rank {rank} ")]
            self.assertEqual(own, list(range(500)))

    def test_tags_and_files_are_by_rank(self):
        result = acprun("-n", "4", "--nodes", "2", "--tag", ACT, "print=x", "error=y")
        self.assertEqual(sorted(result.stdout.splitlines()), [b"[%d] x" % rank for rank in range(4)])
        self.assertEqual(sorted(result.stderr.splitlines()), [b"[%d] y" % rank for rank in range(4)])
        with tempfile.TemporaryDirectory() as folder:
            acprun("-n", "4", "--nodes", "2", "--output", folder, "sh", "-c", "echo $ACP_RANK")
            for rank in range(4):
                with open(os.path.join(folder, f"rank.{rank}.out")) as file:
                    self.assertEqual(file.read(), f"{rank}\n")

    def test_input_is_rank_0s(self):
        result = acprun("--nodes", "2", ACT, "read", input=b"a line\n")
        self.assertEqual(sorted(result.stdout.splitlines()), [b"a line", b"end of input"])

    def test_all_output_arrives_although_the_reader_is_slow(self):
        job = self.start("-n", "4", "--nodes", "2", ACT, "bytes=1000000")
        code, out, _ = job.finish()
        self.assertEqual((code, out.count("b")), (0, 4_000_000))

    def test_a_reader_that_leaves_ends_the_job(self):
        job = self.start("-n", "4", "--nodes", "2", ACT, "bytes=100000000")
        os.read(job.process.stdout.fileno(), 1)
        job.process.stdout.close()
        self.assertEqual(job.process.wait(), 141)
        self.assert_nobody_is_left(job)

    def test_a_full_disk_is_reported(self):
        with open("/dev/full", "wb") as full:
            job = self.start("-n", "4", "--nodes", "2", ACT, "print=x", "pause", stdout=full)
            code, _, error = job.finish()
        self.assertEqual(code, 74)
        self.assertIn("cannot write standard output", error)


class Failures(ToolTest):
    def test_a_failed_rank_ends_the_ranks_of_all_nodes(self):
        job = self.start("-n", "6", "--nodes", "3", ACT, "fork", "3:exit=7", "pause")
        code, _, error = job.finish()
        self.assertEqual(code, 7)
        self.assertRegex(error, rf"\Aacprun: rank 3 \(process \d+ on {HOST}, node 1\) exited with code 7; "
                                r"the other 5 ranks were ended\n\Z")
        self.assert_nobody_is_left(job)

    def test_a_killed_rank_gives_its_code_whatever_the_others_do(self):
        for _ in range(10):
            result = acprun("-n", "4", "--nodes", "4", MEMBER, "join", "2:signal=9", "pause")
            self.assert_fails(result, 137, r"rank 2 .* signal 9 .* without acp_finalize; the other 3 ranks were ended")

    def test_the_report_stands_below_the_output_of_all_nodes(self):
        lines = acprun("-n", "2", "--nodes", "2", ACT, "error=last words", "1:exit=5",
                       "pause").stderr.decode().splitlines()
        self.assertIn("rank 1", lines[-1])
        self.assertEqual(set(lines[:-1]) - {"last words"}, set())

    def test_with_continue_the_other_nodes_run_on(self):
        job = self.start("-n", "4", "--nodes", "2", "--on-failure=continue", ACT, "end-on=10", "1:exit=9", "print=ready",
                         "pause")
        self.assertEqual(job.read_lines(3), ready(3))
        self.assertIn(b"rank 1", job.process.stderr.readline())
        job.send(signal.SIGUSR1)
        self.assertEqual(job.finish()[:2], (9, "got 10\n" * 3))

    def test_the_code_is_that_of_the_first_of_all_nodes(self):
        job = self.start("-n", "2", "--nodes", "2", "--on-failure=continue", ACT, "0:end-on=10", "0:print=ready",
                         "1:exit=5", "pause")
        self.assertEqual(job.read_lines(1), ready(1))
        self.assertIn(b"rank 1", job.process.stderr.readline())
        os.kill(job.rank(0), signal.SIGKILL)
        code, _, error = job.finish()
        self.assertEqual(code, 5)
        self.assertRegex(error, r"rank 0 .* signal 9[\s\S]*2 of 2 ranks failed")

    def test_ranks_that_never_joined_are_named_across_nodes(self):
        job = self.start("-n", "2", "--nodes", "2", MEMBER, "1:exit=0", "join", "print=ready", "pause")
        job.read_lines(1)
        while len(marked_processes(job.mark)) > 6:  # until rank 1 is gone
            pass
        os.kill(job.rank(0), signal.SIGKILL)
        self.assertRegex(job.finish()[2], "rank 1 had ended before, with code 0 and without acp_init")

    def test_a_rank_that_ended_before_acp_init_is_the_cause_on_one_node_as_on_several(self):
        for nodes in ("1", "2", "4"):
            for on_error in ("fatal", "return"):
                with self.subTest(nodes=nodes, on_error=on_error):
                    result = acprun("-n", "4", "--nodes", nodes, RANK, "1:exit=0", "init", "exit=3", env={"ACP_ON_ERROR": on_error})
                    self.assertEqual(result.returncode, 1, result)
                    self.assertRegex(result.stderr.decode(), r"(?m)^acprun: rank 1 \(process \d+ on [^)]*\) exited with code 0 "
                                     r"without acp_init, in which others wait for it")

    def test_a_rank_that_fails_beside_one_without_acp_is_the_cause_itself(self):
        for nodes in ("1", "2"):
            result = acprun("-n", "2", "--nodes", nodes, ACT, "0:exit=0", "exit=3")
            self.assert_fails(result, 3, "rank 1 .* exited with code 3")

    def test_a_program_that_cannot_be_run_is_reported_once(self):
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "script")
            with open(script, "w") as file:
                file.write("#!/no/such/interpreter\n")
            os.chmod(script, 0o755)
            result = acprun("-n", "4", "--nodes", "4", script)
            self.assert_fails(result, 127, "interpreter")
            self.assertEqual(result.stderr.count(b"cannot run"), 1)

    def test_a_node_that_cannot_work_ends_the_others_and_is_named(self):
        result = acprun("-n", "1024", "--nodes", "2", "--starter-size", "1T", ACT)
        self.assert_fails(result, 69, r"acprun: node \d: .*(node segment|starter mem)")
        self.assertEqual(result.stderr.count(b"acprun: "), 1, result.stderr)

    def test_the_timeout_names_the_ranks_of_all_nodes(self):
        job = self.start("-n", "6", "--nodes", "3", "--timeout", "0.5", ACT, "ignore=15", "2:exit=0", "4:exit=0", "pause")
        code, _, error = job.finish()
        self.assertEqual(code, 124)
        self.assertIn("timeout of 0.5 s: ranks 0-1,3,5 were still running; the job was ended", error)
        self.assert_nobody_is_left(job)


class Signals(ToolTest):
    def test_signals_reach_the_ranks_of_all_nodes(self):
        job = self.start("-n", "4", "--nodes", "2", ACT, "end-on=10", "print=ready", "pause")
        self.assertEqual(job.read_lines(4), ready(4))
        job.send(signal.SIGUSR1)
        self.assertEqual(job.finish(), (0, "got 10\n" * 4, ""))

    def test_an_interrupted_job_ends(self):
        for number, name in ((signal.SIGINT, "SIGINT"), (signal.SIGTERM, "SIGTERM")):
            job = self.start("-n", "4", "--nodes", "2", ACT, "print=ready", "pause")
            job.read_lines(4)
            job.send(number)
            code, _, error = job.finish()
            self.assertEqual((code, error), (128 + number, f"acprun: ended by {name}\n"))
            self.assert_nobody_is_left(job)

    def test_a_second_interrupt_kills(self):
        job = self.start("-n", "4", "--nodes", "2", ACT, "trap=2", "ignore=15", "print=ready", "pause")
        job.read_lines(4)
        job.send(signal.SIGINT)
        self.assertEqual(job.read_lines(4), ["got 2\n"] * 4)
        job.send(signal.SIGINT)
        self.assertEqual(job.finish()[0], 130)

    def test_a_stopped_job_stops_on_all_nodes_and_resumes(self):
        job = self.start("-n", "4", "--nodes", "2", ACT, "end-on=10", "print=ready", "pause")
        job.read_lines(4)
        job.send(signal.SIGTSTP)
        self.assertTrue(os.WIFSTOPPED(os.waitpid(job.process.pid, os.WUNTRACED)[1]))
        ranks = [pid for pid, name in marked_processes(job.mark).items() if name == "act"]
        for pid in ranks:
            while state_of(pid) != "T":
                pass
        job.send(signal.SIGCONT)
        job.send(signal.SIGUSR1)
        self.assertEqual(job.finish()[0], 0)


class Start(ToolTest):
    def test_a_job_of_nodes_inside_a_job_is_a_job_of_its_own(self):
        result = acprun("--nodes", "2", ACPRUN, "--nodes", "2", "sh", "-c", WHERE)
        self.assertEqual(sorted(result.stdout.splitlines()), sorted(
            [b"0 of 2, node 0 of 2, slot 0", b"1 of 2, node 1 of 2, slot 0"] * 2), result.stderr)


if __name__ == "__main__":
    main()
