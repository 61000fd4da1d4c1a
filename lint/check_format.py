#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every C and C++ file is laid out as clang-format 14 does; with --fix (`make format`) lays them out."""
import pathlib
import re
import shutil
import subprocess
import sys

import sources


def main(root: pathlib.Path, is_fixing: bool) -> int:
    tool = shutil.which("clang-format-14") or "clang-format"
    files = [str(file) for file in sources.code_files(root)]
    if is_fixing:
        return subprocess.run([tool, "-i", *files]).returncode
    done = subprocess.run([tool, "--dry-run", "-Werror", *files], stderr=subprocess.PIPE, text=True)
    lines: dict[str, list[str]] = {}
    for file, line in re.findall(r"^(.*?):(\d+):\d+: error: ", done.stderr, re.M):
        numbers = lines.setdefault(file, [])
        if line not in numbers:
            numbers.append(line)
    for file, numbers in lines.items():
        print(f"{file}:{numbers[0]}: not as clang-format lays it out, {len(numbers)} lines (make format)")
    if done.returncode != 0 and not lines:
        print(done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sources.root_given(), "--fix" in sys.argv))
