# SPDX-License-Identifier: BSD-3-Clause
"""The lint check of layers (lint/check_layers.py) on small trees: a layer that includes or names one above, and code that it
must accept."""
import pathlib
import sys
import unittest

from source_tree import findings_in

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lint"))
import check_layers  # noqa: E402

LAYERS = "os:\nnode: os\nmessage: node\nteam: node\napi: *\n"


def findings(text: str, file: str = "node/slot.cpp") -> list[str]:
    """What the check says about a tree in which the one file of a layer above os has this text."""
    return findings_in({"src/LAYERS": LAYERS.replace(": node", ":").replace("node: os", "node:"), "src/" + file: text},
                       check_layers.main)


class Names(unittest.TestCase):
    def expect_found(self, text: str, name: str, layer: str, line: int):
        said = findings(text)
        self.assertEqual(len(said), 1, said)
        self.assertIn(f"slot.cpp:{line}: layer 'node' names '{name}', which belongs to layer '{layer}'", said[0])

    def test_a_namespace_of_a_layer_above_is_found(self):
        self.expect_found("int a;\nint b = team::count;\n", "team::", "team", 2)

    def test_a_namespace_of_two_words_is_found(self):
        said = findings_in({"src/LAYERS": "node:\nnode_study: node\napi: *\n", "src/node/slot.cpp": "int b = node_study::count;\n"},
                           check_layers.main)
        self.assertEqual(len(said), 1, said)
        self.assertIn("slot.cpp:1: layer 'node' names 'node_study::', which belongs to layer 'node_study'", said[0])

    def test_the_word_of_a_layer_above_is_found_in_an_identifier(self):
        for name in ("team_none", "awaited_team", "AwaitedTeam", "team", "TeamCall", "teams_"):
            with self.subTest(name=name):
                self.expect_found(f"\nint {name} = 0;\n", name, "team", 2)

    def test_a_call_of_a_layer_above_is_found_in_a_text(self):
        self.expect_found('\n\nauto name = "acp_wait_ch";\n', "acp_wait_ch", "message", 3)
        self.expect_found('auto name = "in acp_nbsync_team";\n', "acp_nbsync_team", "team", 1)

    def test_comments_may_name_what_is_above(self):
        self.assertEqual(findings("// team::count, team_none and acp_send_ch\nint a = 0;  /* acp_sync_team */\n"), [])

    def test_other_words_calls_and_lower_layers_are_accepted(self):
        for text in ("int steam_count = 0;\n", "int message_bytes = 0;\n", 'auto name = "acp_sync acp_wait";\n',
                     "int a = os::count;\n", "int a = node::count;\n", 'auto a = "team";\n'):
            with self.subTest(text=text):
                self.assertEqual(findings(text), [])

    def test_a_layer_may_name_itself_and_what_is_below(self):
        self.assertEqual(findings('auto team_call = "acp_sync_team acp_send_ch";\n', "team/team.cpp"), [])

    def test_an_include_of_a_layer_above_is_found(self):
        said = findings('#include "team/team.hpp"\n')
        self.assertEqual(len(said), 1, said)
        self.assertIn("layer 'node' may not include layer 'team'", said[0])


if __name__ == "__main__":
    unittest.main()
