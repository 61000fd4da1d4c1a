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


if __name__ == "__main__":
    unittest.main()
