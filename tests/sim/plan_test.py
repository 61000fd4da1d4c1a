#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""acpsim plan from outside: what it says of a known exchange, what it refuses, and that an exact solver of another kind agrees.

The oracle is CP-SAT of OR-tools (PyPI: ortools); its test is skipped, and says so, where python3 does not have it.

Usage: plan_test.py PATH_OF_ACPSIM
"""
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

ACPSIM = pathlib.Path()
HAS_SOLVER = subprocess.run(["python3", "-c", "import ortools"], capture_output=True, check=False).returncode == 0
TOFU = "preset tofu 6 8\n"


class Plan(unittest.TestCase):
    def setUp(self):
        owner = tempfile.TemporaryDirectory(prefix="plan_test.")
        self.addCleanup(owner.cleanup)
        self.folder = pathlib.Path(owner.name)

    def plan(self, pattern: str, network: str = TOFU, *options: str) -> subprocess.CompletedProcess:
        (self.folder / "pattern").write_text(pattern)
        (self.folder / "network").write_text(network)
        return subprocess.run([ACPSIM, "plan", self.folder / "pattern", self.folder / "network", *options],
                              capture_output=True, text=True, check=False)

    def figures(self, done: subprocess.CompletedProcess) -> dict[str, float]:
        """Times in us by name: of all schedulers, of the best bound ("bound"), and "exact" where it was asked for."""
        self.assertEqual(done.returncode, 0, done.stderr)
        times = {name: float(us) for name, us in re.findall(r"^(\S+) +([0-9.]+) +-?[0-9.]+ %", done.stdout, re.M)}
        bounds = re.search(r"^bounds +([0-9.]+) us by loads, ([0-9.]+) by cuts, ([0-9.]+) by configurations$", done.stdout, re.M)
        times["bound"] = max(map(float, bounds.groups()))
        times |= {"exact": float(us) for us in re.findall(r"^exact +([0-9.]+) us .*; proven$", done.stdout, re.M)}
        return times

    def test_the_largest_exchange_of_the_paper(self):
        done = self.plan("paper 8 872\n", TOFU, "--scheduler", "BL4", "--svg", str(self.folder / "plan.svg"))
        times = self.figures(done)
        self.assertEqual(len(times), 14)
        self.assertTrue(done.stdout.startswith("14 messages, 1009152 bytes from each node; 4 engines of 4096 MB/s, 14025 MB/s of a node\n"
                                               "engine 0: E 224256 0.00-"), done.stdout)
        self.assertEqual((times["BL4"], times["bound"]), (106.84, 104.98))
        self.assertLess(times["standard"], 1.01 * times["bound"])
        self.assertEqual((self.folder / "plan.svg").read_text().count("<rect "), 14)

    def test_patterns_and_networks_that_do_not_fit_are_refused(self):
        for pattern, network, complaint in (
                ("send 1 0 x\n", TOFU, "pattern: line 1: send, 2 steps, bytes"), ("", TOFU, "pattern: a pattern has one message"),
                ("send 0 0 8\n", TOFU, "pattern: message 0 goes to its own node"), ("paper 8 60\n", "preset\n", 'network: line 1, "preset": the form of '),
                ("send 1 8\n", "nodes 2\nlink 0 1 5\nlink 1 0 5\n", "network: one node stands for all on a torus alone")):
            with self.subTest(pattern=pattern, network=network):
                done = self.plan(pattern, network)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(complaint, done.stderr)
        done = self.plan("paper 8 60\n", TOFU, "--scheduler", "best")
        self.assertEqual(done.returncode, 2)
        self.assertIn('there is no scheduler "best"; there are RR1 RR2', done.stderr)
        done = subprocess.run([ACPSIM, "plan", self.folder / "none", self.folder / "network"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("none: cannot be read", done.stderr)

    @unittest.skipIf(HAS_SOLVER, "python3 has OR-tools")
    def test_a_missing_exact_solver_is_reported(self):
        done = self.plan("paper 8 60\n", TOFU, "--exact")
        self.assertEqual(done.returncode, 3)
        self.assertIn("pip install ortools", done.stderr)

    @unittest.skipUnless(HAS_SOLVER, "no OR-tools: pip install ortools")
    def test_bounds_and_plans_stand_well_to_an_exact_solver(self):
        """No bound is above what can be carried out. Our plans share links and cut messages, and so are no worse than the best packing of
        whole messages on links of their own, where links are as fast as engines and injection is no limit; and the packer that
        knows routes is never better than that packing there."""
        equal = "preset tofu 6 8\nengine_rate 5067\ninjection_rate 1e6\nreception_rate 1e6\n"
        choose = random.Random(15)
        patterns = [f"paper {name} {k}\n" for name in ("EW", "NS", "4", "DG", "8") for k in (60, 872)]
        for count in (5, 9, 14):
            patterns.append("".join(f"send {choose.choice(('1 0', '-1 0', '0 1', '0 -1', '1 1', '1 -1', '-1 1', '-1 -1'))} "
                                    f"{int(2 ** choose.uniform(10, 18))}\n" for _ in range(count)))
        for pattern in patterns:
            for network in (TOFU, equal):
                with self.subTest(pattern=pattern, network=network):
                    times = self.figures(self.plan(pattern, network, "--exact"))
                    self.assertLessEqual(times["bound"], times["exact"] + 0.01)
                    self.assertLessEqual(times["standard"], 1.01 * times["exact"])
                    if network == equal:
                        self.assertGreaterEqual(times["hop-aware"], times["exact"] - 0.01)


if __name__ == "__main__":
    ACPSIM = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
