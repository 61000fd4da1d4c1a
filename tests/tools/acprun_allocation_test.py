# SPDX-License-Identifier: BSD-3-Clause
"""acprun inside a job of a batch system: which machines it takes from Slurm, PBS and LSF. No job is started: dry runs
print the plan."""
import socket
import tempfile

from support import ACT, SSH_STUB, ToolTest, acprun, main

HERE = socket.gethostname()


class Allocation(ToolTest):
    def plan(self, env, *options):
        """({host: ranks}, stderr) of a dry run."""
        result = acprun(*options, "--ssh", SSH_STUB, "--dry-run", ACT, env=env)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stdout.decode().splitlines()
        told = [line.split(",")[0].split() for line in lines[1:lines.index(f"  program   {ACT}")]]
        return {name: ranks for name, _, ranks in told}, result.stderr.decode()

    def test_slurm_says_which_hosts_and_how_many_ranks(self):
        env = {"SLURM_JOB_ID": "17", "SLURM_JOB_NODELIST": "n[08-10,3]-ib,login", "SLURM_TASKS_PER_NODE": "2(x3),1,4"}
        hosts, said = self.plan(env)
        self.assertEqual(hosts, {"n08-ib": "0-1", "n09-ib": "2-3", "n10-ib": "4-5", "n3-ib": "6", "login": "7-10"})
        self.assertRegex(said, r"\Aacprun: Slurm job 17 \(n\[08-10,3\]-ib,login\): 11 ranks on 5 hosts; --hosts")
        self.assertEqual(self.plan(env, "-n", "3")[0], {"n08-ib": "0-1", "n09-ib": "2"})
        self.assertEqual(self.plan(env, "-q")[1], "")

    def test_slurm_lists_have_any_number_of_brackets(self):
        env = {"SLURM_JOB_NODELIST": "r[1-2]n[1-2]"}
        self.assertEqual(list(self.plan(env)[0]), ["r1n1", "r1n2", "r2n1", "r2n2"])
        self.assertEqual(list(self.plan({"SLURM_JOB_NODELIST": "n[18446744073709551615],b"})[0]), [f"n{2**64 - 1}", "b"])

    def test_this_machine_of_an_allocation_needs_no_ssh(self):
        env = {"SLURM_JOB_NODELIST": "own,other", "SLURMD_NODENAME": "own"}
        self.assertEqual(self.plan(env)[0], {HERE: "0", "other": "1"})
        result = acprun("--ssh", SSH_STUB, "sh", "-c", "echo $HOME", env={**env, "HOME": "/mine"})
        self.assertEqual(sorted(result.stdout.splitlines()), [b"/", b"/mine"], result.stderr)

    def test_ranks_beyond_the_slots_are_refused_with_the_allocation(self):
        result = acprun("-n", "9", "--dry-run", ACT, env={"SLURM_JOB_NODELIST": "a,b", "SLURM_TASKS_PER_NODE": "2(x2)"})
        self.assert_fails(result, 64, r"Slurm job \? \(a,b\): 9 ranks, but 2 hosts have 4 slots", "--oversubscribe")

    def test_one_machine_runs_as_many_ranks_as_are_asked_for(self):
        env = {"SLURM_JOB_NODELIST": HERE, "SLURM_TASKS_PER_NODE": "2"}
        result = acprun("-n", "3", ACT, "print=x", env=env)
        self.assertEqual((result.stdout, result.stderr), (b"x\n" * 3, b""))
        self.assertEqual(acprun(ACT, "print=x", env=env).stdout, b"x\n" * 2)

    def test_options_of_the_user_override_the_allocation(self):
        env = {"SLURM_JOB_NODELIST": "a,b"}
        self.assertEqual(acprun("--nodes", "1", ACT, "print=x", env=env).stdout, b"x\n")
        self.assertEqual(self.plan(env, "--hosts", "c,d")[0], {"c": "0", "d": "1"})

    def test_more_ranks_than_a_node_holds_may_be_asked_for(self):
        env = {"SLURM_JOB_NODELIST": "n[1-20]", "SLURM_TASKS_PER_NODE": "128(x20)"}
        self.assertEqual(len(self.plan(env, "-n", "2560")[0]), 20)

    def test_a_host_name_that_is_too_long_is_refused_with_its_length_and_the_limit(self):
        longest = "a" * 253
        message = ": the name of a host has 254 characters, and at most 253 are allowed\n.*--hosts or --hostfile"
        with tempfile.NamedTemporaryFile("w") as file:
            for name in (longest, longest + "a"):
                file.seek(0)
                file.write(f"b\n{name}\n")
                file.flush()
                for env, source in (({"SLURM_JOB_NODELIST": f"b,{name}"}, "Slurm job"), ({"PBS_NODEFILE": file.name}, "PBS job"),
                                    ({"LSB_MCPU_HOSTS": f"b 1 {name} 2"}, "LSF job"), ({"LSB_HOSTS": f"b {name}"}, "LSF job")):
                    if name == longest:
                        self.assertIn(name, self.plan(env)[0])
                    else:
                        self.assert_fails(acprun("--ssh", SSH_STUB, "--dry-run", ACT, env=env), 64, source + "[^:]*" + message)

    def test_an_allocation_that_does_not_parse_is_refused(self):
        for env, seen in (({"SLURM_JOB_NODELIST": "n[1-"}, r"SLURM_JOB_NODELIST=n\[1-"),
                          ({"SLURM_JOB_NODELIST": "n[2-1]"}, r"SLURM_JOB_NODELIST=n\[2-1\]"),
                          ({"SLURM_JOB_NODELIST": "a,b", "SLURM_TASKS_PER_NODE": "2(x3)"}, r"SLURM_TASKS_PER_NODE=2\(x3\)"),
                          ({"SLURM_JOB_NODELIST": "-Fx,b"}, "\"-Fx\""),
                          ({"PBS_NODEFILE": "/no/such/file"}, "PBS_NODEFILE: cannot read /no/such/file: No such file"),
                          ({"LSB_MCPU_HOSTS": "a 2 b"}, "LSB_MCPU_HOSTS=a 2 b"),
                          ({"LSB_MCPU_HOSTS": " "}, "LSB_MCPU_HOSTS, which is empty"),
                          ({"LSB_HOSTS": ""}, "LSB_HOSTS, which is empty"),
                          ({"SLURM_JOB_NODELIST": ""}, "SLURM_JOB_NODELIST="),
                          ({"SLURM_JOB_NODELIST": "a,"}, "SLURM_JOB_NODELIST=a,"),
                          ({"SLURM_JOB_NODELIST": "a,b", "SLURM_TASKS_PER_NODE": "2,"}, "SLURM_TASKS_PER_NODE=2,"),
                          ({"PBS_NODEFILE": "/dev/null"}, "PBS_NODEFILE=/dev/null, in which no machine stands")):
            result = acprun(ACT, "print=started", env=env)
            self.assert_fails(result, 64, seen, "--hosts")
            self.assertEqual(result.stdout, b"")

    def test_a_host_without_its_number_is_refused_whatever_else_is_given(self):
        seen = r"LSB_MCPU_HOSTS=localhost \(hosts, each with the number of its slots after it\) is not understood"
        for more in ({}, {"LSB_HOSTS": "localhost"}):
            for options in ((), ("--dry-run",), ("-n", "1"), ("-n", "2", "--oversubscribe")):
                with self.subTest(more=more, options=options):
                    result = acprun(*options, ACT, "print=started", env={"LSB_MCPU_HOSTS": "localhost", **more})
                    self.assert_fails(result, 64, seen, "--hosts")
                    self.assertEqual(result.stdout, b"")

    def test_pbs_names_a_file_with_a_line_per_rank(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("a\nb\na\na\n")
            file.flush()
            hosts, said = self.plan({"PBS_NODEFILE": file.name, "PBS_JOBID": "5.server"})
        self.assertEqual(hosts, {"a": "0-2", "b": "3"})
        self.assertIn("PBS job 5.server", said)

    def test_lsf_lists_hosts_with_their_ranks(self):
        self.assertEqual(self.plan({"LSB_MCPU_HOSTS": "a 2 b 1", "LSB_HOSTS": "a a b"})[0], {"a": "0-1", "b": "2"})
        self.assertEqual(self.plan({"LSB_HOSTS": "a b a"})[0], {"a": "0-1", "b": "2"})


if __name__ == "__main__":
    main()
