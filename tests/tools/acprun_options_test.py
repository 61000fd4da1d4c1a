# SPDX-License-Identifier: BSD-3-Clause
"""Command lines that do not fit: what is wrong is said in the user's own words, and nothing is started."""
import os
import subprocess
import tempfile
import unittest

from support import ACT, BIN, WATCHDOG_S, ToolTest, acprun, clean_environment, main


def tool(name, *words):
    return subprocess.run([os.path.join(BIN, name), *words], capture_output=True, timeout=WATCHDOG_S,
                          stdin=subprocess.DEVNULL, env=clean_environment())


class Acprun(ToolTest):
    def test_an_empty_value_takes_no_other_option(self):
        with tempfile.TemporaryDirectory() as folder:
            for option in ("--output", "--ssh", "-x", "--export", "--timeout", "--bind", "--starter-size", "-n", "--net",
                           "--hostfile", "--on-failure", "-np", "-smemsize"):
                for words in ((option, ""), (option + "=",)):
                    with self.subTest(words=words):
                        result = acprun(*words, "--nodes=1", ACT, "print=ran", cwd=folder)
                        self.assert_fails(result, 64, rf"\Aacprun: the value of {option} is empty\n")
                        self.assertEqual((result.stdout, os.listdir(folder)), (b"", []))

    def test_an_option_given_twice_is_named_as_it_was_written(self):
        self.assert_fails(acprun("-n", "2", "-n", "3", ACT), 64, r"\Aacprun: -n was given twice \(2, 3\)\n")
        self.assert_fails(acprun("-np", "2", "--procs=3", ACT), 64, r"\Aacprun: --procs was given twice \(2, 3\)\n")

    def test_a_missing_value_is_named_as_it_was_written(self):
        self.assert_fails(acprun("-n", "2", "-x"), 64, r"\Aacprun: -x lacks its value \(VAR\[=VALUE\]\)\n")
        self.assert_fails(acprun("--timeout"), 64, r"\Aacprun: --timeout lacks its value \(SECONDS\)\n")

    def test_several_variables_are_no_option_given_twice(self):
        result = acprun("-x", "A=1", "-x", "B=", ACT, "variable=A", "variable=B")
        self.assertEqual((result.returncode, result.stdout), (0, b"1\n\n"), result)


class Others(ToolTest):
    def test_each_tool_names_itself_and_the_option(self):
        for name, code in (("acpstat", 64), ("acpinfo", 64)):
            with self.subTest(tool=name):
                self.assert_fails(tool(name, "--frob"), code, rf"\A{name}: unknown option --frob\n")
                self.assert_fails(tool(name, "--jsom"), code, rf"\A{name}: unknown option --jsom; did you mean --json\?\n")

    def test_a_number_out_of_its_range(self):
        for value in ("0", "nan", "inf", "-1", "fast"):
            with self.subTest(value=value):
                self.assert_fails(tool("acpstat", "--watch", value), 64,
                                  rf"\Aacpstat: --watch wants a number from 0.1 to 86400, not \"{value}\"\n")
        self.assert_fails(tool("acpinfo", "--memory", "-n", "many"), 64, r'\Aacpinfo: -n wants a number, not "many"')

    def test_an_empty_value(self):
        self.assert_fails(tool("acpstat", "--watch", ""), 64, r"\Aacpstat: the value of --watch is empty\n")
        self.assert_fails(tool("acpinfo", "--json", "", "-c"), 64, r"\Aacpinfo: the value of --json is empty\n")

    @unittest.skipUnless(os.path.exists(os.path.join(BIN, "acpbench")), "acpbench is not built")
    def test_an_experiment_that_does_not_exist(self):
        self.assert_fails(tool("acpbench", "frob"), 2, r'\Aacpbench: "frob" is none of copy, attach, .*report\n')
        self.assert_fails(tool("acpbench"), 2, r"\Aacpbench: one of these words is missing: copy, attach, ")
        self.assert_fails(tool("acpbench", "sync", "--frob"), 2, r"\Aacpbench: unknown option --frob\n")


if __name__ == "__main__":
    main()
