# SPDX-License-Identifier: BSD-3-Clause
"""The lint check of names of types (lint/check_names.py) on small trees: defects that it must find, and code that it must accept."""
import pathlib
import sys
import textwrap
import unittest

from source_tree import findings_in

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lint"))
import check_names  # noqa: E402


def findings(files: dict[str, str]) -> list[str]:
    """What the check says about a tree of these files."""
    return findings_in(files, check_names.main)


def two(first: str, second: str) -> list[str]:
    """What the check says about two headers of two layers."""
    return findings({"src/local/first.hpp": f"namespace acp::local {{\n\n{textwrap.dedent(first)}\n}}\n",
                     "src/router/second.hpp": f"namespace acp::router {{\n\n{textwrap.dedent(second)}\n}}\n"})


class Twice(unittest.TestCase):
    def test_two_namespaces_and_both_places_are_named(self):
        said = two("struct Peer {\n    int number = 0;\n};", "class Other {};\n\nclass Peer final : public Other {};")
        self.assertEqual(len(said), 1)
        self.assertIn("local::Peer (src/local/first.hpp:3)", said[0])
        self.assertIn("router::Peer (src/router/second.hpp:5)", said[0])

    def test_every_kind_of_type_counts(self):
        for kind in ["struct Peer {};", "class Peer : public Base<int> {};", "enum class Peer : char { one, two };",
                     "enum Peer { one, two };", "union Peer {};", "struct alignas(64) Peer {};", "struct\n    Peer {};",
                     "class [[nodiscard]] Peer {};", "template <class T, typename U = int> class Peer {};",
                     "using Peer = int;"]:
            with self.subTest(kind=kind):
                said = two("struct Peer {};", f"struct Before {{ int x[2] = {{1, 2}}; }};\n\n{kind}")
                self.assertEqual(len(said), 1)
                self.assertIn("router::Peer (src/router/second.hpp:5)", said[0])

    def test_an_inner_type_may_not_have_the_name_of_one_of_a_namespace(self):
        said = two("struct Peer {};", """\
            class Port {
            public:
                [[nodiscard]] bool is_open() const { return true; }

            private:
                struct Peer {
                    int number = 0;
                };
            };""")
        self.assertEqual(len(said), 1)
        self.assertIn("router::Port::Peer (src/router/second.hpp:8)", said[0])

    def test_three_places_are_one_finding(self):
        said = findings({f"src/{layer}/peer.hpp": f"namespace acp::{layer} {{\nstruct Peer {{}};\n}}\n"
                         for layer in ("local", "router", "sim")})
        self.assertEqual(len(said), 1)
        self.assertIn("one name for 3 types, Peer: ", said[0])

    def test_namespaces_in_one_another_are_looked_into(self):
        said = findings({"src/local/first.hpp": "namespace acp {\nnamespace local {\nstruct Peer {};\n}\n}\n",
                         "src/router/second.hpp": 'extern "C" {\nstruct Peer {\n    int x;\n};\n}\n'})
        self.assertEqual(len(said), 1)
        self.assertIn("local::Peer (src/local/first.hpp:3), Peer (src/router/second.hpp:2)", said[0])


class Once(unittest.TestCase):
    def test_inner_types_of_two_classes_have_their_owners_names(self):
        self.assertEqual(two("class Port {\n    enum class State { open };\n};",
                             "class Queue {\n    struct State {};\n    class Queue2 {\n        struct State {};\n    };\n};"), [])

    def test_a_source_file_and_a_tool_are_no_headers_of_the_library(self):
        self.assertEqual(findings({"src/local/peer.hpp": "namespace acp::local {\nstruct Peer {};\n}\n",
                                   "src/router/own.cpp": "namespace acp::router {\nnamespace {\nstruct Peer {};\n}\n}\n",
                                   "tools/acprun/peer.hpp": "namespace acp::run {\nstruct Peer {};\n}\n"}), [])

    def test_declarations_that_define_no_type_do_not_count(self):
        self.assertEqual(two("struct Peer {};", """\
            struct Peer;
            class local::Peer;
            // struct Peer {
            /* class Peer { }; */
            #define PEER \\
                struct Peer {
            using local::Peer;
            const char* text = "struct Peer {";
            struct Peer* first(struct Peer& other);
            template <class Peer>
            void use(Peer& peer) {
                struct Peer {};
                using Peer = int;
            }
            struct Holder {
                friend class Peer;
                struct Peer* peer = nullptr;
                int peers() const { struct Peer { int x; }; return 1; }
            };
            """), [])

    def test_a_specialisation_counts_as_its_template(self):
        self.assertEqual(two("template <typename T>\nstruct Traits {};", "template <>\nstruct local::Traits<int> {};"), [])

    def test_a_type_and_its_definition_elsewhere_are_one(self):
        self.assertEqual(findings({
            "src/local/a.hpp": "namespace acp::local {\nclass Port {\n    struct Parts;\n};\nstruct Port::Parts {};\n}\n",
            "src/local/b.hpp": "namespace acp::local {\nstruct Parts2 {};\nclass Queue {\n    struct Parts {};\n};\n}\n"}),
            [])

    def test_two_variants_of_one_type_are_one(self):
        self.assertEqual(findings({
            "src/os/a.hpp": "namespace acp::os {\n#if A\nstruct Futex {};\n#else\nstruct Futex {};\n#endif\n}\n"}), [])

    def test_aliases_of_one_text_mean_one_thing(self):
        self.assertEqual(two("using Bytes = std::span<const std::byte>;", "using Bytes = std::span<const std::byte>;"), [])
        said = two("using Bytes = std::span<const std::byte>;", "using Bytes = std::vector<std::byte>;")
        self.assertEqual(len(said), 1)


if __name__ == "__main__":
    unittest.main()
