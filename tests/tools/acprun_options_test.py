# SPDX-License-Identifier: BSD-3-Clause
"""Wrong command lines: the error quotes the user's own words, and no process is started."""
import os
import re
import shlex
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


    def test_a_variable_that_acprun_sets_itself_is_refused(self):
        for name in ("ACP_RANK", "ACP_NODE_FD", "ACP_JOB_ID"):
            self.assert_fails(acprun("-x", name + "=1", ACT), 64, rf"\Aacprun: -x {name}: acprun itself decides this variable for its ranks")

    def test_a_directory_of_other_launchers_has_a_hint(self):
        self.assert_fails(acprun("--wdir", "/", ACT), 64, "unknown option --wdir: .* cd first")

    def test_a_file_of_hosts_has_an_end(self):
        self.assert_fails(acprun("--hostfile", "/dev/zero", ACT), 64, "--hostfile: /dev/zero has more than 16 MiB")

    def test_no_message_sends_control_characters_to_the_terminal(self):
        with tempfile.NamedTemporaryFile() as hosts:
            hosts.write(b"a\x1b[31mb\x00\xff\n")
            hosts.flush()
            for words, env in (((ACT,), {"ACP_ATTACH": "a\x1b[31mb"}), ((ACT,), {"ACP_ATACH\x1b[31m": "off"}),
                               (("--hostfile", hosts.name, ACT), {}), (("--bind=\x1b[31m", ACT), {}),
                               (("--\x1b[31m",), {}), (("/no\x1b[31m",), {})):
                with self.subTest(words=words, env=env):
                    error = acprun(*words, env=env).stderr
                    self.assertIn(rb"\x1b", error)
                    self.assertEqual([byte for byte in error if byte < 0x20 and byte != 0x0a or byte > 0x7e], [])

    def test_output_that_cannot_be_written(self):
        for words in (("--help",), ("--version",), ("--dry-run", ACT)):
            with self.subTest(words=words), open("/dev/full", "w") as full:
                done = subprocess.run([os.path.join(BIN, "acprun"), *words], stdout=full, stderr=subprocess.PIPE,
                                      timeout=WATCHDOG_S, env=clean_environment())
                self.assertEqual((done.returncode, done.stderr), (74, b"acprun: cannot write standard output\n"))

    def test_no_tool_loses_its_help_in_silence(self):
        tools = [name for name in ("acpinfo", "acpstat", "acpbench", "acpcc", "acpc++", "acpsim") if os.path.exists(os.path.join(BIN, name))]
        self.assertLess({"acpinfo", "acpstat", "acpcc"}, set(tools))
        for tool in tools:
            with self.subTest(tool=tool), open("/dev/full", "w") as full:
                done = subprocess.run([os.path.join(BIN, tool), "--help"], stdout=full, stderr=subprocess.PIPE,
                                      timeout=WATCHDOG_S, env=clean_environment())
                self.assertEqual((done.returncode, done.stderr.decode()), (74, f"{tool}: cannot write standard output\n"))

    def test_the_compiler_wrappers_name_the_variable_of_a_compiler_that_is_not_there(self):
        for tool, variable in (("acpcc", "ACP_CC"), ("acpc++", "ACP_CXX")):
            with self.subTest(tool=tool):
                def wrapped(*words):
                    return subprocess.run([os.path.join(BIN, tool), *words], capture_output=True, timeout=WATCHDOG_S,
                                          env=clean_environment(**{variable: "nocc -O2"}))
                helped = wrapped("--help")
                self.assertEqual((helped.returncode, helped.stderr), (0, b""))
                self.assertIn(b"-showme:compile", helped.stdout)
                refused = wrapped("x.c")
                self.assertEqual((refused.returncode, refused.stdout), (127, b""))
                self.assertRegex(refused.stderr.decode(), rf'\A{re.escape(tool)}: cannot run the compiler "nocc": {variable} names')

    def test_the_compiler_wrappers_show_words_that_a_shell_reads_back(self):
        words = ["a b.c", "it's", "", "-o", "x y", "$HOME", "-DX=1"]
        shown = subprocess.run([os.path.join(BIN, "acpcc"), "-show", "-c", *words], capture_output=True, timeout=WATCHDOG_S,
                               env=clean_environment(ACP_CC="cc -O2"))
        read = shlex.split(shown.stdout.decode())
        self.assertEqual(read[:2] + read[3:], ["cc", "-O2", "-c", *words], shown)

    def test_the_compiler_wrappers_say_that_path_is_empty(self):
        refused = subprocess.run([os.path.join(BIN, "acpcc"), "x.c"], capture_output=True, timeout=WATCHDOG_S, env={"PATH": ""})
        self.assertEqual((refused.returncode, refused.stdout), (127, b""))
        self.assertEqual(refused.stderr, b'acpcc: cannot run readlink: no folder of PATH ("") has it\n')

    def test_a_quiet_job_reports_no_injected_faults(self):
        loud = acprun("-n", "2", "--nodes=2", ACT, env={"ACP_FAULT": "loss=.05"})
        self.assertEqual((loud.returncode, loud.stderr.count(b"ACP_FAULT")), (0, 1), loud)
        quiet = acprun("-q", "-n", "2", "--nodes=2", ACT, env={"ACP_FAULT": "loss=.05"})
        self.assertEqual((quiet.returncode, quiet.stderr), (0, b""), quiet)

    def test_faults_on_one_node_are_reported_to_have_no_effect(self):
        result = acprun("-n", "2", ACT, env={"ACP_FAULT": "loss=0.05"})
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"warning: ACP_FAULT=loss=0.05 does nothing in a job on one node", result.stderr)


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
