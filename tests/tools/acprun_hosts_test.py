# SPDX-License-Identifier: BSD-3-Clause
"""A job on several hosts: how hosts and slots are written, and how they are reached. ssh is a stub that runs what it
is given on this machine."""
import os
import pty
import re
import select
import signal
import socket
import subprocess
import tempfile

from support import ACT, BIN, SSH_STUB, WATCHDOG_S, ToolTest, acprun, main, marked_processes, ready, stop

BY_STUB = ("--ssh", SSH_STUB)
WHERE = "echo $ACP_RANK of $ACP_PROCS, node $ACP_NODE of $ACP_NODES"


def nodes_of(*options):
    """"name ranks" of each node, as a dry run prints it."""
    result = acprun(*options, *BY_STUB, "--dry-run", ACT)
    if result.returncode != 0:
        return result.stderr.decode()
    lines = result.stdout.decode().splitlines()
    if not lines[0].endswith("hosts:"):
        return [lines[0]]
    told = [line.split(",")[0].split() for line in lines[1:lines.index(f"  program   {ACT}")]]
    return [f"{name} {ranks}" for name, _, ranks in told]


class Slots(ToolTest):
    def test_slots_are_filled_in_order(self):
        self.assertEqual(nodes_of("-n", "5", "--hosts", "a:4,b:4"), ["a 0-3", "b 4"])

    def test_without_a_number_all_slots_are_used(self):
        self.assertEqual(nodes_of("--hosts", "a:2,b,c:3"), ["a 0-1", "b 2", "c 3-5"])

    def test_the_host_comes_after_the_end_of_the_options_of_ssh(self):
        with tempfile.TemporaryDirectory() as folder:
            ssh = os.path.join(folder, "ssh")
            with open(ssh, "w") as file:
                file.write("#!/bin/sh\nwhile [ $# -gt 3 ]; do shift; done\necho \"words: $1 $2\" >&2\nexit 255\n")
            os.chmod(ssh, 0o755)
            self.assert_fails(acprun("--hosts", "a", "--ssh", ssh + " -p 22", ACT), 69, "words: -- a")

    def test_hosts_that_get_no_rank_are_left_out(self):
        self.assertEqual(nodes_of("-n", "2", "--hosts", "a:1,b:1,c:1"), ["a 0", "b 1"])

    def test_a_host_that_is_named_again_has_more_slots(self):
        self.assertEqual(nodes_of("--hosts", "a,b,a:2"), ["a 0-2", "b 3"])

    def test_users_and_addresses_are_hosts(self):
        self.assertEqual(nodes_of("--hosts", "me@a:2,[fd00::1]:2,10.0.0.7"), ["me@a 0-1", "fd00::1 2-3", "10.0.0.7 4"])

    def test_more_ranks_than_slots_are_refused(self):
        self.assert_fails(acprun("-n", "4", "--hosts", "a:2,b", *BY_STUB, ACT), 64,
                          "4 ranks, but 2 hosts have 3 slots", "--oversubscribe")

    def test_oversubscribed_hosts_take_turns_by_their_slots(self):
        self.assertEqual(nodes_of("-n", "8", "--oversubscribe", "--hosts", "a:2,b:1"), ["a 0-5", "b 6-7"])

    def test_a_name_longer_than_dns_allows_is_refused_with_its_length(self):
        longest = "a" * 253
        self.assertEqual(nodes_of("--hosts", f"me@{longest},b"), [f"me@{longest} 0", "b 1"])
        message = "the name of a host has 254 characters, and at most 253 are allowed"
        self.assert_fails(acprun("--hosts", f"b,me@{longest}a", *BY_STUB, ACT), 64, "--hosts: " + message)
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(f"b\n{longest}a slots=2\n")
            file.flush()
            self.assert_fails(acprun("--hostfile", file.name, *BY_STUB, ACT), 64, f"{file.name}:2: {message}")

    def test_lists_that_do_not_parse_point_at_the_place(self):
        for words, problem, column in (
                ("[-Fx.conf]", "begins with", 1), ("a,[b[c]", "stand around", 2),
                ("a:2,b:x", "slots are a number", 6), ("a:2,b:0", "slots are a number", 6), ("a,,b", "a host is missing", 2),
                ("a,-oProxyCommand=x,b", "begins with", 2), ("a b", "name of a host", 1), ("a:1025", "slots are a number", 2),
                ("a,[fd00::1", r"\"\[\" without", 2), ("a:1000,a:1000", "at most 1024 slots", 7), (":3", "host is missing", 0)):
            result = acprun("--hosts", words, *BY_STUB, ACT)
            self.assert_fails(result, 64, f"--hosts: .*{problem}")
            lines = result.stderr.decode().splitlines()
            self.assertEqual(lines[1:3], ["    " + words, "    " + " " * column + "^"], words)


class HostFiles(ToolTest):
    def nodes_of_file(self, text, *options):
        with tempfile.NamedTemporaryFile("w", suffix=".hosts") as file:
            file.write(text)
            file.flush()
            return nodes_of("--hostfile", file.name, *options)

    def test_slots_comments_and_blank_lines(self):
        text = "# the rack\n\n  a slots=2   # the fast one\nb:3\n\tc\t\r\n"
        self.assertEqual(self.nodes_of_file(text), ["a 0-1", "b 2-4", "c 5"])
        self.assertEqual(self.nodes_of_file("a slots=2\nb slots=2", "-n", "3"), ["a 0-1", "b 2"])

    def test_old_names_of_the_option_still_work(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("a\nb\n")
            file.flush()
            for option in ("-machinefile", "-nodefile", "--hostfile"):
                self.assertEqual(nodes_of(option, file.name), ["a 0", "b 1"])

    def test_mistakes_are_reported_with_line_and_place(self):
        for text, line, problem, column in (
                ("a\nb slots=x\n", 2, "slots are a number from 1 to 1024, not \"x\"", 8),
                ("a\n\n# no\nc 4\n", 4, "after a host comes slots=N, not \"4\"", 2),
                ("a\n\tb;rm slots=2\n", 2, "\";\" in the name of a host", 2), ("a slots=2 max=4\n", 1, "slots=N", 10)):
            with tempfile.NamedTemporaryFile("w") as file:
                file.write(text)
                file.flush()
                result = acprun("--hostfile", file.name, *BY_STUB, ACT)
                lines = result.stderr.decode().splitlines()
                self.assertEqual(result.returncode, 64)
                self.assertEqual(lines[0].split(": ", 1)[1].split(": ")[0], f"{file.name}:{line}")
                self.assertIn(problem, lines[0])
                source = text.splitlines()[line - 1]
                self.assertEqual(lines[1], "    " + source)
                self.assertEqual(len(lines[2]) - 1, 4 + column, lines[2])

    def test_a_file_without_hosts_or_without_itself_is_refused(self):
        self.assertIn("no host in this file", self.nodes_of_file("# nobody\n"))
        self.assert_fails(acprun("--hostfile", "/no/such/file", *BY_STUB, ACT), 64,
                          "--hostfile: cannot read /no/such/file: No such file or directory")
        self.assert_fails(acprun("--hostfile", "/tmp", *BY_STUB, ACT), 64, "cannot read /tmp: Is a directory")


class Reaching(ToolTest):
    def test_ranks_run_on_the_hosts_in_the_same_directory(self):
        with tempfile.TemporaryDirectory() as folder:
            result = acprun("--hosts", "a:2,b:1", *BY_STUB, "sh", "-c", WHERE + " in $(pwd)", cwd=folder)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual(sorted(result.stdout.decode().splitlines()),
                         [f"{rank} of 3, node {node} of 2 in {folder}" for rank, node in ((0, 0), (1, 0), (2, 1))])

    def test_one_host_is_a_job_of_one_node(self):
        result = acprun("--hosts", "a:2", *BY_STUB, "sh", "-c", WHERE)
        self.assertEqual(sorted(result.stdout.splitlines()), [b"0 of 2, node 0 of 1", b"1 of 2, node 0 of 1"])

    def test_this_machine_needs_no_ssh(self):
        for name in ("localhost", socket.gethostname()):
            result = acprun("--hosts", f"{name}:1,b:1", *BY_STUB, ACT, "variable=HOME", env={"HOME": "/mine"})
            self.assertEqual(sorted(result.stdout.splitlines()), [b"/", b"/mine"], result.stderr)

    def test_the_command_may_come_from_the_environment(self):
        result = acprun("--hosts", "a,b", ACT, "variable=ACP_SSH", env={"ACP_SSH": SSH_STUB})
        self.assertEqual((result.stdout, result.stderr), (b"not set\n" * 2, b""))

    def test_variables_for_acp_and_wanted_ones_come_along(self):
        result = acprun("--hosts", "a,b", *BY_STUB, "-x", "COLOUR", ACT, "variable=COLOUR", "variable=ACP_REPORT",
                        "variable=SHAPE", env={"COLOUR": "red", "SHAPE": "round", "ACP_REPORT": "0"})
        self.assertEqual(sorted(result.stdout.splitlines()), sorted([b"red", b"0", b"not set"] * 2))

    def test_the_output_of_a_login_shell_is_ignored(self):
        result = acprun("--hosts", "noisy1,noisy2", *BY_STUB, ACT, "print=x")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"x\n" * 2, b""))

    def test_arguments_and_bytes_pass_unchanged(self):
        words = ["", " ", "a\nb", "ä\x01", "'\"$x`", "\\"]
        result = acprun("--hosts", "a", *BY_STUB, "printf", "<%s>", *words)
        self.assertEqual(result.stdout.decode(), "".join(f"<{word}>" for word in words))

    def test_input_goes_to_rank_0_over_ssh(self):
        text = b"".join(b"%d\n" % i for i in range(100_000))
        result = acprun("--hosts", "a,b", *BY_STUB, "sh", "-c", "cat", input=text)
        self.assertEqual(result.stdout, text)
        with open("/etc/passwd", "rb") as file:
            content = file.read()
        with open("/etc/passwd", "rb") as file:
            job = self.start("--hosts", "a,b", *BY_STUB, "cat", stdin=file)
            self.assertEqual(job.finish()[1].encode(), content)

    def test_the_writer_of_the_input_gets_epipe_once_rank_0_has_closed_it(self):
        job = self.start("--hosts", "a,b", *BY_STUB, ACT, "read", "close=0", "print=closed", "pause",
                         stdin=subprocess.PIPE)
        job.process.stdin.write(b"line\n")
        job.process.stdin.flush()
        self.assertEqual(job.read_lines(4), ["closed\n"] * 2 + ["end of input\n", "line\n"])
        with self.assertRaises(BrokenPipeError):
            for _ in range(1000):
                job.process.stdin.write(b"x" * 65536)
                job.process.stdin.flush()

    def test_output_of_any_size_arrives_whole(self):
        result = acprun("--hosts", "a:2,b:2", *BY_STUB, ACT, "lines=2000")
        self.assertEqual(len(result.stdout.splitlines()), 8000)
        for line in result.stdout.decode().splitlines():
            self.assertRegex(line, r"\Arank \d line \d+ x* end\Z")

    def test_a_reader_that_leaves_ends_the_job(self):
        job = self.start("--hosts", "a,b", *BY_STUB, ACT, "bytes=100000000")
        os.read(job.process.stdout.fileno(), 1)
        job.process.stdout.close()
        self.assertEqual(job.process.wait(), 141)
        job.wait_until_gone()

    def test_signals_and_codes_pass(self):
        job = self.start("--hosts", "a:2,b:2", *BY_STUB, ACT, "end-on=10", "print=ready", "pause")
        self.assertEqual(job.read_lines(4), ready(4))
        job.send(signal.SIGUSR1)
        self.assertEqual(job.finish(), (0, "got 10\n" * 4, ""))
        self.assert_fails(acprun("--hosts", "a:2,b:2", *BY_STUB, ACT, "2:exit=7", "pause"), 7,
                          r"rank 2 \(process \d+ on b\) exited with code 7; the other 3 ranks were ended")

    def test_the_output_directory_is_made_where_the_rank_is(self):
        with tempfile.TemporaryDirectory() as folder:
            acprun("--hosts", "a,b", *BY_STUB, "--output", "deep/out", "sh", "-c", "echo $ACP_RANK", cwd=folder)
            for rank in range(2):
                with open(os.path.join(folder, f"deep/out/rank.{rank}.out")) as file:
                    self.assertEqual(file.read(), f"{rank}\n")

    def test_the_network_is_chosen_by_the_user(self):
        self.assertEqual(acprun("--hosts", "a,b", *BY_STUB, "--net", "lo", ACT, "print=x").stdout, b"x\n" * 2)
        self.assert_fails(acprun("--hosts", "a,b", *BY_STUB, "--net", "203.0.113.0/24", ACT), 69,
                          r"acprun: [ab]: no address of this machine fits --net 203.0.113.0/24; there are lo 127.0.0.1")
        self.assert_fails(acprun("--hosts", "a,b", *BY_STUB, "--net", "10.0.0.0/33", ACT), 64, "--net", "10.0.0.0/33")


class Failing(ToolTest):
    def test_a_host_that_refuses_is_named_with_what_ssh_said(self):
        job = self.start("--hosts", "a,refuses,c", *BY_STUB, ACT, "pause")
        code, _, error = job.finish()
        self.assertEqual(code, 69)
        self.assertRegex(error, r"\Aacprun: refuses: ssh_stub.sh exited with code 255 before acp-agent answered; it said: "
                                r"refuses: Permission denied \(publickey\)\.\n\Z")
        job.wait_until_gone()

    def test_a_host_that_does_not_answer_is_named_after_its_time(self):
        job = self.start("--ssh-timeout", "0.2", "--hosts", "a,silent,c", *BY_STUB, ACT, "pause")
        code, _, error = job.finish()
        self.assertEqual(code, 69)
        self.assertEqual(error, "acprun: silent: did not answer within 0.2 s; it said: Trying to reach silent\n")
        job.wait_until_gone()

    def test_a_host_without_acp_is_named(self):
        self.assert_fails(acprun("--hosts", "a,lacks", *BY_STUB, ACT, "pause"), 69,
                          "acprun: lacks: .* exited with code 127 .*/no/such/acp-agent")
        self.assert_fails(acprun("--hosts", "a,b", *BY_STUB, "--agent-path", "/not/here", ACT), 69, "/not/here")

    def test_the_agent_may_lie_elsewhere(self):
        with tempfile.TemporaryDirectory(prefix="it's ") as folder:
            os.symlink(os.path.join(BIN, "acp-agent"), os.path.join(folder, "agent"))
            result = acprun("--hosts", "a,b", *BY_STUB, "--agent-path", os.path.join(folder, "agent"), ACT, "print=x")
            self.assertEqual(result.stdout, b"x\n" * 2, result.stderr)

    def test_a_directory_that_is_missing_there_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            gone = os.path.join(folder, "gone")
            os.mkdir(gone)
            job = self.start("--hosts", "gated,b", *BY_STUB, ACT, cwd=gone, env=self.gate(folder))
            self.assertEqual(self.started.readline(), "gated\n")
            os.rmdir(gone)
            self.open_gate()
            code, _, error = job.finish()
        self.assertEqual(code, 69)
        self.assertRegex(error, rf"\Aacprun: (gated|b): cannot enter {gone}: No such file or directory\n\Z")

    def test_a_missing_ssh_is_reported_before_any_process_starts(self):
        self.assert_fails(acprun("--hosts", "a,b", "--ssh", "no-such-ssh -p 22", ACT), 69, "--ssh: .*no-such-ssh")

    def test_an_interrupt_while_hosts_are_reached_ends_at_once(self):
        with tempfile.TemporaryDirectory() as folder:
            job = self.start("--hosts", "gated1,gated2", *BY_STUB, ACT, env=self.gate(folder))
            self.started.readline()
            job.send(signal.SIGINT)
            self.assertEqual(job.finish()[0], 130)
            job.wait_until_gone()

    def test_a_timeout_holds_while_hosts_are_reached(self):
        for hosts in ("a,silent", "silent1,silent2"):
            self.assert_fails(acprun("--timeout", "0.2", "--hosts", hosts, *BY_STUB, ACT, "pause"), 124,
                              "no rank was still running")

    def test_each_host_without_a_fitting_address_is_named(self):
        job = self.start("--net", "127.0.0.0/8", "--hosts", "a,b,moved", *BY_STUB, ACT, "print=here",
                         env={"STUB_INTERFACES": "eth9 10.9.9.9/8 c"})
        self.assert_ends_for(job, r"\Aacprun: moved: no address of this machine fits --net 127.0.0.0/8; there are eth9 10.9.9.9\n\Z")

    def test_an_agent_that_sends_what_is_no_interface_ends_the_start(self):
        job = self.start("--hosts", "a,moved", *BY_STUB, ACT, "print=here", env={"STUB_INTERFACES": "eth9"})
        self.assert_ends_for(job, r'\Aacprun: moved: "eth9" is no part of an interface\n\Z')

    def start_with_one_host_ready(self, folder, *options):
        """A job whose host "heard" waits to be told where to listen, until the gate is open for "gated"; and that host's agent."""
        heard = os.path.join(folder, "heard")
        os.mkfifo(heard)
        end = os.open(heard, os.O_RDWR)
        self.addCleanup(os.close, end)
        job = self.start(*options, "--hosts", "heard,gated", *BY_STUB, ACT, "print=here",
                         env={**self.gate(folder), "STUB_HEARD": heard})
        told = self.read_until(end, r"(?s)process \d+\n.*interfaces [^\n]*\n")
        return job, int(re.search(r"process (\d+)\n", told).group(1))

    def assert_ends_for(self, job, *reasons):
        code, out, error = job.finish()
        self.assertEqual((code, out), (69, ""), error)
        for reason in reasons:
            self.assertRegex(error, reason)
        job.wait_until_gone()

    def test_an_agent_that_dies_while_other_hosts_are_reached_ends_the_start(self):
        with tempfile.TemporaryDirectory() as folder:
            job, agent = self.start_with_one_host_ready(folder)
            os.kill(agent, signal.SIGKILL)
            # The gate stays closed.
            self.assert_ends_for(job, rf"acprun: the agent of heard \(process {agent}\) .*before the job was over")

    def test_an_agent_that_dies_before_it_gets_its_addresses_ends_the_start(self):
        with tempfile.TemporaryDirectory() as folder:
            job, agent = self.start_with_one_host_ready(folder)
            stop(agent)
            self.open_gate()
            self.read_until(job.process.stderr.fileno(), r"1 of 2 nodes are ready")
            os.kill(agent, signal.SIGKILL)
            self.assert_ends_for(job, rf"acprun: the agent of heard \(process {agent}\) .*before the job was over")

    def test_an_agent_stopped_before_it_gets_its_addresses_ends_the_start_in_time(self):
        with tempfile.TemporaryDirectory() as folder:
            job, agent = self.start_with_one_host_ready(folder, "--ssh-timeout", "10")
            stop(agent)
            self.open_gate()
            self.assert_ends_for(job, rf"acprun: heard: the agent \(process {agent}\) has not said within 10 s where its gateway listens",
                                 "look there, or give it longer")

    def test_not_more_than_32_hosts_are_reached_at_once(self):
        hosts = [f"gated{i}" for i in range(34)]
        with tempfile.TemporaryDirectory() as folder:
            job = self.start("--hosts", ",".join(hosts), *BY_STUB, ACT, "print=x", env=self.gate(folder))
            begun = [self.started.readline().strip() for _ in range(32)]
            self.assertEqual(sorted(begun), sorted(hosts[:32]))
            stubs = [pid for pid, name in marked_processes(job.mark).items() if name == "ssh_stub.sh"]
            self.assertEqual(len(stubs), 32)
            self.open_gate()
            self.assertEqual({self.started.readline().strip() for _ in range(2)}, set(hosts[32:]))
            self.open_gate()
            code, out, error = job.finish()
            self.assertEqual((code, out), (0, "x\n" * 34), error)

    def read_until(self, descriptor, pattern):
        """Reads acprun's output until the pattern appears, and returns all of it."""
        told = ""
        while not re.search(pattern, told):
            self.assertTrue(select.select([descriptor], [], [], WATCHDOG_S)[0], f"never told {pattern}: {told!r}")
            told += os.read(descriptor, 65536).decode(errors="replace")
        return told

    def test_a_terminal_shows_the_progress_of_the_start_and_removes_the_line(self):
        near, far = pty.openpty()
        self.addCleanup(os.close, near)
        with tempfile.TemporaryDirectory() as folder:
            job = self.start("--hosts", "gated,b", *BY_STUB, ACT, "print=here", stderr=far, env=self.gate(folder))
            os.close(far)
            self.read_until(near, r"\r\x1b\[Kacprun: starting: 1 of 2 nodes are ready")
            self.open_gate()
            self.assertEqual(job.finish()[:2], (0, "here\n" * 2))
            rest = self.read_until(near, r"\r\x1b\[K\Z")
            self.assertNotIn("\n", rest)

    def test_in_a_pipe_a_long_start_is_reported_once_and_then_the_missing_hosts(self):
        with tempfile.TemporaryDirectory() as folder:
            job = self.start("--hosts", "gated,b", *BY_STUB, ACT, "print=here",
                             env={**self.gate(folder), "ACP_HANG_TIMEOUT": "12"})
            told = self.read_until(job.process.stderr.fileno(), r"no answer yet.*\n")
            self.open_gate()
            code, out, rest = job.finish()
            self.assertEqual((code, out, rest), (0, "here\n" * 2, ""))
            self.assertRegex(told, r"\Aacprun: the job is being started: 1 of 2 nodes are ready after \d+ s\n"
                                   r"acprun: the start has taken \d+(\.\d)? s: 1 of 2 nodes are ready; no answer yet from gated\n\Z")

    def gate(self, folder):
        """Hosts named gated... report that acprun starts them, and wait until the gate is open."""
        names = [os.path.join(folder, name) for name in ("started", "gate")]
        for name in names:
            os.mkfifo(name)
        self.started = open(os.open(names[0], os.O_RDWR))
        self.gate_end = os.open(names[1], os.O_RDWR)
        self.addCleanup(self.started.close)
        self.addCleanup(os.close, self.gate_end)
        return {"STUB_STARTED": names[0], "STUB_GATE": names[1]}

    def open_gate(self):
        os.write(self.gate_end, b"open\n" * 64)


if __name__ == "__main__":
    main()
