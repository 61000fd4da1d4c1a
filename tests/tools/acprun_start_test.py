# SPDX-License-Identifier: BSD-3-Clause
"""Starting a job: options, the program, the environment, and errors before any process is started."""
import os
import resource
import subprocess
import tempfile
import unittest

from support import ACPRUN, ACT, BIN, MEMBER, ToolTest, acprun, main


class Start(ToolTest):
    def test_starts_a_plain_program_once_per_rank(self):
        result = acprun("-n", "4", "sh", "-c", "echo $ACP_RANK of $ACP_PROCS in $ACP_SLOT")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(sorted(result.stdout.decode().splitlines()), [f"{i} of 4 in {i}" for i in range(4)])
        self.assertEqual(result.stderr, b"")

    def test_starts_one_rank_by_default(self):
        self.assertEqual(acprun(ACT, "variable=ACP_PROCS").stdout, b"1\n")

    def test_ranks_join_and_leave_the_node(self):
        result = acprun("-n", "4", MEMBER, "join", "meet", "print=here", "meet", "leave")
        self.assertEqual((result.returncode, result.stdout), (0, b"here\n" * 4), result.stderr)

    def test_starts_many_ranks(self):
        result = acprun("-n", "200", ACT, "print=x")
        self.assertEqual((result.returncode, result.stdout), (0, b"x\n" * 200), result.stderr)

    def test_takes_the_options_of_version_3(self):
        result = acprun("-np", "2", "-smemsize", "1048576", ACT, "variable=ACP_STARTER_SIZE")
        self.assertEqual((result.returncode, result.stdout), (0, b"1048576\n" * 2))

    def test_takes_values_attached_to_options(self):
        self.assertEqual(acprun("-n3", "--starter-size=2M", ACT, "print=x").stdout, b"x\n" * 3)
        self.assertEqual(acprun("--procs=2", ACT, "print=x").stdout, b"x\n" * 2)

    def test_leaves_the_program_its_own_options(self):
        result = acprun("-n", "1", "echo", "-n", "5", "--tag", "--", "-q")
        self.assertEqual(result.stdout, b"5 --tag -- -q")
        self.assertEqual(acprun("-n", "1", "--", "printf", "<%s>", "--help").stdout, b"<--help>")

    def test_passes_any_argument_unchanged(self):
        words = ["", " ", "a\nb", "=", "ä\x01", "'\"$x"]
        result = acprun("-n", "1", "printf", "<%s>", *words)
        self.assertEqual(result.stdout.decode(), "".join(f"<{word}>" for word in words))

    def test_runs_a_script_without_an_interpreter_line(self):
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "script")
            with open(script, "w") as file:
                file.write("echo script $1\n")
            os.chmod(script, 0o755)
            self.assertEqual(acprun("-n", "1", script, "ran").stdout, b"script ran\n")

    def test_works_with_closed_standard_streams(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "out")
            os.system(f"{ACPRUN} -n 2 {ACT} print=x read <&- >{file} 2>&-")
            with open(file) as text:
                self.assertEqual(sorted(text), ["end of input\n"] * 2 + ["x\n"] * 2)
            self.assertEqual(os.system(f"{ACPRUN} -n 2 true <&- >&- 2>&-"), 0)

    def test_detects_ends_of_its_children_although_its_parent_ignored_sigchld(self):
        result = acprun("-n", "2", ACT, "print=x", preexec_fn=lambda: __import__("signal").signal(17, 1))
        self.assertEqual((result.returncode, result.stdout), (0, b"x\n" * 2), result.stderr)


class Environment(ToolTest):
    def test_ranks_inherit_the_environment(self):
        self.assertEqual(acprun(ACT, "variable=COLOUR", env={"COLOUR": "red"}).stdout, b"red\n")

    def test_x_sets_a_variable(self):
        result = acprun("-x", "COLOUR=blue=ish", "-x", "SHAPE=", ACT, "variable=COLOUR", "variable=SHAPE",
                        env={"COLOUR": "red"})
        self.assertEqual(result.stdout, b"blue=ish\n\n")

    def test_x_passes_on_a_variable(self):
        self.assertEqual(acprun("-x", "COLOUR", ACT, "variable=COLOUR", env={"COLOUR": "red"}).stdout, b"red\n")

    def test_x_refuses_a_variable_that_is_not_set(self):
        self.assert_fails(acprun("-x", "NO_SUCH", ACT), 64, "NO_SUCH: the variable is not set", "-x NO_SUCH=VALUE")

    def test_x_refuses_an_empty_name(self):
        self.assert_fails(acprun("-x", "=3", ACT), 64, "-x wants NAME or NAME=VALUE")

    def test_a_job_inside_a_job_is_a_job_of_its_own(self):
        result = acprun("-n", "2", ACPRUN, "-n", "1", "sh", "-c", "echo $ACP_RANK $ACP_PROCS")
        self.assertEqual(result.stdout, b"0 1\n" * 2, result.stderr)

    def test_acp_terminal_is_set_only_on_a_terminal(self):
        self.assertEqual(acprun(ACT, "variable=ACP_TERMINAL", env={"ACP_TERMINAL": "80"}).stdout, b"not set\n")

    def test_a_value_that_does_not_fit_is_refused(self):
        self.assert_fails(acprun(ACT, env={"ACP_MAILBOX": "letterbox"}), 78, "ACP_MAILBOX=letterbox", "mpsc")
        self.assert_fails(acprun("-x", "ACP_MAILBOX=letterbox", ACT), 78, "ACP_MAILBOX=letterbox", "mpsc")

    def test_an_unknown_name_gives_one_warning(self):
        result = acprun("-n", "4", ACT, env={"ACP_MAILBOXX": "mpsc"})
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr.decode(), r"\A[^\n]*ACP_MAILBOXX[^\n]*ACP_MAILBOX\b[^\n]*\n\Z")
        self.assertEqual(acprun("-q", ACT, env={"ACP_MAILBOXX": "mpsc"}).stderr, b"")

    def test_bind_core_gives_each_rank_one_cpu(self):
        self.assertEqual(acprun("-n", "5", "--bind", "core", ACT, "cpus").stdout, b"1\n" * 5)
        cpus = len(os.sched_getaffinity(0))
        self.assertEqual(acprun("--bind=none", ACT, "cpus").stdout.decode(), f"{cpus}\n")


class Refusals(ToolTest):
    def test_refuses_a_number_of_ranks_that_is_none(self):
        for number in ("0", "-3", "1025", "100000", "99999999999999999999", "four", "2.5", " 2"):
            result = acprun("-n", number, ACT, "print=started")
            self.assert_fails(result, 64, "from 1 to 1024, not \"" + number + "\"")
            self.assertEqual(result.stdout, b"")

    def test_refuses_unknown_options_with_a_hint(self):
        self.assert_fails(acprun("--tagg", "-n", "2", ACT), 64, "--tagg", "acprun --help")
        self.assert_fails(acprun("-z", ACT), 64, "-z", "acprun --help")

    def test_an_unknown_option_is_reported_with_the_nearest_one(self):
        for option, meant in (("--tagg", "--tag"), ("--host=a", "--hosts"), ("-host", "--hosts"), ("-node", "--nodes"),
                              ("-hostfiles", "--hostfile"), ("--time-out", "--timeout"), ("-nodes4", "--nodes"),
                              ("--outptu", "--output")):
            result = acprun(option, "a", ACT, "print=started")
            self.assert_fails(result, 64, f"unknown option {option.split('=')[0]}; did you mean {meant}\\?")
            self.assertEqual(result.stdout, b"")

    def test_long_options_may_have_one_dash(self):
        result = acprun("-procs", "2", "-tag", "-timeout=60", "-starter-size", "64K", ACT, "variable=ACP_STARTER_SIZE")
        self.assertEqual((result.returncode, sorted(result.stdout.splitlines())), (0, [b"[0] 64K", b"[1] 64K"]))

    def test_the_options_of_version_3_are_honoured_where_there_is_an_equivalent(self):
        for options in (("-np=2", "-smemsize=4096"), ("--acp-startermemsize=4096", "-n", "2"),
                        ("-np", "2", "-envnet", "udp", "-smemsize", "4096"), ("--acp-envnet=udp", "-np=2", "-smemsize=4096")):
            result = acprun(*options, ACT, "variable=ACP_STARTER_SIZE")
            self.assertEqual((result.returncode, result.stdout), (0, b"4096\n" * 2), result.stderr)
        for options in (("-np=2", "-smemsize-dl=3M"), ("--acp-startermemsize-dl=3M", "-n", "2")):
            result = acprun(*options, ACT, "variable=ACP_HEAP_SIZE")
            self.assertEqual((result.returncode, result.stdout), (0, b"3M\n" * 2), result.stderr)
        self.assert_fails(acprun("--hosts", "a", "-rsh", "/no/such/rsh", ACT), 69, "/no/such/rsh")

    def test_options_of_version_3_without_an_equivalent_are_refused_with_an_alternative(self):
        for option, instead in (("-smemsize-cl=1024", "--starter-size"),
                                ("--acp-size-smem-cl", "--starter-size"), ("-envnet=ib", "UDP alone.*--net"),
                                ("-envnet", "UDP alone"), ("--acp-port-local=44256", "chooses the ports"),
                                ("--acp-taskid", "ACP_JOB_ID"), ("--acp-myrank=0", "-n says")):
            self.assert_fails(acprun(option, "7", ACT), 64, f"{option.split('=')[0]}.*{instead}")

    def test_refuses_options_without_their_values(self):
        for option in ("-n", "--timeout", "-x", "--bind", "--output", "--starter-size", "--on-failure"):
            self.assert_fails(acprun(option), 64, "acprun --help")

    def test_refuses_values_that_do_not_fit(self):
        for option, value in (("--timeout", "0"), ("--timeout", "-1"), ("--timeout", "soon"), ("--bind", "socket"),
                              ("--on-failure", "ignore"), ("--starter-size", "20kk"), ("--starter-size", "2T"),
                              ("--heap-size", "some"), ("--heap-size", "2T")):
            self.assert_fails(acprun(option, value, ACT), 64, option, value)

    def test_refuses_to_run_nothing(self):
        self.assert_fails(acprun(), 64, "no program")
        self.assert_fails(acprun("-n", "2", "--"), 64, "no program")

    def test_a_missing_program_is_127(self):
        self.assert_fails(acprun("-n", "4", "no-such-program"), 127, "no-such-program")
        self.assert_fails(acprun("-n", "4", "./no/such/program"), 127, "no such file")
        self.assert_fails(acprun(""), 127)

    def test_a_missing_program_that_is_here_is_hinted_at(self):
        result = acprun("act", cwd=os.path.dirname(ACT))
        self.assert_fails(result, 127, "./act")

    def test_a_program_that_cannot_be_run_is_126(self):
        with tempfile.TemporaryDirectory() as folder:
            data = os.path.join(folder, "data")
            open(data, "w").close()
            self.assert_fails(acprun("-n", "4", data), 126, "not executable", "chmod")
            self.assert_fails(acprun(folder), 126, "directory")
            self.assert_fails(acprun("data", env={"PATH": folder}), 126, "not executable")

    def test_a_program_whose_interpreter_is_missing_is_reported_once(self):
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "script")
            with open(script, "w") as file:
                file.write("#!/no/such/interpreter\n")
            os.chmod(script, 0o755)
            result = acprun("-n", "4", script)
            self.assert_fails(result, 127, "interpreter")
            self.assertEqual(result.stderr.count(b"cannot run"), 1)

    def test_a_program_for_another_machine_is_126(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "program")
            with open(program, "wb") as file:
                file.write(b"\x7fELF" + bytes(60))
            os.chmod(program, 0o755)
            self.assert_fails(acprun("-n", "2", program), 126, "no program for this machine")

    def test_a_missing_agent_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "acprun")
            os.link(ACPRUN, copy) if os.stat(folder).st_dev == os.stat(ACPRUN).st_dev else os.system(
                f"cp {ACPRUN} {copy}")
            env = {"LD_LIBRARY_PATH": os.path.join(os.path.dirname(BIN), "lib")}
            result = __import__("subprocess").run([copy, ACT], capture_output=True, env={**os.environ, **env})
            self.assert_fails(result, 69, "acp-agent")

    def test_the_agent_is_not_for_hands(self):
        agent = os.path.join(BIN, "acp-agent")
        run = __import__("subprocess").run
        self.assert_fails(run([agent], capture_output=True), 64, "acprun")
        self.assert_fails(run([agent, "--channel", "77"], capture_output=True), 64, "channel")

    def test_too_little_memory_for_the_starters_is_an_error(self):
        result = acprun("-n", "1024", "--starter-size", "1T", ACT)
        self.assertIn(result.returncode, (0, 69), result.stderr)  # as the machine's address space allows
        if result.returncode == 69:
            self.assertRegex(result.stderr, b"acprun: .*(node segment|starter mem)")


class Limits(ToolTest):
    def test_a_descriptor_limit_is_named(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
        self.assert_fails(acprun("-n", "200", ACT, preexec_fn=limit), 69, "RLIMIT_NOFILE is 100", "664 descriptors")
        self.assert_fails(acprun("--nodes", "40", ACT, preexec_fn=limit), 69,
                          "40 nodes need 152 descriptors in acprun", "RLIMIT_NOFILE is 100")

    def test_a_soft_descriptor_limit_is_raised_and_the_ranks_keep_theirs(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 4096))
        for shape in (("-n", "100"), ("--nodes", "20")):
            with self.subTest(shape=shape):
                result = acprun(*shape, "sh", "-c", "ulimit -n", preexec_fn=limit)
                self.assertEqual((result.returncode, result.stdout), (0, b"64\n" * int(shape[1])), result.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become a user without processes")
    def test_a_process_limit_ends_the_job_with_its_name(self):
        def become_a_user_with_few_processes(most=10):
            resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
            os.setgid(64321)
            os.setuid(64321)

        if not os.access(ACPRUN, os.X_OK) or os.system(f"setpriv --reuid 64321 --clear-groups test -x {ACPRUN}") != 0:
            self.skipTest("other users may not enter the build folder")
        job = self.start("-n", "50", "/bin/sh", "-c", "read x", preexec_fn=become_a_user_with_few_processes)
        code, _, error = job.finish()
        self.assertEqual(code, 69, error)
        self.assertRegex(error, "starting rank [0-9]+ of 50.*fork.*RLIMIT_NPROC 10")
        self.assert_nobody_is_left(job)
        job = self.start("-n", "2", "/bin/sh", "-c", "read x", preexec_fn=lambda: become_a_user_with_few_processes(2))
        code, _, error = job.finish()
        self.assertEqual(code, 69, error)
        self.assertRegex(error, r"acp-agent: fork failed.*RLIMIT_NPROC 2.*ulimit -u")


class Answers(ToolTest):
    def test_help_shows_an_example(self):
        result = acprun("--help")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout.decode(), r"Usage: acprun \[OPTIONS\] \[--\] PROGRAM[\s\S]*acprun -n 4")

    def test_every_tool_prints_its_version_in_one_form(self):
        for tool in ("acprun", "acp-agent", "acpinfo", "acpbench", "acpstat"):
            result = subprocess.run([os.path.join(BIN, tool), "--version"], capture_output=True, text=True)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertRegex(result.stdout, r"\A%s \(ACP\) \d+\.\d+\.\d+( \(\S+\))?\n\Z" % tool)

    def test_dry_run_starts_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            result = acprun("-n", "3", "--dry-run", "--output", folder + "/out", "-x", "A=b", ACT, "print=started")
            self.assertEqual(result.returncode, 0)
            self.assertRegex(result.stdout.decode(), r"3 ranks[\s\S]*print=started[\s\S]*A=b")
            self.assertFalse(os.path.exists(folder + "/out"))


if __name__ == "__main__":
    main()
