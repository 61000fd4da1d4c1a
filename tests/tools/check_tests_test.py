# SPDX-License-Identifier: BSD-3-Clause
"""The lint check of test files (lint/check_tests.py) on small trees: files that no list names, and all ways to name one; layers
without enough unit tests."""
import pathlib
import sys
import unittest

from source_tree import findings_in

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lint"))
import check_tests  # noqa: E402

LAYERS = {"src/LAYERS": "# the house: what it may include\nbase:\nos: base  # one facility per file\n"}


def findings(files: dict[str, str]) -> list[str]:
    """The files that the check says no list names."""
    return [line.split(":")[0] for line in findings_in({**LAYERS, **files}, check_tests.main)]


class Tests(unittest.TestCase):
    def test_a_file_that_no_list_names_is_found(self):
        self.assertEqual(findings({"tests/team/CMakeLists.txt": "add(team SOURCES one_test.cpp)\n",
                                   "tests/team/one_test.cpp": "", "tests/team/other_test.cpp": "", "tests/team/tool_test.py": "",
                                   "tests/team/helper.cpp": ""}),
                         ["tests/team/other_test.cpp", "tests/team/tool_test.py"])

    def test_a_folder_without_a_list_is_found(self):
        self.assertEqual(findings({"tests/team/one_test.cpp": ""}), ["tests/team/one_test.cpp"])

    def test_a_name_in_a_comment_does_not_count(self):
        self.assertEqual(findings({"tests/team/CMakeLists.txt": "# one_test.cpp\n", "tests/team/one_test.cpp": ""}),
                         ["tests/team/one_test.cpp"])

    def test_a_longer_name_does_not_count(self):
        self.assertEqual(findings({"tests/team/CMakeLists.txt": "add(more_one_test.cpp one_test.cpp2)\n", "tests/team/one_test.cpp": ""}),
                         ["tests/team/one_test.cpp"])

    def test_names_with_variables_stand_for_the_words_of_the_list(self):
        text = 'foreach(check docs layers)\n    add("${CMAKE_CURRENT_SOURCE_DIR}/check_${check}_test.py")\nendforeach()\n'
        self.assertEqual(findings({"tests/tools/CMakeLists.txt": text, "tests/tools/check_docs_test.py": "",
                                   "tests/tools/check_names_test.py": ""}), ["tests/tools/check_names_test.py"])

    def test_a_star_stands_for_any_name(self):
        self.assertEqual(findings({"tests/tools/CMakeLists.txt": 'file(GLOB suites "${CMAKE_CURRENT_SOURCE_DIR}/acprun_*_test.py")\n',
                                   "tests/tools/acprun_key_test.py": "", "tests/tools/acpstat_test.py": ""}),
                         ["tests/tools/acpstat_test.py"])

    def test_a_function_names_files_for_those_who_call_it(self):
        cmake = "function(add_kills name)\n    add(${name} SOURCES kill_test.cpp)\nendfunction()\n"
        self.assertEqual(findings({"cmake/Kills.cmake": cmake, "tests/pm/CMakeLists.txt": "add_kills(pm)\n", "tests/pm/kill_test.cpp": "",
                                   "tests/dsm/CMakeLists.txt": "add(dsm)\n", "tests/dsm/kill_test.cpp": ""}),
                         ["tests/dsm/kill_test.cpp"])

    def test_a_list_of_a_folder_above_names_it_by_its_path(self):
        self.assertEqual(findings({"tests/team/CMakeLists.txt": "add(parts/one_test.cpp)\n", "tests/team/parts/one_test.cpp": "",
                                   "tests/team/parts/other_test.cpp": ""}), ["tests/team/parts/other_test.cpp"])

    def test_unit_tests_of_a_layer_are_collected(self):
        self.assertEqual(findings({"tests/unit/os/one_test.cpp": "", "tests/unit/os/parts/other_test.cpp": "",
                                   "tests/unit/attic/one_test.cpp": ""}),
                         ["tests/unit/attic/one_test.cpp", "tests/unit/os/parts/other_test.cpp"])

    def test_half_a_line_of_unit_tests_is_asked_for_each_line_of_a_layer(self):
        source = {"src/os/one.hpp": "\n" * 60, "src/os/one.cpp": "\n" * 40}
        enough = {"tests/unit/os/one_test.cpp": "\n" * 30, "tests/unit/os/scene.hpp": "\n" * 20}
        self.assertEqual(findings({**source, **enough}), [])
        self.assertEqual(findings({**source, **enough, "src/os/more.cpp": "\n"}), ["tests/unit/os"])
        self.assertEqual(findings(source), ["tests/unit/os"])

    def test_a_layer_of_the_list_may_have_less(self):
        self.assertEqual(findings({"src/base/one.cpp": "\n" * 100, "tests/unit/base/one_test.cpp": "\n" * 48}), [])
        self.assertEqual(findings({"src/base/one.cpp": "\n" * 100, "tests/unit/base/one_test.cpp": "\n" * 47}), ["tests/unit/base"])


if __name__ == "__main__":
    unittest.main()
