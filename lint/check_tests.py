#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Layers have unit tests, and every test file is built and run.

tests/unit/<layer> has at least half as many lines as src/<layer>; the layers of LESS have fewer, each with what tests it
instead. A change may raise a share, never lower one.

Each *_test.cpp and *_test.py below tests/ is named in the CMake list of its folder or
of one above it, or lies in tests/unit/<layer>, whose files cmake/AcpTests.cmake collects for each layer of src/LAYERS.

A merge of two changes of one list once dropped a file, and no test said so. A name with a variable, "${name}_test.cpp",
stands for each file whose part there is a word of the same list, one with a star for each that it fits. A list also names the
files of the functions of cmake/ that it calls. Tests: tests/tools/check_tests_test.py.
"""
import pathlib
import re
import sys
from typing import Iterator

import sources

LISTS = ("CMakeLists.txt", "target.cmake")
COMMENT = re.compile(r"#[^\n]*")
NAME = re.compile(r"[\w./${}*-]*_test\.(?:cpp|py)\b")
VARIABLE = re.compile(r"\$\{\w+\}")
FUNCTION = re.compile(r"^function\((\w+)(.*?)^endfunction", re.M | re.S)
WORD = re.compile(r"[\w-]+")
LEAST = 0.5  # lines of unit tests for each line of a layer
LESS = {
    "base": 0.48,
    "claims": 0.0,    # one table; each layer tests its own rows
    "launch": 0.46,   # acprun and the agent: tests/tools
    "memory": 0.49,
    "sim": 0.24,      # the simulator of tests/sim
}


def layers_of(root: pathlib.Path) -> set[str]:
    lines = (root / "src" / "LAYERS").read_text().splitlines()
    return {line.split(":")[0].strip() for line in lines if ":" in line and not line.startswith("#")}


def is_named(file: str, text: str, words: set[str]) -> bool:
    """Whether a list of these words, without comments, names a file.   file  its path from the list's folder"""
    for name in NAME.findall(text):
        name = name.rsplit("}/", 1)[-1]  # "${CMAKE_CURRENT_SOURCE_DIR}/name"
        parts = VARIABLE.split(name)
        fitting = (re.escape(part).replace(r"\*", r"[\w-]*") for part in parts)
        found = re.fullmatch(r"([\w-]+)".join(fitting), file)
        if found and all(part in words for part in found.groups()):
            return True
    return False


def lines_of(folder: pathlib.Path) -> int:
    """The lines of the sources of a folder, comments and blank ones included."""
    return sum(len(file.read_text().splitlines()) for file in folder.rglob("*") if file.suffix in sources.CODE)


def untested_layers(root: pathlib.Path) -> Iterator[str]:
    """Yields a finding for each layer that has too few unit tests."""
    for layer in sorted(layers_of(root)):
        lines, tests = lines_of(root / "src" / layer), lines_of(root / "tests" / "unit" / layer)
        least = LESS.get(layer, LEAST)
        if tests < least * lines:
            yield (f"tests/unit/{layer}: {tests} lines, {tests / lines:.2f} a line of src/{layer}; at least {least} are asked "
                   f"(docs/house-rules.md, Tests)")


def unnamed_files(root: pathlib.Path) -> Iterator[str]:
    """Yields a finding for each test file that no CMake list names."""
    layers, lists, functions = layers_of(root), {}, {}
    for file in (root / "cmake").glob("*.cmake"):
        functions.update(FUNCTION.findall(COMMENT.sub("", file.read_text())))
    for path in sorted((root / "tests").rglob("*_test.*")):
        if path.suffix not in (".cpp", ".py"):
            continue
        place = path.relative_to(root / "tests")
        if len(place.parts) == 3 and place.parts[0] == "unit" and place.parts[1] in layers:
            continue
        folders = [folder for folder in path.parents if folder.is_relative_to(root / "tests")]
        for folder in folders:
            for name in LISTS:
                if (folder / name) not in lists:
                    text = COMMENT.sub("", (folder / name).read_text()) if (folder / name).is_file() else ""
                    words = set(WORD.findall(text))
                    lists[folder / name] = (text + "".join(functions[word] for word in sorted(words & functions.keys())), words)
        if not any(is_named(path.relative_to(folder).as_posix(), *lists[folder / name]) for folder in folders for name in LISTS):
            yield (f"{path.relative_to(root).as_posix()}: no CMake list names it, so it is never built or run; "
                   f"add it to tests/{place.parent.as_posix()}/CMakeLists.txt")


def main(root: pathlib.Path) -> int:
    findings = [*unnamed_files(root), *untested_layers(root)]
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sources.root_given()))
