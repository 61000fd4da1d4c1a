# SPDX-License-Identifier: BSD-3-Clause
"""The right spectrum of an input: by Debian's jellyfish for files it reads, and by a plain count for inputs made by the
tests. Knows nothing of ACP.
"""
import collections
import gzip
import pathlib
import random
import shutil
import subprocess

_COMPLEMENT = str.maketrans("ACGT", "TGCA")


def example_files(pattern: str) -> list[pathlib.Path]:
    """The files of Debian's package bowtie2-examples whose path below its folder matches."""
    listing = subprocess.run(["dpkg", "-L", "bowtie2-examples"], capture_output=True, text=True, check=False)
    files = [pathlib.Path(line) for line in listing.stdout.splitlines() if pathlib.PurePath(line).match(pattern)]
    if not files or not all(file.is_file() for file in files):
        raise FileNotFoundError(
            f"bowtie2-examples has no {pattern} here; apt-get install --reinstall "
            f"-o 'Dpkg::Options::=--path-include=/usr/share/doc/bowtie2/*' bowtie2-examples")
    return sorted(files)


def unpack(files: list[pathlib.Path], target: pathlib.Path) -> pathlib.Path:
    """Writes the files' contents, gzip undone, one after the other to target."""
    with target.open("wb") as out:
        for file in files:
            with gzip.open(file) as source:
                shutil.copyfileobj(source, out)
    return target


def jellyfish(folder: pathlib.Path, file: pathlib.Path, k: int, *histo_options: str) -> str:
    """The spectrum as `jellyfish histo` prints it. The file must be plain."""
    database = folder / f"{file.name}.{k}.jf"
    if not database.exists():
        subprocess.run(["jellyfish", "count", "-m", str(k), "-C", "-s", "10M", "-t", "2", "-o", database, file],
                       check=True, capture_output=True)
    histo = subprocess.run(["jellyfish", "histo", *histo_options, database], check=True, capture_output=True,
                           text=True)
    return histo.stdout


def plain_count(sequences: list[str], k: int) -> str:
    """The spectrum of the sequences in the same format, counted the slow and obvious way."""
    counts: collections.Counter[str] = collections.Counter()
    for sequence in sequences:
        sequence = sequence.upper()
        for start in range(len(sequence) - k + 1):
            word = sequence[start:start + k]
            if not set(word) - set("ACGT"):
                counts[min(word, word.translate(_COMPLEMENT)[::-1])] += 1
    spectrum = collections.Counter(min(count, 10001) for count in counts.values())
    return "".join(f"{count} {spectrum[count]}\n" for count in sorted(spectrum))


def random_sequence(length: int, seed: int, letters: str = "ACGT") -> str:
    return "".join(random.Random(seed).choices(letters, k=length))


def fasta(sequences: list[str], width: int | None = None, end: str = "\n") -> bytes:
    """The sequences as FASTA, in lines of a number of letters (None: one line each)."""
    lines = []
    for number, sequence in enumerate(sequences):
        lines.append(f">sequence{number} with a description")
        step = width or max(len(sequence), 1)
        lines += [sequence[start:start + step] for start in range(0, len(sequence), step)]
    return "".join(line + end for line in lines).encode()


def fastq(sequences: list[str], quality: str = "I", width: int | None = None, end: str = "\n") -> bytes:
    """The sequences as FASTQ; this letter is the quality of each base."""
    lines = []
    for number, sequence in enumerate(sequences):
        step = width or max(len(sequence), 1)
        starts = range(0, len(sequence), step) if sequence else [0]
        lines.append(f"@read{number}")
        lines += [sequence[start:start + step] for start in starts]
        lines.append("+")
        lines += [quality * len(sequence[start:start + step]) for start in starts]
    return "".join(line + end for line in lines).encode()
