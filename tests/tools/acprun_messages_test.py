# SPDX-License-Identifier: BSD-3-Clause
"""Where acprun's own messages stand among the output of the ranks."""
import os
import pty
import re
import select
import signal
import subprocess
import tempfile

from support import ACPRUN, ACT, WATCHDOG_S, ToolTest, acprun, clean_environment, main

SHAPES = (("-n", "1"), ("-n", "2"), ("-n", "2", "--nodes", "2"), ("-n", "2", "--tag"))


def merged(*arguments):
    """The output of a job whose stdout and stderr are one file."""
    return subprocess.run([ACPRUN, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=WATCHDOG_S, env=clean_environment()).stdout.decode()


class UnfinishedLines(ToolTest):
    def read_until(self, descriptor, wanted, seen=b""):
        """What was read, with what has been seen before, until a pattern is found in it."""
        while not re.search(wanted, seen, re.DOTALL):
            self.assertTrue(select.select([descriptor], [], [], WATCHDOG_S)[0], seen)
            seen += os.read(descriptor, 4096)
        return seen

    def test_a_message_begins_on_a_line_of_its_own(self):
        for shape in SHAPES:
            for verb in ("part", "errorpart"):
                lines = merged(*shape, ACT, f"0:{verb}=abc", "0:exit=3", "pause").splitlines()
                self.assertEqual(lines[0], "[0] abc" if "--tag" in shape else "abc", (shape, lines))
                self.assertRegex(lines[1], "^acprun: rank 0 .* exited with code 3", (shape, lines))

    def test_each_stream_gets_a_newline_only_for_its_own_line(self):
        for shape in SHAPES[:3]:
            result = acprun(*shape, ACT, "0:part=abc", "0:exit=3", "pause")
            self.assertEqual(result.stdout, b"abc", shape)
            self.assertTrue(result.stderr.startswith(b"acprun: rank 0 "), (shape, result.stderr))
            result = acprun(*shape, ACT, "0:part=abc", "0:errorpart=def", "0:exit=3", "pause")
            self.assertEqual(result.stdout, b"abc", shape)
            self.assertTrue(result.stderr.startswith(b"def\nacprun: rank 0 "), (shape, result.stderr))

    def test_a_finished_line_is_followed_by_no_empty_one(self):
        for shape in SHAPES:
            lines = merged(*shape, ACT, "0:part=abc", "0:print=", "0:exit=3", "pause").splitlines()
            self.assertRegex(lines[1], "^acprun: rank 0 ", (shape, lines))

    def test_a_line_that_a_message_has_ended_is_not_ended_again(self):
        """Rank 0 leaves half a line, acprun reports its failure, and rank 1 of the same node writes a line."""
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(folder + "/go")
            program = f"case $ACP_RANK in 0) printf abc; exit 3;; 1) read word <{folder}/go; echo next;; esac"
            job = self.start("-n", "4", "--nodes", "2", "--on-failure=continue", "sh", "-c", program, stderr=subprocess.STDOUT)
            stdout = job.process.stdout.fileno()
            seen = self.read_until(stdout, b"acprun: rank 0 .*\n")
            with open(folder + "/go", "w", encoding="utf-8") as go:
                go.write("word\n")
            seen = self.read_until(stdout, b"next\n", seen)
            self.assertRegex(seen, b"^abc\nacprun: rank 0 .*\nnext\n")

    def test_a_message_to_a_running_job_ends_the_line_each_time(self):
        """On a terminal: an unfinished line, two reports of what the rank does, another unfinished line, another report."""
        near, far = pty.openpty()
        self.addCleanup(os.close, near)
        job = self.start("-n", "1", "sh", "-c", "sleep 1000 & trap 'printf def' HUP; printf abc; while :; do wait; done",
                         stdout=far, stderr=far)
        os.close(far)
        seen = self.read_until(near, b"abc")
        for number, wanted in ((signal.SIGUSR2, b"abc\r\nacprun: .*\r\n"),
                               (signal.SIGUSR2, b"acprun: .*\r\nacprun: .*\r\n"), (signal.SIGHUP, b"def"),
                               (signal.SIGUSR2, b"def\r\nacprun: ")):
            job.send(number)
            seen = self.read_until(near, wanted, seen)
        self.assertNotIn(b"\r\n\r\n", seen)


class WholeLines(ToolTest):
    def test_reports_of_one_node_cut_no_line_of_another(self):
        """Ranks of node 0 fail one after the other while a rank of node 1 writes long lines without a pause."""
        ranks, count, length = 20, 300, 60_000
        verbs = []
        for rank in range(ranks):
            verbs += [f"{rank}:lines={100 * rank}", f"{rank}:exit=3"]
        verbs += [f"{ranks}:bytes={length}", f"{ranks}:print="] * count
        lines = merged("-n", str(2 * ranks), "--nodes", "2", "--on-failure=continue", ACT, *verbs).splitlines()
        kinds = [line for line in lines if not re.fullmatch(r"rank \d+ line \d+ x* end|acprun: .*", line)]
        self.assertEqual({len(line) for line in kinds}, {length}, [line[:100] for line in kinds if len(line) != length])
        self.assertEqual(len(kinds), count)


class Order(ToolTest):
    def test_a_report_follows_the_output_of_its_rank(self):
        """While the job goes on: in repeated runs, since the report and the output come by different ways."""
        for shape in (("-n", "2"), ("-n", "2", "--nodes", "2"), ("-n", "2", "--nodes", "2", "--tag")):
            for last in ("0:error=error", "0:errorpart=error"):
                verbs = ["0:error=error"] * 299 + [last, "0:signal=9", "print="]
                for _ in range(10):
                    lines = merged(*shape, "--on-failure=continue", ACT, *verbs).splitlines()
                    words = [line.split()[-1] for line in lines if line.endswith("error") or line.startswith("acprun: rank")]
                    self.assertEqual(words[:300], ["error"] * 300, shape)
                    self.assertEqual(len(words), 301, (shape, words[300:]))


if __name__ == "__main__":
    main()
