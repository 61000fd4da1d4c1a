#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The house rules that can be read off a file's text: size, licence line, opening comment, include guard,
no leftovers, no code in comments, no sleeps, no tests cited that are not there, and a man page for every public
function.

Heuristics err on the side of silence: what they name is wrong; docs/house-rules.md has the reasons.
"""
import pathlib
import re
import sys

import sources

LINES_MAX = 500
LICENCE = "SPDX-License-Identifier: BSD-3-Clause"
# Text files that need the licence line but no C++ rules.
SCRIPTS = ("Makefile", "CMakeLists.txt", "*.cmake", "*.py", "*.sh", "*.cmake.in", "acpcc.in")
LEFTOVER = re.compile(r"\b(" + "TO" + "DO|FIX" + "ME|XX" + "X|HA" + r"CK)\b")
SLEEP = re.compile(r"\b(?:usleep|nanosleep|clock_nanosleep|this_thread::sleep_(?:for|until))\s*\("
                   r"|::sleep\s*\(|(?<![\w.>])sleep\s*\(\s*[1-9]")
# A sleep says on its line that it is itself the thing tested or wrapped, or only a pause between two looks at
# what nobody can signal (another process's state); then nothing hangs on its length.
SLEEP_ALLOWED = ("lint: sleep is the subject", "lint: a pause between looks")
# ThreadSanitizer knows no fences: a file that writes one says what stands there for it.
FENCE = re.compile(r"\batomic_thread_fence\s*\(")
# A comment line that only a compiler could have meant: a call, a return, an assignment or declaration that
# ends in a semicolon, an opening of a block, or a directive. An example is indented by four or more spaces.
CODE_IN_COMMENT = re.compile(
    r"^\s*//(?: {0,3})(?:"
    r"(?:return|break|continue|goto|delete|throw)\b[^.]*;"
    r"|[\w:<>,.*&\[\] ]+(?:\.|->|::)?\w+\([^;]*\);"
    r"|[\w:<>,*&\[\] .]+ [-+|&]?= [^;]+;"
    r"|(?:if|for|while|switch) ?\(.*\) ?\{"
    r"|\}(?: else \{)?"
    r"|# ?(?:if|ifdef|ifndef|else|endif|include|define)\b.*"
    r")\s*$")
# A test that a comment names, wildcards and all.
CITED_TEST = re.compile(r"\btests/[\w/*-]+\.(?:cpp|hpp|py|sh)\b")
FUNCTION = re.compile(r"^ACP_API\b[^;(]*?\b(acp\w*)\s*\(", re.M)


def first_lines_problem(text: str, suffix: str) -> str | None:
    """What is wrong with a file's first lines, or None."""
    lines = text.split("\n", 2)
    if LICENCE not in lines[0]:
        return f"1: the first line is not the licence line ({LICENCE})"
    if len(lines) < 2 or not re.match(r"\s*(//|/\*)", lines[1]):
        return "2: no opening comment that says what the file is, what it does not know, who runs it"
    if suffix in {".h", ".hpp"} and not re.search(r"^#pragma once|^#ifndef ACP\w*_H", text, re.M):
        return "1: neither #pragma once nor an include guard"
    return None


def check_code(file: pathlib.Path, name: str) -> list[str]:
    text = file.read_text()
    problems = []
    count = text.count("\n")
    if count > LINES_MAX:
        problems.append(f"{LINES_MAX + 1}: {count} lines, at most {LINES_MAX}: find its second duty")
    if problem := first_lines_problem(text, file.suffix):
        problems.append(problem)
    is_sleep_checked = name.startswith(("src/", "tests/"))
    is_fence_checked = name.startswith("src/") and "__SANITIZE_THREAD__" not in text
    for number, line in enumerate(text.splitlines(), 1):
        if found := LEFTOVER.search(line):
            problems.append(f"{number}: {found.group()}: finish it or write down why not")
        if CODE_IN_COMMENT.match(line):
            problems.append(f"{number}: code in a comment: {line.strip()}")
        if is_fence_checked and FENCE.search(line.split("//")[0]):
            problems.append(f"{number}: a fence that ThreadSanitizer does not know: base::fence (base/fence.hpp)")
        if is_sleep_checked and not any(mark in line for mark in SLEEP_ALLOWED):
            if SLEEP.search(line.split("//")[0]):
                problems.append(f"{number}: a sleep is no synchronisation (a subject of a test says "
                                f"\"// {SLEEP_ALLOWED[0]}\")")
    return problems


def check_cited_tests(root: pathlib.Path, file: pathlib.Path) -> list[str]:
    """Tests that a file says it has and that are not there."""
    return [f"{number}: {cited}: there is no such test"
            for number, line in enumerate(file.read_text().splitlines(), 1)
            for cited in CITED_TEST.findall(line) if not any(root.glob(cited))]


def public_functions(root: pathlib.Path) -> dict[str, str]:
    """{function: header} of everything declared ACP_API."""
    return {function: header.name
            for header in sorted((root / "include" / "acp").glob("*.h"))
            for function in FUNCTION.findall(header.read_text())}


def documented(folder: pathlib.Path) -> set[str]:
    """The names that have a page of their own or stand in a page's NAME section."""
    names = set()
    for page in folder.glob("*.3.md"):
        names.add(page.name.removesuffix(".3.md"))
        section = re.search(r"^#+ *NAME *\n(.*?)(?=^#|\Z)", page.read_text(), re.M | re.S)
        if section:
            before_dash = re.split(r"\s(?:-|--|\\-|—|–)\s", section.group(1), maxsplit=1)[0]
            names.update(re.findall(r"\w+", before_dash.replace("\\_", "_")))
    return names


def check_manual(root: pathlib.Path) -> list[str]:
    folder = root / "docs" / "man"
    if not folder.is_dir():
        return []
    names = documented(folder)
    return [f"include/acp/{header}: {function} has no man page (docs/man/{function}.3.md, or in a page's NAME)"
            for function, header in public_functions(root).items() if function not in names]


def main(root: pathlib.Path) -> int:
    problems = []
    for file in sources.code_files(root):
        name = str(file.relative_to(root))
        problems += [f"{name}:{problem}" for problem in check_code(file, name) + check_cited_tests(root, file)]
    for folder in ("", "cmake", "lint", "tests", "bindings", "bench", "examples", "tools"):
        pattern_root = root / folder
        for pattern in SCRIPTS:
            found = pattern_root.glob(pattern) if folder == "" else pattern_root.rglob(pattern)
            for file in sorted(found):
                if LICENCE not in "\n".join(file.read_text().split("\n", 2)[:2]):
                    problems.append(f"{file.relative_to(root)}:1: no licence line ({LICENCE})")
    problems += check_manual(root)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sources.root_given()))
