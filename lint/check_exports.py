#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""libacp.so exports exactly the functions of lint/exports.txt, which are exactly those the public headers
declare, all at symbol version ACP_4, and needs no library but libc, libstdc++ and their parts. Neither it nor libacp.a
holds anything of the layers below api in src/LAYERS, which are for tools and tests alone. No large object of libacp.so has
initial values: every process would have pages of its own for them, used or not.
"""
import pathlib
import re
import subprocess
import sys

from check_house import public_functions
from check_layers import ALL_SEEING, read_layers

NEEDED = {"libstdc++.so.6", "libgcc_s.so.1", "libc.so.6", "libpthread.so.0", "libm.so.6",
          "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}

INITIALISED_MAX = 4096  # bytes of one object, a page


def difference(left: set[str], left_name: str, right: set[str], right_name: str) -> list[str]:
    return ([f"{name}: in {left_name}, not in {right_name}" for name in sorted(left - right)] +
            [f"{name}: in {right_name}, not in {left_name}" for name in sorted(right - left)])


def names_of_layers(root: pathlib.Path, library: pathlib.Path) -> list[str]:
    """What of a library's functions and data belongs to layers that stand below api; a stripped library shows nothing."""
    order = list(read_layers(root / "src" / "LAYERS"))
    apart = "|".join(order[order.index(ALL_SEEING) + 1:])
    table = subprocess.run(["nm", "--demangle", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    found = sorted(set(re.findall(rf"\bacp::(?:{apart})::\w+", table)))
    return [f"{library.name} holds {name}, of a layer below api" for name in found]


def initialised_objects(library: pathlib.Path) -> list[str]:
    """Objects of writable initialised data that take more than a page; one that is all zero takes none until it is used."""
    table = subprocess.run(["nm", "--demangle", "--print-size", "--defined-only", library], check=True, capture_output=True,
                           text=True).stdout
    objects = [(int(size, 16), name) for size, name in re.findall(r"^[0-9a-f]+ ([0-9a-f]+) [dD] (.+)$", table, re.MULTILINE)]
    return [f"{library.name}: {name} has {size} bytes of initial values; let it begin as zero"
            for size, name in objects if size > INITIALISED_MAX]


def main(root: pathlib.Path, build: pathlib.Path) -> int:
    listed = {line.split("#")[0].strip() for line in (root / "lint/exports.txt").read_text().splitlines()} - {""}
    problems = difference(set(public_functions(root)), "include/acp", listed, "lint/exports.txt")
    library = build / "lib" / "libacp.so"
    if (root / "src" / "api").is_dir():
        table = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True)
        symbols = [line.split()[-1] for line in table.stdout.splitlines() if " A " not in line]
        problems += [f"{symbol}: not at version ACP_4" for symbol in symbols if not symbol.endswith("@@ACP_4")]
        problems += difference({symbol.split("@")[0] for symbol in symbols}, "libacp.so", listed, "lint/exports.txt")
    dynamic = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
    for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        if needed not in NEEDED:
            problems.append(f"libacp.so needs {needed}; load it where it is used, or do without")
    problems += initialised_objects(library)
    for kind in ("so", "a"):
        if (file := build / "lib" / f"libacp.{kind}").exists():
            problems += names_of_layers(root, file)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
