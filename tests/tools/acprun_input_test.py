# SPDX-License-Identifier: BSD-3-Clause
"""Where the input of acprun goes: to rank 0, and only as far as that reads."""
import os
import pty
import select
import subprocess
import sys
import termios

from support import ACPRUN, ACT, WATCHDOG_S, ToolTest, acprun, clean_environment, main


class Input(ToolTest):
    def test_input_goes_to_rank_0_alone(self):
        result = acprun("-n", "3", "--tag", ACT, "read", input=b"hello\nmore\n")
        self.assertEqual(sorted(result.stdout.splitlines()), [b"[0] hello", b"[1] end of input", b"[2] end of input"])

    def test_its_end_is_passed_on(self):
        self.assertEqual(acprun("-n", "2", "sh", "-c", "cat", input=b"all of it").stdout, b"all of it")
        self.assertEqual(acprun("-n", "2", ACT, "read").stdout, b"end of input\n" * 2)

    def test_large_input_comes_complete(self):
        data = os.urandom(5_000_000)
        self.assertEqual(acprun("-n", "2", "sh", "-c", "[ $ACP_RANK = 1 ] || cat", input=data).stdout, data)

    def test_input_that_rank_0_does_not_read_stays_for_the_next_reader(self):
        result = subprocess.run(["sh", "-c", f"{ACPRUN} -n 2 {ACT} read; cat"], input=b"first\nsecond\n",
                                capture_output=True, timeout=WATCHDOG_S, env=clean_environment())
        self.assertEqual(sorted(result.stdout.splitlines()), [b"end of input", b"first", b"second"])

    def test_a_job_that_does_not_read_ends_although_its_input_stays_open(self):
        job = self.start("-n", "2", ACT, "print=done", stdin=subprocess.PIPE)
        self.assertEqual(job.process.wait(WATCHDOG_S), 0)

    def test_the_writer_gets_epipe_once_rank_0_has_closed_its_input(self):
        job = self.start("-n", "2", ACT, "close=0", "print=ready", "pause", stdin=subprocess.PIPE)
        job.read_lines(2)
        with self.assertRaises(BrokenPipeError):
            while True:
                os.write(job.process.stdin.fileno(), b"x" * 4096)
        job.process.stdin = None


class Terminal(ToolTest):
    """With a terminal of its own, of whose session acprun is the leader."""

    def open_terminal(self):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        settings = termios.tcgetattr(theirs)
        settings[1] &= ~termios.OPOST  # newlines stay newlines
        settings[3] &= ~termios.ECHO
        termios.tcsetattr(theirs, termios.TCSANOW, settings)
        termios.tcsetwinsize(theirs, (24, 132))
        return ours, theirs

    def owner_of(self, terminal):
        """Makes the terminal the controlling terminal of a new process."""
        def own():
            os.setsid()
            os.close(os.open(os.ttyname(terminal), os.O_RDWR))  # becomes the controlling one
        return own

    def start_on_terminal(self, *arguments):
        ours, theirs = self.open_terminal()
        job = self.start(*arguments, stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=self.owner_of(theirs))
        os.close(theirs)
        return job, ours

    def read_line(self, terminal):
        line = b""
        while not line.endswith(b"\n"):
            self.assertTrue(select.select([terminal], [], [], WATCHDOG_S)[0], line)
            line += os.read(terminal, 1)
        return line

    def test_typed_lines_reach_rank_0(self):
        job, terminal = self.start_on_terminal("-n", "2", ACT, "0:print=name?", "0:read", "0:read")
        self.assertEqual(self.read_line(terminal), b"name?\n")
        os.write(terminal, b"Ada\n")
        self.assertEqual(self.read_line(terminal), b"Ada\n")
        os.write(terminal, b"\x04")  # end of input
        self.assertEqual(self.read_line(terminal), b"end of input\n")
        self.assertEqual(job.process.wait(WATCHDOG_S), 0)

    def test_a_question_of_rank_0_is_seen_before_its_line_ends(self):
        job, terminal = self.start_on_terminal("-n", "2", "--tag", ACT, "0:part=name? ", "0:read")
        seen = b""
        while seen != b"[0] name? ":
            self.assertTrue(select.select([terminal], [], [], WATCHDOG_S)[0], seen)
            seen += os.read(terminal, 1)
        os.write(terminal, b"Ada\n")
        self.assertEqual(self.read_line(terminal), b"Ada\n")
        self.assertEqual(job.process.wait(WATCHDOG_S), 0)

    def test_a_background_job_does_not_read_the_terminal_until_it_is_in_the_foreground(self):
        ours, theirs = self.open_terminal()
        # A shell in small: it starts the job in a group of its own, reads a line itself, then lets it go first.
        shell = "\n".join((
            "import os, subprocess, sys",
            "job = subprocess.Popen(sys.argv[1:], preexec_fn=lambda: os.setpgid(0, 0))",
            "print('shell got', input(), flush=True)",
            "import signal; signal.signal(signal.SIGTTOU, signal.SIG_IGN)",
            "os.tcsetpgrp(0, job.pid)",
            "print('job ended with', job.wait(), flush=True)"))
        process = subprocess.Popen([sys.executable, "-c", shell, ACPRUN, "-n", "2", ACT, "0:print=ready", "0:read"],
                                   stdin=theirs, stdout=theirs, stderr=theirs, env=clean_environment(),
                                   preexec_fn=self.owner_of(theirs))
        os.close(theirs)
        self.addCleanup(process.kill)
        self.assertEqual(self.read_line(ours), b"ready\n")
        os.write(ours, b"one\n")
        self.assertEqual(self.read_line(ours), b"shell got one\n")
        os.write(ours, b"two\n")
        self.assertEqual(self.read_line(ours), b"two\n")
        self.assertEqual(self.read_line(ours), b"job ended with 0\n")
        self.assertEqual(process.wait(WATCHDOG_S), 0)

    def test_the_width_of_the_terminal_is_passed_to_ranks(self):
        _, terminal = self.start_on_terminal("-n", "1", ACT, "variable=ACP_TERMINAL")
        self.assertEqual(self.read_line(terminal), b"132\n")

    def test_an_interrupt_typed_there_reaches_each_rank_once(self):
        job, terminal = self.start_on_terminal("-n", "2", ACT, "trap=2", "end-on=15", "print=ready", "pause", "pause")
        for _ in range(2):
            self.assertEqual(self.read_line(terminal), b"ready\n")
        os.write(terminal, b"\x03")
        for _ in range(2):
            self.assertEqual(self.read_line(terminal), b"got 2\n")
        job.send(15)
        for _ in range(2):
            self.assertEqual(self.read_line(terminal), b"got 15\n")
        self.assertEqual(job.process.wait(WATCHDOG_S), 0)

    def test_hanging_up_ends_the_job(self):
        job, terminal = self.start_on_terminal("-n", "2", ACT, "print=ready", "pause")
        for _ in range(2):
            self.read_line(terminal)
        job.send(1)
        self.assertEqual(job.process.wait(WATCHDOG_S), 129)
        self.assert_nobody_is_left(job)


if __name__ == "__main__":
    main()
