#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The program of figure 2 of paper 004, and one that calls functions, end with the exit codes of their steps."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BIN, PRELOADED = pathlib.Path(sys.argv[1]), sys.argv[2]
SUMMED = "the device process summed 1000 numbers to 499500, and doubled them to 999000\n"


def run(*words: str, **variables: str) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in words], env={**os.environ, **variables}, capture_output=True, text=True,
                          timeout=300, check=False)


class Figure(unittest.TestCase):
    def expect(self, job: subprocess.CompletedProcess, code: int, *said: str) -> None:
        self.assertEqual((job.returncode, job.stdout), (code, ""), job.stderr)
        for part in said:
            self.assertIn(part, job.stderr)

    # The system refuses the thread of the context in the device process.
    def refusing(self) -> str:
        script = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "worker.sh"
        script.write_text(f'#!/bin/sh\nLD_PRELOAD={PRELOADED} exec {BIN}/acp-worker "$@"\n')
        script.chmod(0o700)
        return str(script)

    def test_copies_and_ends_with_0(self):
        self.expect(run(BIN / "veo_figure2"), 0)
        for nodes in ("1", "2"):
            self.expect(run(BIN / "acprun", "-n", "2", "--nodes", nodes, BIN / "veo_figure2"), 0)

    def test_ends_with_1_without_a_process(self):
        self.expect(run(BIN / "veo_figure2", VEORUN_BIN="/no/such/program"), 1, "veo_proc_create: ")
        self.expect(run(BIN / "veo_figure2", ACP_HEAP_SIZE="many"), 1, "veo_proc_create: ")

    def test_ends_with_2_without_a_context(self):
        self.expect(run(BIN / "veo_figure2", VEORUN_BIN=self.refusing()), 2,
                    "veo_context_open: Resource temporarily unavailable")

    def test_ends_with_5_without_memory(self):
        self.expect(run(BIN / "veo_figure2", ACP_HEAP_SIZE="0"), 5)


class Hello(Figure):
    def test_copies_and_ends_with_0(self):
        for launcher in ((), (BIN / "acprun", "-n", "1")):
            job = run(*launcher, BIN / "veo_hello")
            self.assertEqual((job.returncode, job.stdout), (0, SUMMED), job.stderr)

    def test_ends_with_1_without_a_process(self):
        self.expect(run(BIN / "veo_hello", VEORUN_BIN="/no/such/program"), 1, "veo_proc_create: ", "/no/such/program")

    def test_ends_with_2_without_a_context(self):
        self.expect(run(BIN / "veo_hello", VEORUN_BIN=self.refusing()), 2, "veo_context_open: ", "cannot start a thread")

    def test_ends_with_3_without_its_library(self):
        self.expect(run(BIN / "veo_hello", "/no/such.so"), 3, "veo_load_library: ", "/no/such.so")

    def test_ends_with_4_without_its_function(self):
        self.expect(run(BIN / "veo_hello", BIN / "veo_hello_device.so", "no_such"), 4, "veo_get_sym: ", '"no_such"')

    def test_ends_with_5_without_memory(self):
        self.expect(run(BIN / "veo_hello", ACP_HEAP_SIZE="0"), 5, "veo_alloc_mem: ")

    def test_ends_with_5_when_a_function_faults(self):
        self.expect(run(BIN / "veo_hello", "libc.so.6", "abort"), 5, "veo_call_wait_result: ", "signal 6")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
