#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every test file is built and run: each *_test.cpp and *_test.py below tests/ is named in the CMake list of its folder or
of one above it, or lies in tests/unit/<layer>, whose files cmake/AcpTests.cmake collects for each layer of src/LAYERS.

A merge of two changes of one list once dropped a file, and no test said so. A name with a variable, "${name}_test.cpp",
stands for each file whose part there is a word of the same list, one with a star for each that it fits. A list also names the
files of the functions of cmake/ that it calls. Tests: tests/tools/check_tests_test.py.
"""
import pathlib
import re
import sys

LISTS = ("CMakeLists.txt", "target.cmake")
COMMENT = re.compile(r"#[^\n]*")
NAME = re.compile(r"[\w./${}*-]*_test\.(?:cpp|py)\b")
VARIABLE = re.compile(r"\$\{\w+\}")
FUNCTION = re.compile(r"^function\((\w+)(.*?)^endfunction", re.M | re.S)
WORD = re.compile(r"[\w-]+")


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


def main(root: pathlib.Path) -> int:
    layers, lists, problems = layers_of(root), {}, 0
    functions = {}
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
            problems += 1
            print(f"{path.relative_to(root).as_posix()}: no CMake list names it, so it is never built or run; "
                  f"add it to tests/{place.parent.as_posix()}/CMakeLists.txt")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()))
