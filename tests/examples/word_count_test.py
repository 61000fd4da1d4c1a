#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""word_count counts right: for any number of ranks and nodes its output equals that of tr, sort and uniq for the same files."""
import pathlib
import random
import subprocess
import tempfile

import harness

# The words of standard input, most frequent first, as `uniq -c` prints them.
PIPELINE = "tr -cs 'A-Za-z0-9' '\\n' | tr A-Z a-z | grep . | sort | uniq -c | sort -k1,1nr -k2"
ROOT = pathlib.Path(__file__).resolve().parents[2]


def by_pipeline(files: list[pathlib.Path], most: int) -> list[str]:
    """One line for each word; the lines of each file are those of a text of its own."""
    text = b"\n".join(file.read_bytes() for file in files)
    done = subprocess.run(["sh", "-c", PIPELINE], input=text, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}, capture_output=True,
                          check=False)
    return done.stdout.decode().splitlines()[:most]


class WordCount(harness.ExampleTest):
    def setUp(self):
        owner = tempfile.TemporaryDirectory(prefix="word_count_test.")
        self.addCleanup(owner.cleanup)
        self.folder = pathlib.Path(owner.name)

    def write(self, name: str, content: bytes) -> pathlib.Path:
        file = self.folder / name
        file.write_bytes(content)
        return file

    def assert_counts(self, files: list[pathlib.Path], most: int, ranks: int, *launcher: str) -> None:
        with self.subTest(ranks=ranks, launcher=launcher, files=[file.name for file in files]):
            job = self.run_job(ranks, "word_count", "-n", most, *files, launcher=launcher)
            self.assert_succeeds(job)
            self.assertEqual(job.out.splitlines(), by_pipeline(files, most), job.err)
            self.assertEqual(job.err, "")

    def test_documents_on_one_node_and_on_two(self):
        files = sorted((ROOT / "docs").rglob("*.md")) + [ROOT / "README.md"]
        self.assert_counts(files, 100_000, 4)
        self.assert_counts(files, 100_000, 4, "--nodes", "2")
        self.assert_counts(files, 25, 3)
        self.assert_counts(files, 25, 1)

    def test_words_that_cross_the_ranks_boundaries(self):
        for size in (0, 1, 2, 7, 8, 9, 31):
            for pattern in (b"a", b"ab ", b"a b", b" ", b"Ab,ab\r\n"):
                self.assert_counts([self.write("small", (pattern * size)[:size])], 10, 4)

    def test_a_long_word_and_bytes_of_all_values(self):
        long = bytes(random.Random(1).choices(b"abcdefgh", k=800))
        every = bytes(range(256)) * 20
        file = self.write("long", every + b" " + long + b" " + long.upper() + b" end")
        self.assert_counts([file], 1000, 4)
        self.assert_counts([file], 1000, 4, "--nodes", "2")

    def test_ten_words_are_printed_by_default(self):
        file = self.write("many", b" ".join(b"word%d" % i for i in range(100)))
        job = self.run_job(2, "word_count", file)
        self.assert_succeeds(job)
        self.assertEqual(job.out.splitlines(), by_pipeline([file], 10))

    def test_wrong_use_and_a_file_that_is_not_there(self):
        job = self.run_job(2, "word_count")
        self.assertEqual(job.code, 2, str(job))
        self.assertEqual(job.err.count("usage: "), 1, str(job))
        missing = self.folder / "missing"
        job = self.run_job(2, "word_count", missing)
        self.assertNotEqual(job.code, 0, str(job))
        self.assertIn(f"word_count: {missing} cannot be read", job.err)


if __name__ == "__main__":
    harness.main()
