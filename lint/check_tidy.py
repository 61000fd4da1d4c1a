#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""clang-tidy 14 with .clang-tidy over every file of src/, tools/ and examples/ that the build compiles.

It is the slow check (seconds per file), so it runs in parallel and remembers what it found clean. Given a share of N it
looks at one file in N, and with the next commit at others.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

import sources

FOLDERS = ("src", "tools", "examples")


def findings(output: str) -> str:
    """The errors with their source lines, a blank line between two; notes and counts left out."""
    kept, is_keeping = [], False
    for line in output.splitlines():
        if re.search(r": (?:error|warning): ", line):
            is_keeping = True
            kept.append("" if kept else None)
        elif re.search(r": note: |^\d+ warnings? |^Suppressed |^Use -header-filter", line):
            is_keeping = False
        if is_keeping:
            kept.append(line)
    return "\n".join(line for line in kept if line is not None) or output.strip()


def without_precompiled(entries: list[dict]) -> list[dict]:
    """The same compilations, each reading its own headers: clang cannot read what gcc precompiled, and whoever forgot
    to include something shall hear of it."""
    for entry in entries:
        entry["command"] = re.sub(r"-include \S+cmake_pch\.hx*\b|-Winvalid-pch|-fpch-preprocess", "", entry["command"])
    return [entry for entry in entries if not entry["file"].endswith(("cmake_pch.hxx", "cmake_pch.hxx.cxx"))]


def of_each_file(entries: list[dict]) -> list[dict]:
    """A unit that CMake made of several files is replaced by the compilations of its files."""
    single = []
    for entry in entries:
        if not re.search(r"/Unity/unity_\d+_cxx\.cxx$", entry["file"]):
            single.append(entry)
            continue
        for file in re.findall(r'#include "(.+)"', pathlib.Path(entry["file"]).read_text()):
            single.append({**entry, "file": file, "command": entry["command"].replace(entry["file"], file)})
    return single


def main(root: pathlib.Path, build: pathlib.Path, jobs: int, share: int = 1) -> int:
    tool = shutil.which("clang-tidy-14") or "clang-tidy"
    closure = sources.Closure([root / "src", root / "include", build / "generated", root / "tests"])
    work, is_due = [], sources.share_of(root, share)
    salt = subprocess.run([tool, "--version"], check=True, capture_output=True, text=True).stdout
    salt += (root / ".clang-tidy").read_text()
    entries = without_precompiled(of_each_file(json.loads((build / "compile_commands.json").read_text())))
    commands = build.parent / "lint" / build.name
    commands.mkdir(parents=True, exist_ok=True)
    (commands / "compile_commands.json").write_text(json.dumps(entries))
    for entry in entries:
        file = pathlib.Path(entry["file"])
        if not file.is_relative_to(root) or file.relative_to(root).parts[0] not in FOLDERS:
            continue
        if not is_due(file):
            continue
        work.append((file, [tool, "--quiet", "-p", str(commands),
                            "--extra-arg=-Wno-unknown-warning-option", str(file)]))
    ran, failed = sources.Remembered(build.parent / "lint", closure, jobs, salt).run(work, findings)
    print(f"note: {len(work)} files, {ran} not known clean{f', 1 in {share}' if share > 1 else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), *map(int, sys.argv[3:])))
