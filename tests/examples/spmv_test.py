#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""spmv multiplies right: its products are those of exact sums over the same entries, whatever the number of ranks and nodes.

The real matrix is LUND A, the stiffness of a structure, in the file that Debian's r-cran-matrix ships; its test is skipped, and says so, where
that package is not installed. The other matrices are made here.
"""
import collections
import math
import pathlib
import random
import re
import tempfile
import unittest

import harness

FOLDERS = ("/usr/lib/R/library/Matrix/external", "/usr/lib/R/site-library/Matrix/external")
REAL = next((file for folder in FOLDERS if (file := pathlib.Path(folder) / "lund_a.mtx").exists()), None)
TOLERANCE = 1e-12  # of the sum of magnitudes, which a sum in any order keeps


def read(file: pathlib.Path) -> tuple[int, list[tuple[int, int, float]]]:
    """(rows, entries), with those that a symmetric file leaves out."""
    header, *lines = file.read_text().lower().splitlines()
    field, symmetry = header.split()[3:5]
    words = [line.split() for line in lines if line.strip() and not line.startswith("%")]
    entries = [(int(line[0]), int(line[1]), 1.0 if field == "pattern" else float(line[2])) for line in words[1:]]
    if symmetry != "general":
        sign = -1 if symmetry.startswith("skew") else 1
        entries += [(column, row, sign * value) for row, column, value in entries if row != column]
    return int(words[0][0]), entries


def product(rows: int, entries: list[tuple[int, int, float]], vector: list[float]) -> tuple[list[float], list[float]]:
    """(each element, the sum of the magnitudes it is made of)"""
    terms: dict[int, list[float]] = collections.defaultdict(list)
    for row, column, value in entries:
        terms[row].append(value * vector[column - 1])
    return ([math.fsum(terms[row]) for row in range(1, rows + 1)],
            [math.fsum(map(abs, terms[row])) for row in range(1, rows + 1)])


def messages(rows: int, entries: list[tuple[int, int, float]], ranks: int) -> tuple[int, int]:
    """(elements, messages) that ranks have to send each other for a product."""
    owner = [rank for rank in range(ranks) for _ in range(rows * rank // ranks, rows * (rank + 1) // ranks)]
    needed = {(owner[row - 1], column) for row, column, _ in entries if owner[row - 1] != owner[column - 1]}
    return len(needed), len({(rank, owner[column - 1]) for rank, column in needed})


class Spmv(harness.ExampleTest):
    def setUp(self):
        owner = tempfile.TemporaryDirectory(prefix="spmv_test.")
        self.addCleanup(owner.cleanup)
        self.folder = pathlib.Path(owner.name)

    def write(self, text: str) -> pathlib.Path:
        file = self.folder / "matrix.mtx"
        file.write_text(text)
        return file

    def random_matrix(self, rows: int, count: int, field: str = "real", symmetry: str = "general") -> pathlib.Path:
        choose = random.Random(rows * count)
        places = {(row, row) for row in range(1, rows + 1)} if symmetry != "skew-symmetric" else set()
        while len(places) < count:
            row, column = choose.randint(1, rows), choose.randint(1, rows)
            if symmetry == "general" or row > column:
                places.add((row, column))
        lines = [f"{row} {column}" + ("" if field == "pattern" else f" {choose.uniform(-1, 1)!r}") for row, column in sorted(places)]
        choose.shuffle(lines)
        return self.write("\n".join([f"%%MatrixMarket matrix coordinate {field} {symmetry}", "% made for a test",
                                     f"{rows} {rows} {len(lines)}", *lines]) + "\n")

    def assert_products(self, file: pathlib.Path, ranks: int, times: int = 3, launcher: tuple[str, ...] = ()) -> None:
        with self.subTest(file=file.name, ranks=ranks, launcher=launcher):
            rows, entries = read(file)
            vector = [1 / row for row in range(1, rows + 1)]
            for _ in range(times):
                right, magnitudes = product(rows, entries, vector)
                largest = max(map(abs, right))
                vector = [element / largest for element in right]
            job = self.run_job(ranks, "spmv", "-t", times, "-p", file, launcher=launcher)
            self.assert_succeeds(job)
            said = re.search(rf"^{ranks} ranks multiplied {times} times by {rows} x {rows} with {len(entries)} entries; each time "
                             r"(\d+) elements went in (\d+) messages; largest (\S+)$", job.out, re.M)
            self.assertIsNotNone(said, str(job))
            self.assertEqual((int(said[1]), int(said[2])), messages(rows, entries, ranks))
            self.assertAlmostEqual(float(said[3]) / largest, 1, delta=1e-10)
            seen = dict(re.findall(r"^(\d+) (\S+)$", job.out, re.M))
            self.assertEqual(len(seen), rows, str(job))
            for row in range(rows):
                self.assertAlmostEqual(float(seen[str(row + 1)]), right[row], delta=times * TOLERANCE * magnitudes[row])

    @unittest.skipIf(REAL is None, "no lund_a.mtx: r-cran-matrix is not installed")
    def test_a_real_matrix_on_one_node_and_on_two(self):
        for ranks in (1, 2, 3, 4, 8):
            self.assert_products(REAL, ranks, times=10)
        self.assert_products(REAL, 4, times=10, launcher=("--nodes", "2"))

    def test_matrices_of_each_kind(self):
        for field, symmetry in (("real", "general"), ("pattern", "symmetric"), ("real", "skew-symmetric")):
            self.assert_products(self.random_matrix(300, 1500, field, symmetry), 4)

    def test_messages_that_are_long(self):
        self.assert_products(self.random_matrix(4000, 12000), 3)
        self.assert_products(self.random_matrix(4000, 12000), 3, launcher=("--nodes", "3"))

    def test_more_ranks_than_rows_and_rows_that_need_nothing(self):
        self.assert_products(self.random_matrix(5, 12), 8)
        self.assert_products(self.random_matrix(40, 40), 4)  # its diagonal alone

    def test_a_file_that_is_no_square_sparse_matrix_is_refused(self):
        for text, complaint in (("", "cannot be read"), ("1 1 1\n", "is no sparse real matrix"),
                                ("%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n", "has no square matrix"),
                                ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n", "ends too early"),
                                ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 1\n", "outside of the matrix")):
            with self.subTest(text=text):
                job = self.run_job(2, "spmv", self.write(text))
                self.assertNotEqual(job.code, 0, str(job))
                self.assertIn(complaint, job.err)

    def test_wrong_use(self):
        job = self.run_job(2, "spmv")
        self.assertEqual((job.code, job.err.count("usage: spmv")), (2, 1), str(job))


if __name__ == "__main__":
    harness.main()
