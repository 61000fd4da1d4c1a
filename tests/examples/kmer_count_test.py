#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""kmer_count counts right: its spectrum is jellyfish's, line by line, whatever the number of ranks, the
format, the packing and the sizes of its buffers."""
import gzip
import pathlib
import tempfile

import harness
import kmer_reference as reference


class KmerCountTest(harness.ExampleTest):
    @classmethod
    def setUpClass(cls):
        cls.folder_owner = tempfile.TemporaryDirectory(prefix="kmer_count_test.")
        cls.folder = pathlib.Path(cls.folder_owner.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder_owner.cleanup()

    def write(self, name: str, content: bytes) -> pathlib.Path:
        file = self.folder / name
        file.write_bytes(content)
        return file

    def assert_spectrum(self, expected: str, ranks: int, *arguments: object, launcher: tuple[str, ...] = ()) -> None:
        with self.subTest(ranks=ranks, arguments=[str(argument) for argument in arguments], launcher=launcher):
            job = self.run_job(ranks, "kmer_count", *arguments, launcher=launcher)
            self.assert_succeeds(job)
            self.assertEqual(job.out.splitlines(), expected.splitlines(), job.err)

    def assert_spectrum_both_ways(self, expected: str, ranks: int, *arguments: object) -> None:
        """Counted in the map, and by the exchange of batches."""
        self.assert_spectrum(expected, ranks, *arguments)
        self.assert_spectrum(expected, ranks, "--exchange", *arguments)


class AgainstJellyfish(KmerCountTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.reads = reference.example_files("*/reads/*.fq.gz")
        cls.plain_reads = reference.unpack(cls.reads, cls.folder / "reads.fq")
        cls.genome = reference.unpack(reference.example_files("*/reference/lambda_virus.fa.gz"),
                                      cls.folder / "lambda.fa")

    def test_lambda_reads_on_1_2_and_4_ranks(self):
        for k in (1, 5, 21, 31):
            expected = reference.jellyfish(self.folder, self.plain_reads, k)
            for ranks in (1, 2, 4):
                self.assert_spectrum_both_ways(expected, ranks, "-k", k, *self.reads)

    def test_lambda_reads_on_two_nodes(self):
        expected = reference.jellyfish(self.folder, self.plain_reads, 21)
        for arguments in ((), ("--exchange",), ("--batch", 50)):
            self.assert_spectrum(expected, 4, *arguments, *self.reads, launcher=("--nodes", "2"))

    def test_k_is_21_unless_given(self):
        self.assert_spectrum(reference.jellyfish(self.folder, self.plain_reads, 21), 2, self.plain_reads)

    def test_one_gzip_file_shared_by_all_ranks(self):
        expected = reference.jellyfish(
            self.folder, reference.unpack(self.reads[:1], self.folder / "first.fq"), 21)
        for ranks in (3, 8):
            self.assert_spectrum(expected, ranks, self.reads[0])

    def test_one_genome_in_one_record_shared_by_all_ranks(self):
        for k in (1, 5, 21, 31):
            expected = reference.jellyfish(self.folder, self.genome, k)
            for ranks in (1, 4, 7):
                self.assert_spectrum(expected, ranks, "-k", k, self.genome)

    def test_fasta_with_n_lower_case_and_other_letters(self):
        letters = reference.random_sequence(50000, 1, "ACGTacgt" * 20 + "NnRYKM")
        file = self.write("mixed.fa", reference.fasta([letters[:20000], "", "ACGT", letters[20000:]], width=61))
        for k in (5, 21):
            self.assert_spectrum(reference.jellyfish(self.folder, file, k), 4, "-k", k, file)

    def test_carriage_returns_change_nothing(self):
        sequences = [reference.random_sequence(30000, 2), reference.random_sequence(700, 3)]
        for name, write in (("fasta", reference.fasta), ("fastq", reference.fastq)):
            unix = self.write(f"unix.{name}", write(sequences))
            expected = reference.jellyfish(self.folder, unix, 21)
            for width in (None, 60, 1):
                dos = self.write(f"dos{width}.{name}", write(sequences, width=width, end="\r\n"))
                self.assert_spectrum(expected, 3, dos)

    def test_high_collects_the_rest_in_one_bar(self):
        for high in (1, 5, 40):
            expected = reference.jellyfish(self.folder, self.plain_reads, 21, "-h", str(high))
            self.assert_spectrum(expected, 2, "--high", high, *self.reads)

    def test_counts_above_10000_share_the_bar_of_10001(self):
        expected = reference.jellyfish(self.folder, self.plain_reads, 5)
        self.assertIn("10001 ", expected)
        self.assert_spectrum(expected, 4, "-k", 5, self.plain_reads)


class Formats(KmerCountTest):
    def test_quality_that_begins_with_an_at_sign(self):
        sequences = [reference.random_sequence(100, seed) for seed in range(200)]
        for width in (None, 30):
            for quality in "@+>":
                file = self.write("at.fq", reference.fastq(sequences, quality=quality, width=width))
                self.assert_spectrum(reference.plain_count(sequences, 21), 3, file)

    def test_a_line_longer_than_any_buffer(self):
        sequence = reference.random_sequence(1_000_000, 4)
        for end in ("\n", "\r\n"):
            file = self.write("long.fa", reference.fasta([sequence], end=end))
            self.assert_spectrum(reference.plain_count([sequence], 31), 4, "-k", 31, file)

    def test_a_header_longer_than_any_buffer(self):
        sequence = reference.random_sequence(1000, 5)
        header = b"x" * 1_000_000
        for mark, rest in ((b">", b""), (b"@", b"\n+" + header + b"\n" + b"I" * 1000)):
            file = self.write("header", mark + header + b"\n" + sequence.encode() + rest + b"\n")
            self.assert_spectrum(reference.plain_count([sequence], 21), 2, file)

    def test_the_last_newline_may_be_missing(self):
        sequences = [reference.random_sequence(500, 6)]
        for content in (reference.fasta(sequences), reference.fastq(sequences)):
            file = self.write("last", content[:-1])
            self.assert_spectrum(reference.plain_count(sequences, 21), 2, file)

    def test_empty_reads_and_blank_lines(self):
        sequences = ["", reference.random_sequence(50, 7), "", "ACG", reference.random_sequence(50, 8)]
        for content in (reference.fasta(sequences), reference.fastq(sequences)):
            file = self.write("empty_reads", b"\n\n" + content + b"\n\n")
            self.assert_spectrum(reference.plain_count(sequences, 21), 2, file)

    def test_files_without_a_k_mer_give_an_empty_spectrum(self):
        for content in (b"", b"\n", b">nothing\n", b">short\nACGT\n", gzip.compress(b"")):
            self.assert_spectrum("", 2, self.write("none", content))

    def test_gzip_of_several_members_and_padding(self):
        sequences = [reference.random_sequence(5000, seed) for seed in range(4)]
        content = reference.fasta(sequences, width=70)
        cut = [0, 1, 6000, 6001, len(content)]
        members = [gzip.compress(content[start:end]) for start, end in zip(cut, cut[1:])]
        file = self.write("members.fa.gz", gzip.compress(b"").join(members) + bytes(1000))
        self.assert_spectrum(reference.plain_count(sequences, 21), 3, file)


class Ranks(KmerCountTest):
    def setUp(self):
        self.sequences = [reference.random_sequence(300, seed, "ACGTN" + "ACGT" * 20) for seed in range(150)]
        self.expected = reference.plain_count(self.sequences, 21)
        self.file = self.write("reads.fa", reference.fasta(self.sequences))

    def test_smallest_inboxes_and_batches_lose_no_k_mer(self):
        # Few sequences: with a batch of one k-mer, every k-mer sent is a round of all ranks.
        sequences = self.sequences[:12]
        file = self.write("few_reads.fa", reference.fasta(sequences))
        expected = reference.plain_count(sequences, 21)
        for ranks in (1, 2, 5):
            for batch in (1, 2, 61):
                self.assert_spectrum(expected, ranks, "--exchange", "--inbox", 0, "--batch", batch, file)
                self.assert_spectrum(expected, ranks, "--batch", batch, file)

    def test_k_mers_that_all_go_to_one_owner(self):
        sequence = "A" * 100_000
        file = self.write("one_letter.fa", reference.fasta([sequence]))
        for arguments in ((), ("--exchange",), ("--exchange", "--inbox", 0, "--batch", 100)):
            self.assert_spectrum("99980 1\n", 4, "--high", 1_000_000, *arguments, file)

    def test_many_small_files_on_few_ranks_and_few_on_many(self):
        files = [self.write(f"part{index}.fa", reference.fasta([sequence]))
                 for index, sequence in enumerate(self.sequences)]
        self.assert_spectrum_both_ways(self.expected, 2, *files)
        self.assert_spectrum_both_ways(self.expected, 8, self.file)

    def test_boundaries_between_the_ranks_shares(self):
        # A share's block is 16384 letters: records that end just before, at and after a boundary.
        for length in (16383, 16384, 16385, 16384 + 30, 3 * 16384 - 1):
            sequences = [reference.random_sequence(length, length), reference.random_sequence(40000, 9)]
            file = self.write("boundary.fa", reference.fasta(sequences, width=7))
            for k in (1, 2, 31):
                self.assert_spectrum(reference.plain_count(sequences, k), 4, "-k", k, file)


if __name__ == "__main__":
    harness.main()
