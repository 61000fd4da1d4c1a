# SPDX-License-Identifier: BSD-3-Clause
"""python3 -m acp4py.run [options of acprun] program.py [arguments]: starts the program by the acprun of this ACP.

The words before the first one that ends in .py are acprun's; with `--` the words before that are, and all behind it are
the interpreter's, as in `python3 -m acp4py.run -n 4 -- -m package.module`. The interpreter is this one.
"""
import os
import shutil
import sys

from . import _acp


def acprun_path():
    """The acprun beside the library that was loaded, or else that of PATH; None where there is none."""
    library = _acp.library()
    if library:
        folder = os.path.dirname(os.path.realpath(library))
        while folder != "/":
            folder = os.path.dirname(folder)
            found = os.path.join(folder, "bin", "acprun")
            if os.access(found, os.X_OK):
                return found
    return shutil.which("acprun")


def command_line(acprun, words):
    """What is run for the words of the command line; None where they name no program."""
    if "--" in words:
        place = words.index("--")
        return [acprun, *words[:place], "--", sys.executable, *words[place + 1:]]
    place = next((i for i, word in enumerate(words) if word.endswith(".py")), None)
    if place is None:
        return None
    return [acprun, *words[:place], sys.executable, *words[place:]]


def main():
    if sys.argv[1:] in ([], ["-h"], ["--help"]):
        print(__doc__)
        return 0 if sys.argv[1:] else 64
    acprun = acprun_path()
    if acprun is None:
        print("acp4py.run: no acprun beside libacp and in PATH", file=sys.stderr)
        return 127
    line = command_line(acprun, sys.argv[1:])
    if line is None:
        print("acp4py.run: no word ends in .py; before other programs write --", file=sys.stderr)
        return 64
    sys.stdout.flush()
    os.execv(acprun, line)


if __name__ == "__main__":
    sys.exit(main())
