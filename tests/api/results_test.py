#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whether a call has failed is decided by its result: the tables of docs/man/acp_errors.7.md (RESULTS) say which results are
failures, and each public function is called and compared with them, before acp_init and after it. A result is one of the table
exactly when the call has set acp_errno(), which was cleared before. A function whose type is in no table fails the test.

Usage: results_test.py FOLDER_OF_SOURCES FOLDER_OF_LIBACP
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCES = pathlib.Path()
LIBRARIES = pathlib.Path()
PROTOTYPE = re.compile(r"^ACP_API\s+([^;]*?)\s*\b(acp_\w+)\s*\(((?:[^()]|\([^()]*\))*)\)\s*;", re.M)
NUMBERS = {"int", "int32_t", "int64_t", "uint32_t", "uint64_t", "size_t", "acp_ga_t", "acp_atkey_t", "acp_handle_t"}
# What ends the process, or the state that the calls are compared in.
NEVER_CALLED = {"acp_abort"}
NOT_CALLED_WHILE_IN_USE = {"acp_abort", "acp_init", "acp_finalize", "acp_reset"}


def tables() -> tuple[dict[str, str], dict[str, str], set[str]]:
    """{type: failure} and {function: failure} as C expressions on `result`, and the functions that cannot fail."""
    page = (SOURCES / "docs" / "man" / "acp_errors.7.md").read_text()
    section = re.search(r"^# RESULTS\n(.*?)^# ", page, re.M | re.S).group(1)
    by_type, by_function = {}, {}
    for names, failure in re.findall(r"^\| (`.*?) +\| `(.*?)` +\|", section, re.M):
        for name in re.findall(r"`([^`]+)`", names):
            (by_function if "acp_" in name and not name.endswith("_t") else by_type)[name] = failure
    cannot_fail = re.search(r"^These cannot fail: (.*?)\n\n", section, re.M | re.S).group(1)
    return by_type, by_function, set(re.findall(r"\bacp_\w+", cannot_fail))


def prototypes() -> dict[str, tuple[str, list[str]]]:
    """{function: (type of its result, types of its arguments)}"""
    found = {}
    for header in sorted((SOURCES / "include" / "acp").glob("*.h")):
        if header.name.startswith(("compat", "device_side")):  # the latter returns what the kernel does
            continue
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        for result, function, arguments in PROTOTYPE.findall(text):
            depth_free = re.sub(r"\(\*(\w+)\)\([^()]*\)", r"(*)", arguments)
            found[function] = (result, [one.strip() for one in depth_free.split(",")] if arguments.strip() != "void" else [])
    return found


def argument_of(argument: str) -> str:
    """The argument: NULL, or the variable of its type."""
    if "*" in argument:
        return "0"
    kind = argument.removeprefix("const ").split()[0]
    return f"zero_{kind}"


def condition(function: str, result: str) -> str:
    by_type, by_function, _ = tables()
    failure = by_function.get(function) or by_type.get(result)
    if failure is None and result.endswith("*"):
        failure = by_type["pointers"]
    if failure is None:
        raise AssertionError(f"{function}: docs/man/acp_errors.7.md does not say how a {result} tells a failure")
    if failure.startswith("."):
        return "result" + failure
    if failure.startswith("("):
        return failure
    return f"result {failure}" if failure[0] in "=!<>" else f"result == {failure}"


def program(functions: dict[str, tuple[str, list[str]]], when: str, number: int) -> str:
    """A program that calls each function with a number, and zeros for what is none, and prints the names of those whose result and
    acp_errno() disagree."""
    kinds = {argument.removeprefix("const ").split()[0] for _, arguments in functions.values() for argument in arguments
             if "*" not in argument}
    lines = ["#include <acp.h>", "#include <acp/device.h>", "#include <acp/offload.h>", "#include <stdio.h>", "#include <stdlib.h>", "int main(void) {"]
    lines += [f"    {kind} zero_{kind} = {{{number if kind in NUMBERS else 0}}}; (void)zero_{kind};" for kind in sorted(kinds)]
    if when == "in use":
        lines.append("    if (acp_init(NULL, NULL) != 0) return 2;")
    for function, (result, arguments) in functions.items():
        call = f"{function}({', '.join(map(argument_of, arguments))})"
        must = "1" if when == "before acp_init" else "acp_errno() != ACP_OK"
        lines += ["    {", "        acp_clear_errno();", f"        {result} result = {call};",
                  f"        const int is_told = ({condition(function, result)});",
                  f"        if (is_told != ({must}) || is_told != (acp_errno() != ACP_OK))",
                  f"            printf(\"{function} %d %d\\n\", is_told, acp_errno());", "    }"]
    lines += ["    fflush(stdout);", "    _Exit(0);", "}"]
    return "\n".join(lines)


def disagreeing(functions: dict[str, tuple[str, list[str]]], when: str, number: int = 0) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        source, binary = pathlib.Path(folder) / "calls.c", pathlib.Path(folder) / "calls"
        source.write_text(program(functions, when, number))
        subprocess.run(["cc", "-std=c11", "-Werror", "-I", SOURCES / "include", source, "-o", binary, "-L", LIBRARIES, "-lacp",
                        f"-Wl,-rpath,{LIBRARIES}"], check=True)
        environment = {**os.environ, "ACP_ON_ERROR": "return"}
        done = subprocess.run([binary], capture_output=True, text=True, env=environment, timeout=60, check=False)
        if done.returncode != 0:
            raise AssertionError(f"the program ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout.splitlines()


class Results(unittest.TestCase):
    def test_each_call_before_acp_init_returns_the_failure_that_the_page_says(self):
        _, _, cannot_fail = tables()
        failing = {name: types for name, types in prototypes().items() if name not in cannot_fail | NEVER_CALLED}
        failing.pop("acp_init")
        self.assertEqual(disagreeing(failing, "before acp_init"), [])

    def test_a_result_is_a_failure_exactly_when_the_call_sets_acp_errno(self):
        _, _, cannot_fail = tables()
        called = {name: types for name, types in prototypes().items() if name not in cannot_fail | NOT_CALLED_WHILE_IN_USE}
        for number in (0, -1, 1):
            self.assertEqual(disagreeing(called, "in use", number), [], f"numbers are {number}")

    def test_the_page_names_functions_and_types_that_there_are(self):
        by_type, by_function, cannot_fail = tables()
        known = prototypes()
        self.assertGreater(len(known), 300)
        for name in set(by_function) | cannot_fail:
            self.assertIn(name, known)
        results = {result for result, _ in known.values()}
        for kind in set(by_type) - {"pointers"}:
            self.assertIn(kind, results)


if __name__ == "__main__":
    SOURCES, LIBRARIES = map(pathlib.Path, sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
