#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""<acp/generic.h>: each function of a container has a generic name that the C preprocessor turns into it, and each macro of
ACP 3.0 is there.

Usage: generic_test.py FOLDER_OF_INCLUDE
"""
import pathlib
import re
import subprocess
import sys
import unittest

INCLUDE = pathlib.Path()
TYPES = ("vector", "deque", "list", "set", "multiset", "map", "multimap", "ws")
CALLER_STORES = ("local_set", "local_multiset", "local_map", "local_multimap")
OF_3_0 = """assign assign_range at back begin bucket bucket_count bucket_size capacity clear count create destroy empty end erase
    erase_range find front insert insert_range merge pop_back pop_front push_back push_front remove reserve reverse size sort
    splice swap unique advance decrement dereference dereference_value distance increment size_value""".split()
FUNCTION = re.compile(r"^ACP_API\b[^;(]*?\bacp_(\w+)\s*\(", re.M)


def expand(calls: list[str]) -> list[str]:
    """What the preprocessor makes of each line behind <acp/generic.h>."""
    source = "#include <acp/generic.h>\n" + "".join(f"= {call}\n" for call in calls)
    done = subprocess.run(["cc", "-E", "-P", "-std=c11", "-I", INCLUDE, "-x", "c", "-"], input=source, capture_output=True,
                          text=True, check=True)
    return [line[1:].strip() for line in done.stdout.splitlines() if line.startswith("=")]


def macros() -> list[str]:
    return re.findall(r"#define acp_(\w+)\(type", (INCLUDE / "acp" / "generic.h").read_text())


def container_functions() -> list[str]:
    """Names without acp_ that the headers declare and that end with a container's or an iterator's type, or contain it."""
    found = []
    for name in TYPES:
        header = INCLUDE / "acp" / f"{name}.h"
        if header.exists():
            found += FUNCTION.findall(header.read_text())
    return found


def generic_name(function: str) -> tuple[str, str]:
    """(macro, type) by which a function is called: insert_map is insert(map), increment_map_it increment(map_it), size_local_map
    size(local_map), create_map_with create_with(map). Its own name and no type where no macro fits."""
    known = set(macros())
    for name in TYPES + CALLER_STORES:
        match = re.fullmatch(rf"(\w+)_({name}(?:_it)?)((?:_with)?)", function)
        if match and match.group(1) + match.group(3) in known:
            return match.group(1) + match.group(3), match.group(2)
    return function, ""


class Generic(unittest.TestCase):
    def test_every_macro_of_3_0_is_there_once(self):
        for name in OF_3_0:
            self.assertEqual(macros().count(name), 1, name)
        self.assertEqual(len(macros()), len(set(macros())))

    def test_a_macro_joins_its_name_and_the_type_and_keeps_the_arguments(self):
        types = TYPES + CALLER_STORES + tuple(f"{name}_it" for name in TYPES)
        names = [name for name in macros() if name != "create_with"]
        pairs = [(name, kind) for name in names for kind in types]
        expanded = expand([f"acp_{name}({kind}, a, (b), \"c,d\")" for name, kind in pairs])
        self.assertEqual(expanded, [f"acp_{name}_{kind}(a, (b), \"c,d\")" for name, kind in pairs])

    def test_one_argument_is_enough(self):
        self.assertEqual(expand(["acp_clear(local_map, m)", "acp_increment(list_it, i)"]),
                         ["acp_clear_local_map(m)", "acp_increment_list_it(i)"])

    def test_every_function_of_a_container_has_a_generic_name(self):
        functions = container_functions()
        self.assertIn("insert_map", functions)
        calls = ["acp_{}({}, a)".format(*generic_name(function)) for function in functions]
        self.assertEqual(expand(calls), [f"acp_{function}(a)" for function in functions])


if __name__ == "__main__":
    INCLUDE = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
