#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Writes start_functions.ld: a linker script that puts the functions next to each other which every program runs between acp_init
# and acp_finalize. The kernel maps code in windows of 64 KiB around what runs, so functions that are spread over the library
# cost each rank ten times their size. Finds them by callgrind, in all ranks of a small job.
#   usage: cmake/start_functions.py BUILD PROGRAM >cmake/start_functions.ld    PROGRAM: one of examples/, as built
#          cmake/start_functions.py --check BUILD    fails when many of the names are no functions of the library any more
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).with_suffix(".ld")
HEAD = """\
/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of libacp.so that every program runs, next to each other. Written by start_functions.py; a name that is no
 * function any more is passed over. */
SECTIONS
{
  .text.start_functions :
  {
"""
FOOT = """\
  }
}
INSERT BEFORE .text;
"""
KNOWN_SHARE_MIN = 0.7


def source_name(name):
    """Of a function that the compiler has specialised or cut: the name that begins the name of its section. Constructors and
    destructors have two names, 1 and 2, for the same code."""
    return re.sub(r"([CD])[12](?=E)", r"\1?", re.sub(r"\.(part|constprop|isra|lto_priv|localalias)\b.*", "", name))


def functions_in(profile):
    """The names of the library's functions that a callgrind file has costs of."""
    names, objects, found, is_library = {}, {}, set(), False
    for line in profile.read_text().splitlines():
        match = re.match(r"(c?ob|c?fn)=\((\d+)\)(?: (.*))?$", line)
        if match is None:
            continue
        kind, number, name = match.groups()
        table = objects if kind.endswith("ob") else names
        if name is not None:
            table[number] = name
        if kind == "ob":
            is_library = "/libacp.so" in objects[number]
        elif kind == "fn" and is_library:
            found.add(source_name(names[number].split("'")[0]))
    return found


def write(build, program):
    found = set()
    with tempfile.TemporaryDirectory() as folder:
        command = [f"{build}/bin/acprun", "-n", "3", "valgrind", "--tool=callgrind", "--demangle=no",
                   f"--callgrind-out-file={folder}/%p", program]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for profile in pathlib.Path(folder).iterdir():
            found |= functions_in(profile)
    sys.stdout.write(HEAD)
    for name in sorted(found):
        if name.startswith(("acp", "_Z")):
            sys.stdout.write(f"    *(.text.{name} .text.{name}.*)\n")
    sys.stdout.write(FOOT)


def check(build):
    library = f"{build}/lib/libacp.so"
    text = subprocess.run(["nm", library], check=True, capture_output=True, text=True).stdout
    known = {source_name(line.split()[-1]) for line in text.splitlines()}
    names = re.findall(r"\*\(\.text\.(\S+) ", SCRIPT.read_text())
    gone = [name for name in names if name not in known]
    if len(gone) > (1 - KNOWN_SHARE_MIN) * len(names):
        sys.exit(f"{SCRIPT.name}: {len(gone)} of {len(names)} names are no functions of {library}, such as {gone[0]}; "
                 "write it anew")


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: start_functions.py BUILD PROGRAM | --check BUILD")
    if sys.argv[1] == "--check":
        check(sys.argv[2])
    else:
        write(os.path.abspath(sys.argv[1]), sys.argv[2])


if __name__ == "__main__":
    main()
