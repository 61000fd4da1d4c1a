#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The interface of kmer_count: options, output file, totals, progress bar; for every wrong input it prints one error and
no spectrum, and ends on all ranks with the same exit code."""
import gzip
import os
import pathlib
import pty
import re
import subprocess
import tempfile
import termios

import harness
import kmer_reference as reference

FAILED, USAGE = 1, 2


class UseTest(harness.ExampleTest):
    def setUp(self):
        owner = tempfile.TemporaryDirectory(prefix="kmer_count_use.")
        self.addCleanup(owner.cleanup)
        self.folder = pathlib.Path(owner.name)
        self.sequences = [reference.random_sequence(120, seed) for seed in range(300)]
        self.good = self.write("good.fq", reference.fastq(self.sequences))
        self.expected = reference.plain_count(self.sequences, 21)

    def write(self, name: str, content: bytes) -> pathlib.Path:
        file = self.folder / name
        file.write_bytes(content)
        return file


class Output(UseTest):
    def test_help_is_printed_once_and_names_every_option(self):
        job = self.run_job(3, "kmer_count", "--help")
        self.assert_succeeds(job)
        self.assertEqual(job.out.count("Usage:"), 1)
        for option in ("-k", "--output", "--high", "--exchange", "--batch", "--inbox", "--quiet", "--help"):
            self.assertIn(option, job.out)

    def test_the_spectrum_goes_to_the_file_named(self):
        target = self.folder / "spectrum.txt"
        for option in (["-o", target], [f"--output={target}"]):
            target.unlink(missing_ok=True)
            job = self.run_job(2, "kmer_count", *option, self.good)
            self.assert_succeeds(job)
            self.assertEqual(job.out, "")
            self.assertEqual(target.read_text(), self.expected)

    def test_totals_are_the_last_line_on_standard_error(self):
        job = self.run_job(2, "kmer_count", self.good)
        self.assert_succeeds(job)
        kmers = 300 * (120 - 20)
        self.assertRegex(job.err, rf"^300 reads, 36000 bases, {kmers} 21-mers, \d+ distinct: "
                                  r"\d+\.\d\d s on 2 ranks, \d+\.\d M k-mers/s\n$")

    def test_quiet_leaves_only_the_spectrum(self):
        job = self.run_job(2, "kmer_count", "-q", self.good)
        self.assert_succeeds(job)
        self.assertEqual((job.out, job.err), (self.expected, ""))

    def test_the_program_runs_alone_without_a_launcher(self):
        job = self.run_alone("kmer_count", self.good)
        self.assert_succeeds(job)
        self.assertEqual(job.out, self.expected)

    def test_options_may_follow_files(self):
        job = self.run_job(2, "kmer_count", self.good, "-k", 5)
        self.assert_succeeds(job)
        self.assertEqual(job.out, reference.plain_count(self.sequences, 5))


class Progress(UseTest):
    def run_on_terminal(self, *arguments: object, columns: int = 60, **environment: str) -> str:
        """The standard error of a job of two ranks if it is a terminal."""
        ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (24, columns))
        command = [self.bin / "acprun", "-n", "2", "--timeout", str(harness.TIMEOUT_S), self.bin / "kmer_count",
                   *map(str, arguments)]
        settings = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | environment
        job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs,
                               env=settings)
        os.close(theirs)
        written = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the terminal's other end is closed
                break
            if not part:
                break
            written += part
        os.close(ours)
        self.assertEqual(job.wait(), 0, written)
        return written.decode()

    def test_a_terminal_shows_a_bar_as_wide_as_it_is(self):
        for columns in (40, 100):
            written = self.run_on_terminal(self.good, columns=columns, NO_COLOR="1")
            bars = re.findall(r"counting +\d+ % \[[=> ]*\] of \d+\.\d MB", written)
            self.assertTrue(bars, written)
            self.assertEqual({len(bar) for bar in bars}, {columns - 1}, written)

    def test_the_totals_stand_on_a_line_of_their_own(self):
        written = self.run_on_terminal(self.good)
        self.assertRegex(written, r"\r\x1b\[K300 reads, [^\r\n]*\r\n$")

    def test_color_is_used_unless_no_color_is_set(self):
        self.assertIn("\x1b[32m", self.run_on_terminal(self.good))
        self.assertNotIn("\x1b[32m", self.run_on_terminal(self.good, NO_COLOR="1"))

    def test_quiet_shows_no_bar(self):
        self.assertEqual(self.run_on_terminal("-q", self.good), "")

    def test_no_bar_where_there_is_no_terminal(self):
        self.assertNotIn("[", self.run_job(2, "kmer_count", self.good).err)


class Errors(UseTest):
    def assert_fails(self, code: int, message: str, *arguments: object, ranks: int = 3) -> None:
        """All ranks end with this code; rank 0 says it, once."""
        with self.subTest(message=message):
            for launcher in ((), ("--on-failure", "continue")):
                job = self.run_job(ranks, "kmer_count", *arguments, launcher=launcher)
                self.assertEqual(job.code, code, str(job))
                self.assertEqual(job.out, "", str(job))
                self.assertEqual(job.err.count(f"kmer_count: {message}"), 1, str(job))
                self.assertEqual(len(re.findall(r"^kmer_count: ", job.err, re.MULTILINE)), 1, str(job))

    def test_command_line(self):
        for arguments, message in (
                ([], "no file given"),
                (["--frobnicate", self.good], "unknown option --frobnicate"),
                (["-k"], "no value after -k"),
                (["-k", "0", self.good], '-k is "0", must be 1 to 31'),
                (["-k", "32", self.good], '-k is "32", must be 1 to 31'),
                (["-k", "-1", self.good], '-k is "-1", must be 1 to 31'),
                (["-k", "21x", self.good], '-k is "21x", must be 1 to 31'),
                (["--high", "0", self.good], '--high is "0", must be 1 to '),
                (["--batch", "0", self.good], '--batch is "0", must be 1 to 1048576'),
                (["--batch", "1048577", self.good], '--batch is "1048577", must be 1 to 1048576'),
                (["--inbox", "lots", self.good], '--inbox is "lots", must be 0 to 1048576')):
            self.assert_fails(USAGE, message, *arguments)

    def test_files_that_cannot_be_read(self):
        missing = self.folder / "missing.fq"
        self.assert_fails(FAILED, f"{missing}: no such file", self.good, missing)
        self.assert_fails(FAILED, f"{self.folder}: not a regular file", self.folder)
        self.assert_fails(FAILED, "/dev/null: not a regular file", "/dev/null")

    def test_output_that_cannot_be_written(self):
        nowhere = self.folder / "nowhere" / "spectrum.txt"
        self.assert_fails(FAILED, f"{nowhere}: No such file or directory", "-o", nowhere, self.good)
        self.assert_fails(FAILED, "/dev/full: No space left on device", "-o", "/dev/full", self.good)

    def test_files_that_are_neither_fasta_nor_fastq(self):
        text = self.write("notes.txt", b"\nDear reader,\n")
        self.assert_fails(FAILED, f"{text}: line 2: neither FASTA nor FASTQ: expected '>' or '@', found 'D'", text)
        binary = self.write("binary", bytes(range(128, 256)))
        self.assert_fails(FAILED, f"{binary}: line 1: neither FASTA nor FASTQ: expected '>' or '@', found byte 0x80",
                          binary)
        packed = self.write("notes.gz", gzip.compress(b"Dear reader,\n"))
        self.assert_fails(FAILED, f"{packed}: line 1: neither FASTA nor FASTQ", packed)

    def test_broken_fastq(self):
        for content, message in (
                (b"@r\nACGT\n+\nIIII\nr2\nACGT\n+\nIIII\n", "line 5: expected '@' and a read's name, found 'r'"),
                (b"@r\nACGT\n+\nIIIII\n", "line 4: a read of 4 letters has 5 letters of quality"),
                (b"@r\nACGT\n+\nIII\n", "line 4: the file ends within a read"),
                (b"@r\nACGT\n+\n", "line 3: the file ends within a read"),
                (b"@r\nACGT\n", "line 2: the file ends within a read"),
                (b"@r\n", "line 1: the file ends within a read")):
            file = self.write("broken.fq", content)
            self.assert_fails(FAILED, f"{file}: {message}", self.good, file)

    def test_damaged_gzip(self):
        packed = gzip.compress(reference.fastq(self.sequences))
        cut = self.write("cut.fq.gz", packed[:len(packed) // 2])
        self.assert_fails(FAILED, f"{cut}: the gzip data are cut off at byte {len(packed) // 2}", cut)
        in_second = self.write("second.fq.gz", packed + packed[:1])
        self.assert_fails(FAILED, f"{in_second}: the gzip data are cut off at byte {len(packed) + 1}", in_second)
        # A wrong byte amid the data: found by the format or the checksum, and named as what it is.
        damaged = bytearray(packed)
        damaged[len(packed) // 2] ^= 0xFF
        corrupt = self.write("corrupt.fq.gz", bytes(damaged))
        self.assert_fails(FAILED, f"{corrupt}: the gzip data are corrupt (", corrupt)
        checksum = self.write("checksum.fq.gz", packed[:-8] + b"\0\0\0\0" + packed[-4:])
        self.assert_fails(FAILED, f"{checksum}: the gzip data are corrupt (incorrect data check) at byte ", checksum)
        tail = self.write("tail.fq.gz", packed + b"tail")
        self.assert_fails(FAILED, f"{tail}: the gzip data are corrupt (incorrect header check) at byte ", tail)

    def test_a_failure_late_in_one_of_many_rounds_ends_all_ranks(self):
        content = reference.fastq(self.sequences) + b"no read\n"
        file = self.write("late.fq", content)
        for ranks in (1, 2, 5):
            for arguments in (("--exchange", "--batch", 7, "--inbox", 0), ("--batch", 7)):
                self.assert_fails(FAILED, f"{file}: line 1201: expected '@' and a read's name, found 'n'",
                                  *arguments, self.good, file, ranks=ranks)

    def test_a_heap_too_small_for_the_map_ends_all_ranks(self):
        sequences = [reference.random_sequence(10_000, seed) for seed in range(40)]
        file = self.write("large.fa", reference.fasta(sequences))
        job = self.run_job(2, "kmer_count", file, launcher=("--heap-size", "1M"))
        self.assertEqual(job.code, FAILED, str(job))
        self.assertEqual(job.err.count("kmer_count: the map of k-mers: "), 1, str(job))


if __name__ == "__main__":
    harness.main()
