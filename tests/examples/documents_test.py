#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each program that a document prints: it compiles without a warning, and runs on 4 ranks of one node and of two.

A program is a block of C or C++ with a main(). One that is meant to fail, or whose output the document tells, is in a table here.
"""
import collections
import os
import pathlib
import re
import signal
import subprocess
import tempfile

import harness

ROOT = pathlib.Path(__file__).resolve().parents[2]
RANKS = 4
NODES = (1, 2)
BLOCK = re.compile(r"^```(c|cpp)\n(.*?)^```$", re.M | re.S)
COMPILERS = {"c": "acpcc", "cpp": "acpc++"}
SIGABRT_CODE = 134
SIGKILL_CODE = 137
# The guide shows how the message of a failure is read.
ENDS_BY = {"docs/guide/first-steps.md": SIGABRT_CODE}
# What each program of a document prints, or those of one that has several.
PRINTS = {"docs/man/acp_register_memory.3.md": "4 ranks\n", "docs/man/acp_cas4.3.md": "4000\n",
          "docs/man/acp_malloc.3.md": "rank 3 keeps 9\nrank 2 keeps 4\n",
          "docs/man/acp_create_map.3.md": ("to: 8\nbe: 8\nor: 4\nnot: 4\n", "Ada\n", "1000 found, the square of 31 is 961\n"),
          "docs/man/acp_create_multimap.3.md": "2 in Berlin\n", "docs/man/acp3_insert_map.3.md": "Tokyo\n",
          "docs/man/acp3_push_back_vector.3.md": "of vector\n", "docs/man/acp_create_ws.3.md": "a note\n",
          "docs/man/acp_init_dsm.3.md": "rank 3 reads 0\n", "docs/man/acp_dsm_cxx.3.md": "2000\n",
          "docs/man/acp_compat_veo.3.md": "labs(-42) = 42\n",
          "docs/man/acp_copy.3.md": "rank 2 got xxxx...\n", "docs/man/acp_path.3.md": "a copy from rank 3 takes the path "}


def programs() -> list[tuple[str, str, str]]:
    """(file, language, text) of every program in a document, files by their path below the root."""
    files = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [(str(file.relative_to(ROOT)), language, text) for file in files
            for language, text in BLOCK.findall(file.read_text()) if re.search(r"^int main\(", text, re.M)]


class Documents(harness.ExampleTest):
    def test_there_are_programs(self):
        with_program = {file for file, _, _ in programs()}
        for page in sorted((ROOT / "docs" / "man").glob("*.3.md")):
            self.assertIn(str(page.relative_to(ROOT)), with_program)

    def test_each_program_compiles_and_runs_on_one_node_and_on_two(self):
        with tempfile.TemporaryDirectory() as folder:
            seen: collections.Counter[str] = collections.Counter()
            for number, (file, language, text) in enumerate(programs()):
                expected = PRINTS.get(file, "")
                prints = expected[seen[file]] if isinstance(expected, tuple) else expected
                seen[file] += 1
                with self.subTest(file=file):
                    source = pathlib.Path(folder) / f"program{number}.{language}"
                    source.write_text(text)
                    program = source.with_suffix("")
                    compiled = subprocess.run([self.bin / COMPILERS[language], "-O2", "-Wall", "-Wextra", "-Werror", source,
                                               "-o", program], capture_output=True, text=True, check=False)
                    self.assertEqual(compiled.returncode, 0, compiled.stderr)
                    for nodes in NODES:
                        if "for (;;) pause();" in text:
                            self.check_killed(file, str(program), nodes)
                        else:
                            self.check(file, str(program), nodes, prints)

    def check(self, file: str, program: str, nodes: int, prints: str) -> None:
        with self.subTest(file=file, nodes=nodes):
            job = self.run_job(RANKS, program, launcher=("--nodes", str(nodes)))
            self.assertEqual(job.code, ENDS_BY.get(file, 0), str(job))
            self.assertIn(prints, job.out, str(job))

    def check_killed(self, file: str, program: str, nodes: int) -> None:
        """A program that waits for ever and says which rank is which process: rank 2 is killed, as its page says."""
        with self.subTest(file=file, nodes=nodes):
            job = subprocess.Popen([self.bin / "acprun", "-n", str(RANKS), "--timeout", str(harness.TIMEOUT_S),
                                    "--nodes", str(nodes), program], text=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            processes = {}
            while len(processes) < RANKS and (line := job.stdout.readline()):
                rank, process = re.fullmatch(r"rank (\d+) is process (\d+)\n", line).groups()
                processes[int(rank)] = int(process)
            self.assertEqual(len(processes), RANKS)
            os.kill(processes[2], signal.SIGKILL)
            _, err = job.communicate()
            self.assertEqual(job.returncode, SIGKILL_CODE, err)
            self.assertRegex(err, rf"acprun: rank 2 \(process {processes[2]} on [^)]+\) was killed by signal 9 \(SIGKILL: ")


if __name__ == "__main__":
    harness.main()
