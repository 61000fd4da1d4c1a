#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Holds documents to the code: a manual page for every tool, every struct of a public header with its fields in a SYNOPSIS, every page of ours that is cited exists, and is installed where the citing document is, terms and lists of a page are laid out as pandoc reads them, every file that a
comment or a document names exists, every name that an architecture decision quotes in `backticks` stands in the code,
and a figure that is followed by such a name ("4 KiB (`string_move_bytes_min`)") is that constant's value.

Heuristics err on the side of silence. What a decision rejected is not looked for.
"""
import functools
import pathlib
import re
import sys

import sources

TEXTS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/**/*.md")
KEPT_PROCESS = re.compile(r'leave_keeper_behind\("([\w-]+)"\)')
# acp_copy(3), acprun(1): ours alone; the system's pages are not checked.
CITED_PAGE = re.compile(r"(?<![\w/-])(acp[\w+-]*)\**\(([1-8])\)")
# A path with a folder, or a bare file of code; wildcards are resolved.
CITED_FILE = re.compile(r"(?<![\w/.~<-])((?:[\w*-]+/)*[\w*-]+\.(?:hpp|cpp|py|sh|md))\b(?!\()")
C_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
STRUCT = re.compile(r"typedef\s+struct\s*(?:\w+\s*)?\{([^{}]*)\}\s*(\w+)\s*;")
COMMENT = re.compile(r"(?://|^\s*\*|^\s*/\*)(.*)$")
QUOTED = re.compile(r"`([^`\n]+)`")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*(?:\(\))?")
FIGURE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?) ?(KiB|MiB|GiB|bytes|ns|us|ms|s|naps|[a-z]+)? \(`(\w+)`\)")
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "us": 10**3, "ms": 10**6, "s": 10**9}
# Folders below which a file may be named without them.
ROOTS = ("", "src", "tools", "docs", "tests", "tests/unit", "include", "include/acp", "lint", "examples", "cmake")


def tools_of(root: pathlib.Path) -> list[str]:
    """What a user meets: the programs that are installed, a folder of tools/ each, the compiler wrappers, and the processes
    that a tool leaves behind under a name of their own."""
    programs = sorted(p.name for p in (root / "tools").iterdir() if p.is_dir() and (p / "main.cpp").exists())
    texts = (file.read_text() for file in sorted((root / "tools").rglob("*.cpp")))
    return programs + ["acpcc", "acpc++"] + [name for text in texts for name in KEPT_PROCESS.findall(text)]


def page_names(root: pathlib.Path) -> set[tuple[str, str]]:
    """(name, section) of every page: its file's name and all in its NAME section."""
    names = set()
    for page in sorted((root / "docs" / "man").glob("*.[1-8].md")):
        name, section, _ = page.name.rsplit(".", 2)
        names.add((name, section))
        found = re.search(r"^# *NAME *\n(.*?)(?=^#|\Z)", page.read_text(), re.M | re.S)
        before_dash = re.split(r"\s(?:-|--|\\-)\s", found.group(1), maxsplit=1)[0] if found else ""
        names.update((word, section) for word in re.findall(r"[\w+-]+", before_dash.replace("\\", "")))
    return names


def check_pages(root: pathlib.Path) -> list[str]:
    names = page_names(root)
    problems = [f"tools/{tool}: no manual page (docs/man/{tool}.1.md or .8.md, or in a page's NAME)"
                for tool in tools_of(root) if not {(tool, "1"), (tool, "8")} & names]
    for pattern in TEXTS:
        for file in sorted(root.glob(pattern)):
            for number, line in enumerate(file.read_text().splitlines(), 1):
                for name, section in CITED_PAGE.findall(line.replace("\\", "")):
                    if (name, section) not in names:
                        problems.append(f"{file.relative_to(root)}:{number}: {name}({section}): there is no such page")
    return problems


def check_installed(root: pathlib.Path) -> list[str]:
    """What is installed cites no page of a program that is not: cmake/AcpDocs.cmake lists those."""
    listed = root / "cmake" / "AcpDocs.cmake"
    found = re.search(r"set\(ACP_DOCS_ON_DEMAND ([^)]*)\)", listed.read_text()) if listed.exists() else None
    kept_back = {tuple(page.rsplit(".", 1)) for page in found.group(1).split()} if found else set()
    problems = []
    for folder in ("man", "guide", "spec"):
        for file in sorted((root / "docs" / folder).glob("*.md")):
            if tuple(file.stem.rsplit(".", 1)) in kept_back:
                continue
            for number, line in enumerate(file.read_text().splitlines(), 1):
                problems += [f"{file.relative_to(root)}:{number}: {name}({section}) is not installed, and this document is"
                             for name, section in CITED_PAGE.findall(line.replace("\\", "")) if (name, section) in kept_back]
    return problems


def check_layout(root: pathlib.Path) -> list[str]:
    """What pandoc would run together in a manual page: the term of a definition on several lines, a list inside of a line."""
    problems = []
    for page in sorted((root / "docs" / "man").glob("*.md")):
        lines = ["", "", *page.read_text().splitlines()]
        for number in range(2, len(lines)):
            before, term, line = lines[number - 2:number + 1]
            is_term = term.strip() and not term.startswith((":", " "))
            if line.startswith(":   ") and is_term and before.strip() and not before.startswith((":", " ")):
                problems.append(f"{page.relative_to(root)}:{number - 1}: the term of a definition is one line")
            if re.search(r"[:;] - \*\*", line):
                problems.append(f"{page.relative_to(root)}:{number - 1}: a list begins inside of a line")
    return problems


def structs_in(text: str) -> dict[str, set[str]]:
    """The fields of each struct that C code defines by a typedef."""
    return {name: {re.sub(r"\[.*", "", declared).split()[-1].lstrip("*")
                   for declaration in body.split(";") if declaration.strip() for declared in declaration.split(",")}
            for body, name in STRUCT.findall(C_COMMENT.sub("", text))}


def check_structs(root: pathlib.Path) -> list[str]:
    """A field that stands in the header alone is one whose unit and range a reader of the pages never learns."""
    shown = {}
    for page in sorted((root / "docs" / "man").glob("*.md")):
        for name, fields in structs_in(page.read_text()).items():
            shown.setdefault(name, set()).update(fields)
    return [f"{header.relative_to(root)}: {name}: no page shows {', '.join(sorted(fields - shown.get(name, set())))}"
            for header in sorted((root / "include").rglob("*.h"))
            for name, fields in sorted(structs_in(header.read_text()).items()) if fields - shown.get(name, set())]


def is_file(root: pathlib.Path, beside: pathlib.Path, name: str) -> bool:
    places = [beside.parent, *(root / folder for folder in ROOTS)]
    if "/" not in name:
        return any(True for _ in all_named(root, name)) or any(any(place.glob(name)) for place in places)
    return any(any(place.glob(name)) for place in places)


@functools.lru_cache(maxsize=None)
def all_named(root: pathlib.Path, name: str) -> tuple[pathlib.Path, ...]:
    """Files of that bare name anywhere in the project."""
    folders = (*sources.FOLDERS, "lint", "docs", "cmake")
    return tuple(found for folder in folders for found in (root / folder).rglob(name))


def cited_files(text: str, is_code: bool):
    """(line, name) of the files a text names; of code, its comments."""
    for number, line in enumerate(text.splitlines(), 1):
        if is_code:
            comment = COMMENT.search(line)
            line = comment.group(1) if comment else ""
        for name in CITED_FILE.findall(re.sub(r"https?://\S+", "", line)):
            yield number, name


def check_files(root: pathlib.Path) -> list[str]:
    files = [(file, True) for file in sources.code_files(root)]
    files += [(file, False) for pattern in TEXTS for file in sorted(root.glob(pattern))]
    return [f"{file.relative_to(root)}:{number}: {name}: there is no such file"
            for file, is_code in files for number, name in cited_files(file.read_text(), is_code)
            if not name.startswith("tests/") and not is_file(root, file, name)]


def code_text(root: pathlib.Path) -> str:
    files = sources.code_files(root) + sorted((root / "cmake").glob("*")) + sorted((root / "lint").glob("*.*"))
    files += [root / "CMakeLists.txt", root / "Makefile", *sorted((root / "src").glob("LAYERS"))]
    return "\n".join(file.read_text(errors="replace") for file in files if file.is_file() and file.name != "check_docs.py")


def decided(text: str) -> list[tuple[int, str]]:
    """Lines with their numbers, without the sections about what was rejected."""
    lines, is_rejected = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("## "):
            is_rejected = line.startswith("## Rejected")
        if not is_rejected:
            lines.append((number, line))
    return lines


def quoted_names(line: str):
    """The identifiers among what a line quotes: `find_direct`, `local::View`, `publish_shared()`."""
    for quoted in QUOTED.findall(line):
        if IDENTIFIER.fullmatch(quoted) and len(quoted) > 2:
            yield quoted.removesuffix("()")


class Code:
    """All words of the code, and those of each layer, in which `layer::Name` is looked for."""

    def __init__(self, root: pathlib.Path):
        self.text = code_text(root)
        self._words = set(re.findall(r"\w+", self.text))
        self._layers = {folder.name: set(re.findall(r"\w+", "\n".join(p.read_text() for p in folder.glob("*.[hc]pp"))))
                        for folder in (root / "src").iterdir() if folder.is_dir()}

    def has(self, name: str) -> bool:
        first, *rest = name.split("::")
        known = self._layers.get(first) if rest else None
        return all(part in (known or self._words) for part in (rest if known else [first, *rest]))


def constant_of(code: str, name: str) -> float | None:
    """The value of `constexpr ... name = EXPRESSION;` when it is one of numbers."""
    found = re.search(r"\b" + name + r"\s*=\s*([^;{}]+);", code)
    if not found:
        return None
    expression = re.sub(r"(?<=[\da-fA-F])(?:ULL|UL|LL|U|L)\b", "", found.group(1).replace("'", ""))
    if not re.fullmatch(r"[\d\s+*<()./x-]+", expression):
        return None
    return float(eval(expression, {"__builtins__": {}}))  # pylint: disable=eval-used


def check_decisions(root: pathlib.Path) -> list[str]:
    code, problems = Code(root), []
    for file in sorted((root / "docs" / "adr").glob("0*.md")):
        for number, line in decided(file.read_text()):
            place = f"{file.relative_to(root)}:{number}"
            problems += [f"{place}: `{name}` is not in the code" for name in quoted_names(line) if not code.has(name)]
            for figure, unit, name in FIGURE.findall(line):
                value, told = constant_of(code.text, name), float(figure) * UNITS.get(unit, 1)
                if value is not None and value != told:
                    problems.append(f"{place}: {figure} {unit} is told of `{name}`, which is {value:g}")
    return problems


def main(root: pathlib.Path) -> int:
    problems = check_pages(root) + check_installed(root) + check_layout(root) + check_structs(root) + check_files(root) + check_decisions(root)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sources.root_given()))
