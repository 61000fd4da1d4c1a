# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the examples share: where the programs are, and running one as a job of n ranks.

A test script is started as `script.py --bin FOLDER [unittest's arguments]`, FOLDER holding acprun and the
examples. Knows nothing of a single example.
"""
import argparse
import pathlib
import subprocess
import sys
import unittest

# A job that hangs ends with 124 and acprun's report of the waiting ranks.
TIMEOUT_S = 120


class Job:
    """How a job went: its exit code and what all ranks wrote."""

    def __init__(self, completed: subprocess.CompletedProcess):
        self.code = completed.returncode
        self.out = completed.stdout
        self.err = completed.stderr

    def __str__(self) -> str:
        return f"exit code {self.code}\n--- standard output\n{self.out}\n--- standard error\n{self.err}"


class ExampleTest(unittest.TestCase):
    """A test that runs examples; `maxDiff` off, since a spectrum's difference is worth its lines."""

    bin: pathlib.Path
    maxDiff = None

    def run_job(self, ranks: int, program: str, *arguments: object, launcher: tuple[str, ...] = (),
                environment: dict[str, str] | None = None) -> Job:
        """Runs the example on a number of ranks and waits for its end."""
        command = [str(self.bin / "acprun"), "-n", str(ranks), "--timeout", str(TIMEOUT_S), *launcher,
                   str(self.bin / program), *map(str, arguments)]
        return Job(subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  env=environment, check=False))

    def run_alone(self, program: str, *arguments: object) -> Job:
        """Runs the example without a launcher: a job of one rank."""
        return Job(subprocess.run([str(self.bin / program), *map(str, arguments)], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=TIMEOUT_S, check=False))

    def assert_succeeds(self, job: Job) -> None:
        self.assertEqual(job.code, 0, str(job))


def main() -> None:
    """unittest.main for a script, with --bin taken out first."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    arguments, rest = parser.parse_known_args()
    ExampleTest.bin = arguments.bin.resolve()
    if not (ExampleTest.bin / "acprun").exists():
        sys.exit(f"{ExampleTest.bin} has no acprun: give the folder of the built programs with --bin")
    unittest.main(argv=[sys.argv[0], *rest])
