#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each function of compat_veo.h is in the manual page's tables and in the tests, and the page names no other one as there."""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv[1])


class Table(unittest.TestCase):
    def setUp(self):
        headers = "".join(path.read_text() for path in (ROOT / "include/acp").glob("compat_veo*.h"))
        self.functions = set(re.findall(r"^static inline [^(\n]*\b(veo_\w+)\(", headers, re.M))
        page = (ROOT / "docs/man/acp_compat_veo.3.md").read_text()
        self.rows = {}
        for row in re.findall(r"^\| (.*?) \| (.*?) \|$", page, re.M):
            for name in re.findall(r"veo_\w+", row[0].replace("\\", "")):
                self.assertNotIn(name, self.rows, "named twice")
                self.rows[name] = row[1]

    def test_names_all_functions_of_the_headers(self):
        self.assertGreaterEqual(len(self.functions), 70)
        there = {name for name, text in self.rows.items() if not text.startswith("absent")}
        self.assertEqual(there, self.functions)

    def test_says_how_each_stands(self):
        for name, text in self.rows.items():
            self.assertRegex(text, r"^(there|differs|refused|absent)\b", name)

    def test_calls_them_all(self):
        tests = "".join(path.read_text() for path in (ROOT / "tests/compat_veo").glob("*_test.cpp"))
        self.assertEqual({name for name in self.functions if name + "(" not in tests}, set())

    def test_refuses_what_the_page_says(self):
        refused = (ROOT / "include/acp/compat_veo_refused.h").read_text()
        names = set(re.findall(r"^static inline [^(\n]*\b(veo_\w+)\(", refused, re.M))
        self.assertEqual({name for name, text in self.rows.items() if text.startswith("refused")}, names)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
