# SPDX-License-Identifier: BSD-3-Clause
"""The lint check of documents (lint/check_docs.py) on small trees: structs of public headers, which the pages show."""
import pathlib
import sys
import unittest

from source_tree import findings_in

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lint"))
import check_docs  # noqa: E402

HEADER = """\
typedef struct acp_plan* acp_plan_t;
/* A grid. */
typedef struct {
    int dimensions; /* 1, 2; or 3 */
    const int*
        members; // of each
    double first, second[4];
} acp_grid_t;
"""


def findings(page: str) -> list[str]:
    """What the check says of a tree with that header and a page of this SYNOPSIS."""
    def check(root: pathlib.Path) -> int:
        for problem in (problems := check_docs.check_structs(root)):
            print(problem)
        return 1 if problems else 0
    return findings_in({"include/acp/grid.h": HEADER, "docs/man/acp_grid.3.md": page}, check)


class Structs(unittest.TestCase):
    def test_all_fields_are_shown(self):
        self.assertEqual(findings("typedef struct { int dimensions; const int* members; double first, second[4]; } acp_grid_t;"), [])

    def test_fields_that_lack_are_named(self):
        said = findings("typedef struct { int dimensions; double second[4]; } acp_grid_t;")
        self.assertEqual(said, ["include/acp/grid.h: acp_grid_t: no page shows first, members"])

    def test_a_struct_that_is_only_mentioned_is_not_shown(self):
        said = findings("int acp_add(const acp_grid_t* grid); *dimensions*, *members*, *first* and *second*")
        self.assertEqual(said, ["include/acp/grid.h: acp_grid_t: no page shows dimensions, first, members, second"])


class Installed(unittest.TestCase):
    def findings(self, **pages: str) -> list[str]:
        def check(root: pathlib.Path) -> int:
            for problem in (problems := check_docs.check_installed(root)):
                print(problem)
            return 1 if problems else 0
        files = {f"docs/man/{name}.1.md": text for name, text in pages.items()}
        return findings_in({"cmake/AcpDocs.cmake": "set(ACP_DOCS_ON_DEMAND acptry.1)  # not installed\n", **files}, check)

    def test_a_page_that_is_not_installed_is_not_cited_by_one_that_is(self):
        self.assertEqual(self.findings(acprun="one\nsee **acptry**(1)\n"),
                         ["docs/man/acprun.1.md:2: acptry(1) is not installed, and this document is"])

    def test_an_installed_page_may_cite_itself_and_others(self):
        self.assertEqual(self.findings(acprun="acpinfo(1)", acptry="acptry(1), acprun(1)"), [])


class Layout(unittest.TestCase):
    def findings(self, text: str) -> list[str]:
        def check(root: pathlib.Path) -> int:
            for problem in (problems := check_docs.check_layout(root)):
                print(problem)
            return 1 if problems else 0
        return findings_in({"docs/man/acp_try.3.md": text}, check)

    def test_a_term_is_one_line(self):
        self.assertEqual(self.findings("**a**, **b**\n:   Both.\n\n**c**\n:   It,\n    too.\n"), [])
        self.assertEqual(self.findings("one,\n**a**,\n**b**\n:   Both.\n"),
                         ["docs/man/acp_try.3.md:4: the term of a definition is one line"])

    def test_a_list_begins_a_line(self):
        self.assertEqual(self.findings("- these: - **a**;\n"), ["docs/man/acp_try.3.md:1: a list begins inside of a line"])


if __name__ == "__main__":
    unittest.main()
