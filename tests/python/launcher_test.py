# SPDX-License-Identifier: BSD-3-Clause
"""python3 -m acp4py.run finds acprun and puts the interpreter before the program; types and names are stated."""
import ast
import os
import subprocess
import sys
import unittest

import acp4py
import acp4py.run
from acp4py import _acp
from support import FOLDER, WATCHDOG_S, environment


def launch(*words):
    done = subprocess.run([sys.executable, "-m", "acp4py.run", *words], capture_output=True, text=True, timeout=WATCHDOG_S,
                          env=environment(), stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


class LauncherTest(unittest.TestCase):
    def test_a_program_runs_on_the_ranks_asked_for(self):
        code, out, error = launch("-n", "2", os.path.join(FOLDER, "examples", "hello.py"))
        self.assertEqual((code, out), (0, "hello from rank 0 of 2\nhello from rank 1 of 2\n"), error)

    def test_words_behind_two_dashes_are_the_interpreters(self):
        code, out, error = launch("-n", "2", "--", "-c", "import acp4py\nwith acp4py.init(): print(acp4py.size())")
        self.assertEqual((code, out), (0, "2\n2\n"), error)

    def test_without_a_program_it_says_how_it_is_used(self):
        self.assertEqual(launch("-n", "2")[0], 64)
        self.assertEqual(launch()[0], 64)
        self.assertEqual(launch("--help")[0], 0)

    def test_the_line_puts_the_interpreter_before_the_program(self):
        line = acp4py.run.command_line("acprun", ["-n", "2", "x.py", "-n", "y.py"])
        self.assertEqual(line, ["acprun", "-n", "2", sys.executable, "x.py", "-n", "y.py"])


class NamesTest(unittest.TestCase):
    def test_the_stubs_state_every_name_of_the_extension(self):
        with open(os.path.join(os.path.dirname(acp4py.__file__), "_acp.pyi")) as file:
            tree = ast.parse(file.read())
        stated = {}
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                stated[node.name] = {part.name if isinstance(part, ast.FunctionDef) else part.target.id for part in node.body
                                     if isinstance(part, (ast.FunctionDef, ast.AnnAssign))}
            elif isinstance(node, ast.FunctionDef):
                stated[node.name] = None
            elif isinstance(node, ast.AnnAssign):
                stated[node.target.id] = None
        names = {name for name in vars(_acp) if not name.startswith("__")}
        self.assertEqual(names, set(stated))
        for kind in (_acp.Handle, _acp.Segment, _acp.MapCalls):
            public = {name for name in vars(kind) if not name.startswith("__")}
            self.assertLessEqual(public, stated[kind.__name__], kind)

    def test_every_public_name_has_a_text(self):
        for name in acp4py.__all__:
            self.assertTrue(getattr(acp4py, name).__doc__, name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
