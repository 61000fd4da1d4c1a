#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts sentences of comments and pages that a reader cannot understand out of their file; the share of none may rise.

A sentence counts if it has no verb and hangs on the line before, if its actor is a pronoun (whoever, somebody, a bare
who or what), or if it says a protocol's step with a verb of talk (tell, hear, go on). docs/house-rules.md has the rule.
lint/words.txt holds the highest share of each room in percent; `--lower` writes the shares of today where they are lower,
`--list ROOM` prints the sentences of a room.
"""
import collections
import pathlib
import re
import sys

import sources

CEILINGS = "lint/words.txt"
VERB = r"(?:is|are|was|were|has|have|does|do|returns?|means?|must|may|can|will)"
FRAGMENT = re.compile(
    r"^(?:[Oo]f|to whom|by|in|on|at|from|for|[Aa]s|[Ll]ikewise|[Tt]he same|beside|without|with)\b(?!.*\b" + VERB + r"\b)")
NO_ACTOR = re.compile(
    r"\b(?:[Ww]hoever|[Ss]omebody|[Nn]obody|[Ee]verybody|[Aa]nybody)\b"
    r"|(?:^|[.;:,] |and |or |but |for |then )(?:[Ww]ho|[Ww]hat) (?!.{0,12}\?)(?:\w+ ){1,12}?"
    r"(?:is|are|was|were|has|have|does|do|goes|looks|waits|finds|sees|may|must|can|will|takes|comes|gets|ends|reads"
    r"|writes|stores)\b")
TALK = re.compile(
    r"\b(?:tells?|told|telling|hears?|heard|news|so many|so much|meanwhile|go(?:es)? on|gone on|under way|comes? to|brings?"
    r"|lent|letter|trouble|meets?|met|whom|wished|owed|by now|any more)\b")
COMMENT_LINE = re.compile(r"(?://|/?\*+)\s?(.*?)(?:\*/)?$")
COMMENT_AT_END = re.compile(r"(?<!:)(?://|/\*)\s+(.*?)(?:\*/)?$")
SENTENCE_END = re.compile(r"(?<=[.;])\s+(?=[A-Z*])")
SHORTEST = 6  # characters; less is a remainder of a list


def comments(text: str) -> list[tuple[int, str]]:
    """Each comment of C or C++ text with its first line's number, its lines joined."""
    found, lines, start = [], [], 0
    for number, line in enumerate(text.splitlines() + [""], 1):
        whole = COMMENT_LINE.match(line.strip())
        if whole and "SPDX" not in line:
            start = start if lines else number
            lines.append(whole.group(1))
            continue
        if lines:
            found.append((start, " ".join(lines)))
            lines = []
        at_end = COMMENT_AT_END.search(line)
        if at_end and '"' not in line[at_end.start():] and "NOLINT" not in line and "namespace" not in line:
            found.append((number, at_end.group(1)))
    return found


def paragraphs(text: str) -> list[tuple[int, str]]:
    """Each paragraph of a page with its first line's number; tables, headings and code left out."""
    found, lines, start, is_code = [], [], 0, False
    for number, line in enumerate(text.splitlines() + [""], 1):
        is_fence = line.startswith("```")
        is_code ^= is_fence
        if is_fence or is_code or not line.strip() or line.startswith(("#", "|", "%", "    ")):
            if lines:
                found.append((start, " ".join(lines)))
                lines = []
            continue
        start = start if lines else number
        lines.append(line.strip())
    return found


def rooms_of(root: pathlib.Path) -> dict[str, list[pathlib.Path]]:
    """The files of each room: folders of src/, other folders of code, pages by kind, and the pages of the root folder."""
    rooms = {folder.name: sources.code_files(root, (f"src/{folder.name}",))
             for folder in sorted((root / "src").iterdir()) if folder.is_dir()}
    for folder in ("include", "bindings", "tests", "tools"):
        rooms[folder] = sources.code_files(root, (folder,))
    pages = sorted((root / "docs").rglob("*.md"))
    for kind in ("man", "adr"):
        rooms[f"docs/{kind}"] = [page for page in pages if page.parent.name == kind]
    rooms["docs"] = [page for page in pages if page.parent.name not in ("man", "adr")]
    rooms["root"] = sorted(root.glob("*.md"))
    return rooms


def sentences_of(file: pathlib.Path) -> list[tuple[int, str]]:
    parts = (paragraphs if file.suffix == ".md" else comments)(file.read_text(errors="replace"))
    return [(line, sentence) for line, part in parts for sentence in SENTENCE_END.split(part) if len(sentence) >= SHORTEST]


def is_riddle(sentence: str, is_page: bool) -> bool:
    return bool(NO_ACTOR.search(sentence) or TALK.search(sentence) or (not is_page and FRAGMENT.search(sentence)))


def main(root: pathlib.Path, *options: str) -> int:
    ceilings = dict(line.split() for line in (root / CEILINGS).read_text().splitlines() if not line.startswith("#"))
    counts, riddles = collections.Counter(), collections.defaultdict(list)
    for room, files in rooms_of(root).items():
        for file in files:
            for line, sentence in sentences_of(file):
                counts[room] += 1
                if is_riddle(sentence, file.suffix == ".md"):
                    riddles[room].append(f"{file.relative_to(root)}:{line}: {sentence}")
    if options[:1] == ("--list",):
        print("\n".join(riddles[options[1]]))
        return 0
    shares = {room: round(100 * len(riddles[room]) / counts[room], 1) for room in counts}
    if options[:1] == ("--lower",):
        lines = [line for line in (root / CEILINGS).read_text().splitlines() if line.startswith("#")]
        lines += [f"{room} {min(share, float(ceilings.get(room, 100)))}" for room, share in sorted(shares.items())]
        (root / CEILINGS).write_text("\n".join(lines) + "\n")
        return 0
    risen = [room for room, share in shares.items() if share > float(ceilings.get(room, 0))]
    for room in risen:
        print(f"{room}: {shares[room]} % of its sentences are riddles, {ceilings.get(room, 0)} % at most"
              f" (lint/check_words.py . --list {room})")
    print(f"note: {sum(counts.values())} sentences, {100 * sum(map(len, riddles.values())) / sum(counts.values()):.1f} %")
    return 1 if risen else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), *sys.argv[2:]))
