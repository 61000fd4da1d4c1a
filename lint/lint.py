#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs every check of this folder: one line each, the findings of those that fail, and the time.

Lines of a check's output that begin with "note: " stand beside its result.
"""
import argparse
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build/release", help="a built tree (its library and compile commands)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--share", type=int, default=1,
                        help="the slow checks look at one file in so many, at others with the next commit")
    arguments = parser.parse_args()
    build, jobs = str(pathlib.Path(arguments.build).resolve()), str(arguments.jobs)
    checks = [
        ("layers", ["check_layers.py", str(ROOT)], "includes follow src/LAYERS"),
        ("house", ["check_house.py", str(ROOT)], "sizes, first lines, leftovers, man pages"),
        ("classes", ["check_classes.py", str(ROOT)], "one class is one object: no circles of files, few fields"),
        ("names", ["check_names.py", str(ROOT)], "one name of a type is one thing"),
        ("tests", ["check_tests.py", str(ROOT)], "every test file is run, and layers have unit tests"),
        ("docs", ["check_docs.py", str(ROOT)], "pages, files and names that texts cite exist"),
        ("words", ["check_words.py", str(ROOT)], "sentences name their actor and the protocol's verb"),
        ("format", ["check_format.py", str(ROOT)], "laid out by clang-format"),
        ("spec", ["check_spec.py", str(ROOT)], "every requirement is kept and shown"),
        ("exports", ["check_exports.py", str(ROOT), build], "libacp shows acp_* alone, and holds its own layers alone"),
        ("headers", ["check_headers.py", str(ROOT), build, jobs, str(arguments.share)], "each compiles alone"),
        ("tidy", ["check_tidy.py", str(ROOT), build, jobs, str(arguments.share)], "clang-tidy"),
    ]
    failed, began = [], time.monotonic()
    for name, command, meaning in checks:
        start = time.monotonic()
        done = subprocess.run([sys.executable, str(ROOT / "lint" / command[0]), *command[1:]],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        lines = done.stdout.splitlines()
        notes = [line.removeprefix("note: ") for line in lines if line.startswith("note: ")]
        result = "ok" if done.returncode == 0 else "FAILED"
        print(f"lint: {name:8} {result:6} {time.monotonic() - start:6.1f} s  {meaning}"
              f"{' (' + '; '.join(notes) + ')' if notes else ''}", flush=True)
        if done.returncode != 0:
            failed.append(name)
            print("\n".join("    " + line for line in lines if not line.startswith("note: ")), flush=True)
    verdict = "all hold" if not failed else "failed: " + ", ".join(failed)
    print(f"lint: {verdict}, {time.monotonic() - began:.1f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
