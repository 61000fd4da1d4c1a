#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `make run` shows, by cmake/run.sh over programs made up here: a line for each step, few lines in all, where the
results lie; of a step that fails its name and the end of what it printed; on a terminal one line in place.

Usage: run_script_test.py PATH_OF_RUN_SH
"""
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path()
WATCHDOG_S = 120  # far above the time of a run: a longer one hangs
LINES_MAX = 40
STEPS = 9

PROGRAMS = {
    "dpkg": 'echo "$READS"',
    # Starts the program named in its arguments once, as rank 0 of a job would run.
    "acprun": 'while [ ! -x "$1" ]; do shift; done; exec "$@"',
    "acp-agent": "exit 0",
    "kmer_count": 'echo "4 reads, 9 bases, 7 21-mers, 7 distinct: 0.1 s" >&2; echo "1 7" > "$2"',
    "acpbench": 'if [ "$1" = report ]; then echo "HOW FAST"; exit; fi\n'
                'for i in $(seq 100); do echo "measured $1 $i"; done >&2\n'
                'if [ "$1" = "$HANGS" ]; then echo $$ > "$READS.pid"; exec tail -f /dev/null; fi\n'
                'if [ "$1" = "$FAILS" ]; then exit 3; fi',
}


class Run(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        for name, text in PROGRAMS.items():
            program = self.bin / name
            program.write_text(f"#!/bin/bash\n{text}\n")
            program.chmod(0o755)
        reads = self.folder / "reads" / "some.fq.gz"
        reads.parent.mkdir()
        reads.write_text("reads")
        self.environment = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}", "READS": str(reads),
                            "FAILS": "", "HANGS": ""}
        self.command = [str(SCRIPT), str(self.bin), str(self.folder / "report")]

    def run_it(self, **more):
        return subprocess.run(self.command, env={**self.environment, **more}, text=True, capture_output=True,
                              timeout=WATCHDOG_S, check=False)

    def test_a_run_is_a_line_for_each_step_and_few_lines_in_all(self):
        finished = self.run_it()
        self.assertEqual(finished.returncode, 0, finished.stderr)
        lines = finished.stdout.splitlines()
        self.assertLessEqual(len(lines) + len(finished.stderr.splitlines()), LINES_MAX)
        for step in range(1, STEPS + 1):
            self.assertRegex(lines[step - 1], rf"^run {step}/{STEPS}: .* \d+ s$")

    def test_the_summary_has_the_counts_the_rate_and_the_folder_of_the_results(self):
        shown = self.run_it().stdout
        self.assertEqual(shown.count("7 21-mers, 7 distinct"), 2)
        self.assertIn("HOW FAST", shown)
        for name in ("spectrum-1-node.txt", "spectrum-2-nodes.txt", "run.log"):
            path = self.folder / "report" / name
            self.assertIn(str(path), shown)
            self.assertTrue(path.exists())
        self.assertNotIn("measured", shown)
        self.assertIn("measured sync 100", (self.folder / "report" / "run.log").read_text())

    def test_a_failing_step_is_named_with_the_end_of_its_output(self):
        finished = self.run_it(FAILS="sync")
        self.assertEqual(finished.returncode, 1)
        self.assertRegex(finished.stderr, rf"step 4 of {STEPS} \(barriers and atomics\) failed with exit code 3")
        self.assertIn("measured sync 100", finished.stderr)
        self.assertNotIn("measured sync 80\n", finished.stderr)
        self.assertIn("run.log", finished.stderr)
        self.assertNotIn("run 5/", finished.stdout)

    def test_spectra_that_differ_are_a_failure(self):
        counts = self.bin / "kmer_count"
        counts.write_text(counts.read_text().replace('"1 7"', '"$2"'))
        finished = self.run_it()
        self.assertEqual(finished.returncode, 1)
        self.assertIn("differ", finished.stderr)

    def test_on_a_terminal_progress_stays_in_one_line(self):
        ours, theirs = pty.openpty()
        with subprocess.Popen(self.command, env={**self.environment, "TERM": "xterm"}, stdin=subprocess.DEVNULL,
                              stdout=theirs, stderr=theirs) as process:
            os.close(theirs)
            shown = b""
            while True:
                try:
                    piece = os.read(ours, 65536)
                except OSError:  # the terminal's other end is closed
                    break
                if not piece:
                    break
                shown += piece
        os.close(ours)
        self.assertEqual(process.returncode, 0, shown)
        before = shown.decode().split("ACP runs here")[0]
        self.assertRegex(before, r"\r\[#*\.*\] 3/9 ")
        self.assertLessEqual(before.count("\n"), 2)

    def test_an_interrupted_run_leaves_no_program_behind(self):
        pid_file = pathlib.Path(self.environment["READS"] + ".pid")
        os.mkfifo(pid_file)  # read below: returns when the program has written who it is
        with subprocess.Popen(self.command, env={**self.environment, "HANGS": "net"}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            hanging = int(pid_file.read_text())
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=WATCHDOG_S)
        self.assertEqual(process.returncode, 130, errors)
        self.assertRegex(errors, re.compile(r"interrupted in step 5"))
        state = pathlib.Path(f"/proc/{hanging}/stat")
        self.assertTrue(not state.exists() or state.read_text().split()[2] == "Z")


if __name__ == "__main__":
    SCRIPT = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
