# SPDX-License-Identifier: BSD-3-Clause
"""The lint check of classes (lint/check_classes.py) on small trees: defects that it must find, and code that it must accept."""
import pathlib
import sys
import textwrap
import unittest

from source_tree import findings_in

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lint"))
import check_classes  # noqa: E402

HEADER = "src/local/part.hpp"


def findings(files: dict[str, str], more_fields: dict[str, str] | None = None) -> list[str]:
    """What the check says about a tree of these files."""
    return findings_in(files, lambda root: check_classes.main(root, more_fields or {}))


def fields(count: int) -> str:
    return "".join(f"    int number{i}_ = 0;\n" for i in range(count))


class Circles(unittest.TestCase):
    def test_one_way_between_files_is_no_circle(self):
        self.assertEqual(findings({
            "src/local/a.cpp": "void Part::one() {\n    two();\n}\nvoid Part::three() {\n    one();\n}\n",
            "src/local/b.cpp": "void Part::two() {\n    four();\n}\nint Part::four() {\n    return 4;\n}\n"}), [])

    def test_two_files_that_call_each_other(self):
        said = findings({
            "src/local/a.cpp": "void Part::State::one() {\n    two();\n}\n",
            "src/local/b.cpp": "std::vector<int> Part::State::two() const noexcept {\n    this->one();\n}\n"})
        self.assertEqual(len(said), 1)
        self.assertIn("src/local: class Part::State ", said[0])
        self.assertIn("a.cpp calls two of b.cpp", said[0])
        self.assertIn("b.cpp calls one of a.cpp", said[0])

    def test_a_circle_through_a_third_file(self):
        said = findings({
            "src/local/a.cpp": "Part::Part(int count)\n    : count_{count}, other_(two(count)) {\n}\n",
            "src/local/b.cpp": "int Part::two(int count) {\n    return Part::three(count);\n}\n",
            "src/local/c.cpp": "int Part::three(int) {\n    four([this] { return five(); });\n}\n",
            "src/local/d.cpp": "int Part::five() {\n    return two(1);\n}\n"})
        self.assertEqual(len(said), 1)
        self.assertIn("c.cpp calls five of d.cpp", said[0])
        self.assertNotIn("a.cpp calls", said[0])

    def test_names_that_are_no_calls_of_the_class(self):
        self.assertEqual(findings({
            "src/local/a.cpp": "void Part::one() {\n    two();\n}\n",
            "src/local/b.cpp": """\
                void Part::two() {
                    other_.one();
                    other->one();
                    base::one();
                    say("one()", '"');  // one()
                    /* one() */
                }
                Part::~Part() = default;
                void use(Part& part) {
                    one();
                }
                """}), [])

    def test_classes_of_two_folders_are_two(self):
        self.assertEqual(findings({
            "src/local/a.cpp": "void Part::one() {\n    two();\n}\n",
            "src/gma/b.cpp": "void Part::two() {\n    one();\n}\n"}), [])


class Fields(unittest.TestCase):
    def test_a_class_has_twenty_at_most(self):
        text = "class Part {\npublic:\n    Part();\n\nprivate:\n%s};\n"
        self.assertEqual(findings({HEADER: text % fields(20)}), [])
        said = findings({HEADER: text % fields(21)})
        self.assertEqual(len(said), 1)
        self.assertIn("class Part has 21 fields, at most 20", said[0])

    def test_a_plain_struct_may_have_more(self):
        text = "struct Counters {\n%s    friend bool operator==(const Counters&, const Counters&) = default;\n};\n"
        self.assertEqual(findings({HEADER: text % fields(30)}), [])

    def test_a_struct_with_a_function_may_not(self):
        text = "struct Part {\n%s    void poll();\n};\n"
        self.assertEqual(len(findings({HEADER: text % fields(21)})), 1)

    def test_a_nested_class_and_one_in_a_source_file_count_for_themselves(self):
        nested = (f"class Whole {{\n    struct Inner {{\n{fields(21)}        Inner();\n    }};\n"
                  f"{fields(20)}    Whole();\n}};\n")
        said = findings({HEADER: nested})
        self.assertEqual(len(said), 1)
        self.assertIn("class Whole::Inner has 21", said[0])
        said = findings({"src/local/part.cpp": f"struct Whole::Parts {{\n{fields(21)}    explicit Parts(int);\n}};\n"})
        self.assertEqual(len(said), 1)
        self.assertIn("class Whole::Parts has 21", said[0])

    def test_every_kind_of_field_counts(self):
        kinds = ["std::array<std::uint8_t, bytes(8)> array_{};", "int (*call_)(int) = nullptr;",
                 "std::function<void(int, int)> told_;", "alignas(64) std::atomic<int> word_{0};", "Port& port_;",
                 "const Slot* slot_ = first(1);", "char rest_[16];", "std::uint32_t bit_ : 1;",
                 "LinkedPool<Record> records_{min};", "mutable std::mutex mutex_;", "decltype(call_) other_;",
                 "int more_  // why\n        [3];", "std::span<const char> text_ = {};"]
        text = "class Part {\n    Part();\n%s%s};\n"
        indented = "".join(f"    {kind}\n" for kind in kinds)
        self.assertEqual(findings({HEADER: text % (indented, fields(20 - len(kinds)))}), [])
        said = findings({HEADER: text % (indented, fields(21 - len(kinds)))})
        self.assertEqual(len(said), 1)
        self.assertIn("has 21 fields", said[0])

    def test_nothing_else_counts(self):
        others = """\
            template <template <class> class Atomic>
            class Part : public Base<int> {
            public:
                using Other = int;
                enum class Kind : char { one, two };
                struct Known;
                static constexpr int count = 3;
                static_assert(count > 2);
                friend class Whole;
                Part(int a, int b) : a_{a}, b_(b) {}
                Part& operator=(const Part&) = delete;
                [[nodiscard]] int get() const noexcept { return number0_; }
                bool operator<(const Part& other) const { int x = 1; return x < other.number0_; }
                void call(std::function<void(int)> told = {});
                virtual int poll() = 0;
            private:
            """
        self.assertEqual(findings({HEADER: textwrap.dedent(others) + fields(20) + "};\n"}), [])
        said = findings({HEADER: textwrap.dedent(others) + fields(21) + "};\n"})
        self.assertEqual(len(said), 1)
        self.assertIn("class Part has 21 fields", said[0])

    def test_an_excuse_for_a_class_that_needs_none_is_reported(self):
        text = "class Part {\n    Part();\n%s};\n"
        excuse = {"local/Part": "a reason"}
        self.assertEqual(findings({HEADER: text % fields(21)}, excuse), [])
        said = findings({HEADER: text % fields(20)}, excuse)
        self.assertEqual(len(said), 1)
        self.assertIn("local/Part, which needs it no more", said[0])


class Lines(unittest.TestCase):
    def test_files_of_gma_have_three_hundred_at_most(self):
        self.assertEqual(findings({"src/gma/a.hpp": "//\n" * 300, "src/local/a.hpp": "//\n" * 400}), [])
        said = findings({"src/gma/a.cpp": "//\n" * 301})
        self.assertEqual(len(said), 1)
        self.assertIn("src/gma/a.cpp:301: 301 lines", said[0])


if __name__ == "__main__":
    unittest.main()
