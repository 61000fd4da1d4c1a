#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every header compiles alone: the public ones as C11 and as C++20, those of src/ and tests/ as C++20. Given a share of
N it looks at one of the latter in N, and with the next commit at others."""
import pathlib
import re
import subprocess
import sys

import sources

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Wcast-align",
            "-Wformat=2", "-Wundef", "-Werror"]


def main(root: pathlib.Path, build: pathlib.Path, jobs: int, share: int = 1) -> int:
    search = [root / "src", root / "include", build / "generated", root / "tests", root / "tools"]
    public = [h for h in sources.code_files(root, ("include",)) if h.suffix == ".h"]
    inside = [h for h in sources.code_files(root, ("src", "tests")) if h.suffix in {".h", ".hpp"}]
    inside += sorted((root / "include").rglob("*.hpp"))
    # Included from a file with nothing else in it: some findings are about a main file only.
    alone = build.parent / "lint" / "alone.c"
    alone.parent.mkdir(parents=True, exist_ok=True)
    alone.write_text("typedef int acp_alone;\n")
    work = []
    for header in public:
        for compiler, language, standard in (("gcc", "c", "c11"), ("g++", "c++", "c++20")):
            work.append((header, [compiler, "-x", language, f"-std={standard}", *WARNINGS, "-fsyntax-only",
                                  "-I", str(root / "include"), "-include", str(header), str(alone)]))
    march = re.search(r"-march=\S+", (build / "compile_commands.json").read_text())
    includes = [part for folder in search for part in ("-I", str(folder))]
    for header in filter(sources.share_of(root, share), inside):
        language = ["gcc", "-x", "c", "-std=gnu11"] if header.suffix == ".h" else ["g++", "-x", "c++", "-std=c++20"]
        work.append((header, [*language, *([march.group()] if march else []), *WARNINGS,
                              "-fsyntax-only", *includes, "-include", str(header), str(alone)]))
    salt = subprocess.run(["g++", "--version"], check=True, capture_output=True, text=True).stdout
    ran, failed = sources.Remembered(build.parent / "lint", sources.Closure(search), jobs, salt).run(work)
    print(f"note: {len(work)} compilations, {ran} not known clean{f', 1 in {share}' if share > 1 else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), *map(int, sys.argv[3:])))
