#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""acpsim calibrate from outside: it finds the rates behind times that acpsim plan predicts, writes a network that acpsim plan reads, and says
what it refuses.

Usage: calibrate_test.py PATH_OF_ACPSIM
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ACPSIM = pathlib.Path()
TRUTH = "preset tofu 6 8\nengine_rate 3000\nstart_us 20\n"
GUESS = "preset tofu 6 8\n"
EXCHANGES = [(scheduler, f"paper {name} {k}") for scheduler in ("RR1", "RR2", "RR4", "BL4") for name in ("EW", "NS", "4", "8")
             for k in (60, 872)]


class Calibrate(unittest.TestCase):
    def setUp(self):
        owner = tempfile.TemporaryDirectory(prefix="calibrate_test.")
        self.addCleanup(owner.cleanup)
        self.folder = pathlib.Path(owner.name)

    def file(self, name: str, text: str) -> pathlib.Path:
        (self.folder / name).write_text(text)
        return self.folder / name

    def acpsim(self, *arguments) -> subprocess.CompletedProcess:
        return subprocess.run([ACPSIM, *arguments], capture_output=True, text=True, check=False)

    def time_of(self, scheduler: str, pattern: str, network: pathlib.Path) -> str:
        done = self.acpsim("plan", self.file("pattern", pattern + "\n"), network, "--scheduler", scheduler)
        self.assertEqual(done.returncode, 0, done.stderr)
        return re.search(rf"^{scheduler} +([0-9.]+) us", done.stdout, re.M).group(1)

    def test_finds_the_rates_behind_the_times(self):
        truth = self.file("truth", TRUTH)
        timings = "".join(f"exchange {scheduler}\n{pattern}\ntook {self.time_of(scheduler, pattern, truth)}\n"
                          for scheduler, pattern in EXCHANGES)
        fitted = self.folder / "fitted"
        done = self.acpsim("calibrate", self.file("timings", timings), self.file("guess", GUESS), "--output", fitted)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("line 1, RR1", done.stdout)
        found = dict(re.findall(r"^(\w+) ([0-9.e+]+)$", fitted.read_text(), re.M))
        self.assertAlmostEqual(float(found["engine_rate"]), 3000, delta=15)
        self.assertAlmostEqual(float(found["start_us"]), 20, delta=0.2)
        for scheduler, pattern in EXCHANGES[-3:]:
            self.assertAlmostEqual(float(self.time_of(scheduler, pattern, fitted)),
                                   float(self.time_of(scheduler, pattern, truth)), delta=0.3)

    def test_a_rate_on_which_no_time_depends_is_left_unchanged_and_named(self):
        done = self.acpsim("calibrate", self.file("timings", "exchange RR1\npaper EW 872\ntook 100\n"), self.file("guess", GUESS))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"links +5067.000 +5067.000 +no time depends on it: unchanged")
        self.assertIn("\ntorus 5067 6 8\n", done.stdout)

    def test_timings_and_networks_that_do_not_fit_are_refused(self):
        for timings, network, complaint in (
                ("exchange standard\n", GUESS, "timings: line 1: exchange RR1|RR2"), ("", GUESS, "timings: nothing was measured"),
                ("exchange RR1\npaper 8 60\ntook 5\n", "preset\n", 'guess: line 1, "preset": the form of ')):
            with self.subTest(timings=timings, network=network):
                done = self.acpsim("calibrate", self.file("timings", timings), self.file("guess", network))
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(complaint, done.stderr)
        done = self.acpsim("calibrate", self.folder / "none", self.folder / "guess")
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    ACPSIM = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
