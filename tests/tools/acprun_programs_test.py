# SPDX-License-Identifier: BSD-3-Clause
"""Jobs whose ranks run several programs: the program of each rank, on one node and on several, and messages about mistakes."""
import os
import re
import tempfile
import unittest

from support import ACT, MEMBER, RANK, SSH_STUB, ToolTest, acprun, main

WHO = ("sh", "-c", 'echo $ACP_RANK of $ACP_PROCS on $ACP_NODE: $0 "$@"')


def lines_of(result):
    return sorted(result.stdout.decode().splitlines())


class Numbers(ToolTest):
    def test_ranks_are_numbered_in_the_order_of_the_programs(self):
        result = acprun("-n", "2", *WHO, "a", "1", ":", "-n", "1", *WHO, "b", ":", "-np", "3", *WHO, "c", "-n", "9")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual(lines_of(result), ["0 of 6 on 0: a 1", "1 of 6 on 0: a 1", "2 of 6 on 0: b",
                                            "3 of 6 on 0: c -n 9", "4 of 6 on 0: c -n 9", "5 of 6 on 0: c -n 9"])

    def test_nodes_are_filled_in_the_order_of_the_ranks(self):
        result = acprun("--nodes=2", "-n", "1", *WHO, "a", ":", "--procs=4", *WHO, "b")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(lines_of(result), ["0 of 5 on 0: a"] + [f"{i} of 5 on {i // 3}: b" for i in range(1, 5)])

    def test_hosts_are_filled_in_the_order_of_the_ranks(self):
        result = acprun("--ssh", SSH_STUB, "--hosts", "a:2,b:2", "-n", "3", *WHO, "a", ":", "-n1", *WHO, "b")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(lines_of(result), ["0 of 4 on 0: a", "1 of 4 on 0: a", "2 of 4 on 1: a", "3 of 4 on 1: b"])

    def test_programs_share_one_global_address_space(self):
        words = ("init", "fill=x", "put=0", "add=word", "sync", "reset=1", "sync", "finalize")
        with tempfile.TemporaryDirectory() as folder:
            other = os.path.join(folder, "other")
            os.symlink(RANK, other)
            for shape in ((), ("--nodes=2",), ("--nodes=3",)):
                result = acprun(*shape, "-n", "1", other, *words, ":", "-n", "3", RANK, *words)
                self.assertEqual((result.returncode, result.stdout), (0, b""), result)

    def test_input_output_and_tags_go_by_rank(self):
        with tempfile.TemporaryDirectory() as folder:
            result = acprun("--output", folder, "-n", "1", "cat", ":", "-n", "2", *WHO, "b", input=b"typed")
            self.assertEqual((result.returncode, result.stdout), (0, b""), result)
            for name, text in (("rank.0.out", "typed"), ("rank.1.out", "1 of 3 on 0: b\n"), ("rank.2.out", "2 of 3 on 0: b\n")):
                with open(os.path.join(folder, name)) as file:
                    self.assertEqual(file.read(), text)
        result = acprun("--tag", "-n", "1", "cat", ":", "-n", "1", "echo", "b", input=b"typed\n")
        self.assertEqual(lines_of(result), ["[0] typed", "[1] b"])

    def test_as_many_programs_as_a_job_may_have(self):
        def words(count):
            return ["-n", "1", "true"] + [":", "-n", "1", "true"] * (count - 1)

        self.assertEqual(acprun("--dry-run", *words(1024)).returncode, 0)
        self.assert_fails(acprun("--dry-run", "--nodes=2", *words(1025)), 64, "at most 1024 programs, not 1025")

    def test_dry_run_shows_the_program_of_each_rank(self):
        result = acprun("--dry-run", "-n", "2", "sh", "-c", "a", ":", "-n", "1", ACT, "print=b")
        self.assertRegex(result.stdout.decode(), r"would start 3 ranks on [^\n]*\n  program   \S*/sh, ranks 0-1\n"
                                                 r"  command   sh -c a\n  program   \S*/act, rank 2\n  command   \S*act print=b\n")


class Separator(ToolTest):
    def test_behind_two_dashes_a_colon_is_an_argument(self):
        self.assertEqual(acprun("-n", "1", "--", "echo", "a", ":", "-n", "2").stdout, b"a : -n 2\n")
        self.assertEqual(acprun("-n", "1", "--", "echo", ":").stdout, b":\n")
        result = acprun("-n", "1", "echo", "a", ":", "-n", "1", "--", "echo", "b", ":", "c")
        self.assertEqual(lines_of(result), ["a", "b : c"])

    def test_a_colon_within_a_word_is_an_argument(self):
        result = acprun("-n", "1", "echo", "a:b", "::", " :", ":", "-n", "1", "echo", "c")
        self.assertEqual(lines_of(result), ["a:b ::  :", "c"])

    def test_a_later_part_may_hold_two_dashes_before_its_program(self):
        result = acprun("-n", "1", "echo", "a", "--", "b", ":", "-n", "1", "--", "printf", "%s\n", "--help")
        self.assertEqual(lines_of(result), ["--help", "a -- b"])


class Mistakes(ToolTest):
    def assert_refused(self, words, *patterns):
        with self.subTest(words=words):
            result = acprun(*words)
            self.assert_fails(result, 64, *patterns)
            self.assertEqual(result.stdout, b"")

    def test_each_part_has_its_number_of_ranks(self):
        self.assert_refused(("-n", "1", ACT, ":", ACT), r"\Aacprun: part 2 \(\S*act\) lacks -n: ")
        self.assert_refused((ACT, ":", "-n", "1", ACT), r"\Aacprun: part 1 \(\S*act\) lacks -n: ")
        self.assert_refused(("--nodes=2", ACT, ":", ACT), "part 1 .* lacks -n")

    def test_each_part_has_a_program(self):
        n = ("-n", "1")
        for words, part in (((*n, ACT, ":"), 2), ((*n, ACT, ":", *n), 2), ((*n, ACT, ":", ":", *n, ACT), 2), ((":", *n, ACT), 1),
                            ((*n, ":", *n, ACT), None), ((*n, ACT, ":", *n, ":", *n, ACT), None), ((*n, ACT, ":", *n, "--"), 2),
                            ((":",), 1)):
            pattern = rf"part {part} .*names no program: .*-- before a program passes \":\" to it" if part else "names no program"
            self.assert_refused(words, pattern)

    def test_other_options_stand_before_the_first_program(self):
        for options in (("--tag",), ("-q",), ("--nodes", "2"), ("--output=x",), ("-x", "A=1"), ("-xA=1",), ("-hq",), ("--help",),
                        ("--version",), ("-machinefile", "x")):
            self.assert_refused(("-n", "1", ACT, ":", "-n", "1", *options, ACT),
                                rf"\Aacprun: {re.escape(options[0].split('=')[0][:2])}\S* in part 2 \(\S*act\): options other than -n "
                                "hold for the whole job and stand before the first program")

    def test_mistakes_in_a_later_part_are_reported_as_in_the_first(self):
        for words, pattern in ((("-n", "0"), 'from 1 to 1024, not "0"'), (("-n", "2", "-np", "3"), r"-np was given twice \(2, 3\)"),
                               (("-n", ""), "the value of -n is empty"), (("--prcos", "2"), r"unknown option --prcos; did you mean --procs\?"),
                               (("--wdir", "/"), "unknown option --wdir: .* cd first")):
            self.assert_refused(("-n", "1", ACT, ":", *words, ACT), pattern)
        self.assert_refused(("-n", "1", ACT, ":", "-n"), r"-n lacks its value \(N\)")

    def test_the_ranks_of_all_programs_together_have_their_place(self):
        two = ("-n", "2", ACT, ":", "-n", "3", ACT)
        self.assert_refused(("--nodes=6", *two), "6 nodes want at least 6 ranks, not 5", "the -n of all programs count together")
        self.assert_refused(("--hosts", "a:2,b:2", *two), "5 ranks, but 2 hosts have 4 slots", "--oversubscribe",
                            "the -n of all programs count together")
        many = ("-n", "1000", ACT, ":", "-n", "25", ACT)
        self.assert_refused(many, "the -n of all programs are 1025 together; a job on one node has at most 1024 ranks")
        self.assert_refused(("--nodes=1", *many), "would have 1025 ranks; a node holds at most 1024")
        self.assert_refused(("--nodes=2", "-n", "1048576", ACT, ":", "-n", "1", ACT), "a job has at most 1048576 ranks")

    def test_only_the_program_that_is_missing_is_named(self):
        for shape in ((), ("--nodes=2",)):
            result = acprun(*shape, "-n", "1", ACT, "print=started", ":", "-n", "1", "no-such-program")
            self.assert_fails(result, 127, r'\Aacprun: no program "no-such-program" in PATH\n\Z')
            self.assertEqual(result.stdout, b"")
        self.assert_fails(acprun("-n", "1", ACT, ":", "-n", "1", "/"), 126, "/ is a directory")

    def test_only_the_program_that_cannot_be_run_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "script")
            with open(script, "w") as file:
                file.write("#!/no/such/interpreter\n")
            os.chmod(script, 0o755)
            for shape in ((), ("--nodes=2",)):
                result = acprun(*shape, "-n", "2", ACT, "pause", ":", "-n", "2", script)
                self.assert_fails(result, 127, rf"\Aacprun: cannot run {script}: ", "interpreter")
                self.assertNotIn(b"act", result.stderr)


class Failures(ToolTest):
    def test_a_failure_names_the_program_of_its_rank(self):
        for shape in ((), ("--nodes=2",)):
            job = self.start(*shape, "-n", "1", ACT, "pause", ":", "-n", "1", "sh", "-c", "exit 5", ":", "-n", "2", ACT, "pause")
            code, _, error = job.finish()
            self.assertEqual(code, 5, error)
            self.assertRegex(error, r"acprun: rank 1 \(sh, process \d+ on [^)]*\) exited with code 5;")
            self.assert_nobody_is_left(job)

    def test_different_ends_are_reported_with_the_program(self):
        result = acprun("--on-failure=continue", "-n", "1", "sh", "-c", f"exec {MEMBER} join meet leave exit=3", ":",
                        "-n", "2", MEMBER, "join", "meet", "leave", "exit=4")
        self.assertIn(result.returncode, (3, 4), result)
        self.assertRegex(result.stderr, rb"rank 0 \(sh, process \d+ on [^)]*\) exited with code 3")
        self.assertRegex(result.stderr, rb"rank 1 \(\S*member, process \d+ on [^)]*\) exited with code 4")
        self.assertRegex(result.stderr, rb"3 of 3 ranks failed")

    def test_further_failures_are_grouped_by_program(self):
        result = acprun("--nodes=2", "-n", "2", "sh", "-c", "exit 4", ":", "-n", "2", ACT, "exit=4")
        self.assertEqual(result.returncode, 4, result)
        told = result.stderr.decode()
        self.assertRegex(told, r"acprun: rank \d \((sh|\S*act), process \d+ on [^)]*\) exited with code 4")
        for line in told.splitlines():
            if "also rank" in line:
                self.assertRegex(line, r"also ranks? ([01]|0-1) \(sh\)|also ranks? ([23]|2-3) \(\S*act\)")

    def test_a_reset_rank_is_reported_with_the_program_it_runs(self):
        words = ("init", "reset=1", "sync", "0:exit=7", "sync", "finalize")
        with tempfile.TemporaryDirectory() as folder:
            other = os.path.join(folder, "other")
            os.symlink(RANK, other)
            result = acprun("-n", "1", other, *words, ":", "-n", "1", RANK, *words)
        self.assert_fails(result, 7, r"rank 1 \(\S*/other, process \d+ on [^)]*\) exited with code 7")

    def test_a_failure_names_no_program_where_all_have_one_name(self):
        result = acprun("-n", "1", ACT, "exit=3", ":", "-n", "1", ACT, "pause")
        self.assert_fails(result, 3, r"rank 0 \(process \d+ on ")


if __name__ == "__main__":
    main()
