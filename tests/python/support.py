# SPDX-License-Identifier: BSD-3-Clause
"""Starts programs under the acprun of the build tree, with the package of the build tree."""
import os
import subprocess
import sys
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
ACPRUN = os.environ["ACP_TEST_ACPRUN"]
NODES = os.environ.get("ACP_TEST_NODES", "1")
WATCHDOG_S = 120  # far above the time of a test: a longer one hangs


def environment():
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ACP_")}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1"}


def run(program, *arguments, ranks=2, nodes=NODES, python=("-X", "dev"), options=()):
    """Runs a program of this folder on ranks over nodes: (exit code, stdout, stderr)."""
    done = subprocess.run([ACPRUN, "-n", str(ranks), "--nodes", nodes, *options, sys.executable, *python,
                           os.path.join(FOLDER, program), *arguments],
                          capture_output=True, text=True, timeout=WATCHDOG_S, env=environment(), stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


class JobTest(unittest.TestCase):
    def passes(self, program, *arguments, **more):
        """The output of a program that ends well and complains of nothing."""
        code, out, error = run(program, *arguments, **more)
        self.assertEqual(code, 0, out + error)
        self.assertEqual(error, "", out)
        return out
