#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every requirement of docs/spec/*.md is kept by code and shown by a test, and every number that is cited is one.

A requirement has a number that is never given out again (letters, a hyphen, digits), and is stated once, at the
beginning of a line, in one of two forms:

    **WIRE-7. A short sentence.** What it means.          | WIRE-7 | What it means. | kept by | shown by |
    - Kept: `datagram/header.cpp`.
    - Shown: HeaderTest.refuses_a_short_one.

It is kept when a comment of src/, tools/ or include/ cites its number, or when it says itself by what: a file
(`header.cpp`, a path below src/) or a name (`Header::parse`) in backquotes. It is shown when a comment of tests/
cites it, or when it says itself by which test: a suite (HeaderTest), a test (HeaderTest.refuses_a_short_one), or
a folder of tests/ or a unit program in backquotes (`model`, `unit_gma`). What is so named must exist. A line that
begins with "- Kept: nothing" or "- Shown: nothing" says that there is nothing to keep, or to show.
"""
import dataclasses
import pathlib
import re
import sys

import sources

SCRIPTS = {".py", ".sh"}
BOLD = re.compile(r"^\*\*([A-Z]{2,8}-\d+)\b[.:]?(.*)$")
ROW = re.compile(r"^\|\s*\**([A-Z]{2,8}-\d+)\**\s*\|(.*)\|\s*$")
NUMBER = re.compile(r"\b([A-Z]{2,8})-(\d+)\b")
TEST = re.compile(r"\b(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)")
PYTHON_TEST = re.compile(r"^class (\w+)|^\s+def (test_\w+)", re.M)
COMMENT = re.compile(r"//(.*)$|/\*(.*?)\*/", re.M | re.S)
SCRIPT_COMMENT = re.compile(r"#(.*)$|\"\"\"(.*?)\"\"\"", re.M | re.S)
QUOTED = re.compile(r"`([^`]+)`")
SUITE = re.compile(r"\b([A-Z][a-z0-9]+(?:[A-Z]\w*)+)(?:\.([a-z]\w*))?")


@dataclasses.dataclass
class Requirement:
    number: str
    place: str
    kept: str = ""
    shown: str = ""


def requirements_of(page: pathlib.Path, name: str) -> list[Requirement]:
    """In both forms; a bold one goes on until the next heading, row or requirement."""
    found, current, part = [], None, ""
    for line_number, line in enumerate(page.read_text().splitlines(), 1):
        place = f"{name}:{line_number}"
        if row := ROW.match(line):
            cells = [cell.strip() for cell in row.group(2).split("|")]
            cells += [""] * (3 - len(cells))
            found.append(Requirement(row.group(1), place, cells[-2], cells[-1]))
            current = None
        elif bold := BOLD.match(line):
            current, part = Requirement(bold.group(1), place), ""
            found.append(current)
        elif line.startswith("#"):
            current = None
        elif current is not None:
            if line.startswith("- Kept:"):
                part = "kept"
            elif line.startswith("- Shown:"):
                part = "shown"
            elif line.startswith("- ") or not line.strip():
                part = ""
            if part:
                setattr(current, part, getattr(current, part) + " " + line.removeprefix("- "))
    return found


def comments(file: pathlib.Path) -> str:
    pattern = SCRIPT_COMMENT if file.suffix in SCRIPTS else COMMENT
    return "\n".join(first or second for first, second in pattern.findall(file.read_text(errors="replace")))


def numbers_in(text: str, prefixes: set[str]) -> set[str]:
    return {f"{prefix}-{number}" for prefix, number in NUMBER.findall(text) if prefix in prefixes}


class Tree:
    """What there is to name: source files, words of the sources, tests, folders of tests."""

    def __init__(self, root: pathlib.Path):
        code = sources.code_files(root, ("src", "include", "tools"))
        self.files = [str(file.relative_to(root)) for file in code]
        self.words = set(re.findall(r"\w+", "\n".join(file.read_text() for file in code)))
        self.tests: dict[str, set[str]] = {}
        for file in sources.code_files(root, ("tests",)):
            for suite, test in TEST.findall(file.read_text()):
                self.tests.setdefault(suite, set()).add(test)
        for file in (root / "tests").rglob("*.py"):
            suite = file.stem
            for python_class, test in PYTHON_TEST.findall(file.read_text()):
                suite = python_class or suite
                self.tests.setdefault(suite, set()).update({test} - {""})
        folders = [folder for folder in (root / "tests").glob("*") if folder.is_dir()]
        units = [folder for folder in (root / "tests/unit").glob("*") if folder.is_dir()]
        self.test_folders = {folder.name for folder in folders} | {f"unit_{unit.name}" for unit in units}

    def has_code(self, name: str) -> bool:
        """A file by the end of its path, or the last word of a name."""
        if re.search(r"\.(hpp|cpp|h|c)$", name):
            return any(("/" + file).endswith("/" + name) for file in self.files)
        words = re.findall(r"\w+", name)
        return bool(words) and words[-1] in self.words


def judge_kept(requirement: Requirement, tree: Tree, cited: set[str]) -> list[str]:
    if re.match(r"\s*Kept: nothing\b", requirement.kept):
        return []
    names = QUOTED.findall(requirement.kept)
    wrong = [f"{requirement.place}: {requirement.number} is kept by `{name}`, which is not in src/"
             for name in names if not tree.has_code(name)]
    if not names and requirement.number not in cited:
        wrong.append(f"{requirement.place}: {requirement.number} is kept by nothing: cite it where src/ keeps it, "
                     "or name that place")
    return wrong


def judge_shown(requirement: Requirement, tree: Tree, cited: set[str]) -> list[str]:
    if re.match(r"\s*Shown: nothing\b", requirement.shown):
        return []
    named, wrong = False, []
    for suite, test in SUITE.findall(QUOTED.sub("", requirement.shown)):
        if suite not in tree.tests and suite + "Test" in tree.tests:
            suite += "Test"
        if suite not in tree.tests or (test and test not in tree.tests[suite]):
            wrong.append(f"{requirement.place}: {requirement.number} is shown by "
                         f"{suite}{'.' if test else ''}{test}, which is no test")
        named = True
    for name in QUOTED.findall(requirement.shown):
        if name in tree.test_folders:
            named = True
    if not named and requirement.number not in cited:
        wrong.append(f"{requirement.place}: {requirement.number} is shown by nothing: cite it in a test, or name "
                     "the test")
    return wrong


def main(root: pathlib.Path) -> int:
    pages = sorted((root / "docs/spec").glob("*.md"))
    requirements = [requirement for page in pages
                    for requirement in requirements_of(page, str(page.relative_to(root)))]
    prefixes = {requirement.number.split("-")[0] for requirement in requirements}
    known, problems = {}, []
    for requirement in requirements:
        if requirement.number in known:
            problems.append(f"{requirement.place}: {requirement.number} was stated before, at "
                            f"{known[requirement.number].place}")
        known[requirement.number] = requirement
    cited = {"src": set(), "tests": set()}
    scripts = [file for folder in ("tests", "tools") for file in (root / folder).rglob("*") if file.suffix in SCRIPTS]
    manual = [file for folder in ("man", "adr", "guide") for file in (root / "docs" / folder).glob("*.md")]
    for file in [*sources.code_files(root), *sorted(scripts), *sorted(manual), *pages]:
        name = file.relative_to(root)
        is_text = file.suffix == ".md"
        numbers = numbers_in(file.read_text() if is_text else comments(file), prefixes)
        if strangers := sorted(numbers - set(known)):
            problems.append(f"{name}: cites what is no requirement: {', '.join(strangers)}")
        if not is_text:
            cited["tests" if name.parts[0] == "tests" else "src"] |= numbers
    tree = Tree(root)
    for requirement in requirements:
        problems += judge_kept(requirement, tree, cited["src"])
        problems += judge_shown(requirement, tree, cited["tests"])
    for problem in problems:
        print(problem)
    print(f"note: {len(requirements)} requirements on {len(pages)} pages")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sources.root_given()))
