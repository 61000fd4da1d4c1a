# SPDX-License-Identifier: BSD-3-Clause
"""acprun below and beside other launchers: it refuses to be one of several processes, reaches the hosts of a batch job by
the batch system's own command, and never sends the job's key in clear text. srun, blaunch and ssh are stubs that run
what they are given here, and libmunge is one of ours."""
import os
import socket
import tempfile

from support import ACPRUN, ACT, PROGRAMS, RANK, SSH_STUB, ToolTest, acprun, main

HERE = socket.gethostname()
STUB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "srun_stub.sh")
WHOLE_JOB = (RANK, "init", "fill=x", "put=0", "sync", "who", "finalize")
SLURM = {"SLURM_JOB_ID": "17", "SLURM_JOB_NODELIST": "own,b,c", "SLURM_TASKS_PER_NODE": "1(x3)", "SLURMD_NODENAME": "own"}
LSF = {"LSB_JOBID": "9", "LSB_MCPU_HOSTS": f"{HERE} 1 b 2"}


class Launchers(ToolTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.calls_file = os.path.join(self.folder, "calls")
        self.tap = os.path.join(self.folder, "tap")

    def run_beside(self, *arguments, stubs=("srun",), env=None, **more):
        path = os.path.join(self.folder, "bin")
        os.makedirs(path, exist_ok=True)
        for stub in stubs:
            os.symlink(SSH_STUB if stub == "ssh" else STUB, os.path.join(path, stub))
        return acprun(*arguments, env={"PATH": f"{path}:/usr/bin:/bin" if stubs != ("ssh",) else path, "STUB_CALLS": self.calls_file, "STUB_TAP": "",
                                       "LD_LIBRARY_PATH": PROGRAMS, **(env or {})}, **more)

    def calls(self):
        try:
            with open(self.calls_file) as file:
                return sorted(file.read().splitlines())
        except FileNotFoundError:
            return []

    def assert_whole(self, result, ranks):
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual(sorted(result.stdout.decode().splitlines()), [f"{i} of {ranks}" for i in range(ranks)])

    def test_hosts_of_slurm_are_reached_by_srun(self):
        self.assert_whole(self.run_beside(*WHOLE_JOB, env=SLURM), 3)
        calls = self.calls()
        self.assertEqual(len(calls), 2, calls)
        for call, host in zip(calls, "bc"):
            self.assertRegex(call, rf"^srun --overlap --nodes=1 --ntasks=1 .*--nodelist={host} /bin/sh -c exec '.*acp-agent' --relay$")

    def test_hosts_of_lsf_are_reached_by_blaunch(self):
        self.assert_whole(self.run_beside(*WHOLE_JOB, stubs=("blaunch",), env=LSF), 3)
        self.assertRegex(" ".join(self.calls()), r"^blaunch b exec '.*acp-agent' --relay$")

    def test_named_hosts_of_the_allocation_are_reached_by_its_launcher_and_others_by_ssh(self):
        self.assert_whole(self.run_beside("--hosts", f"{HERE},c", *WHOLE_JOB, env=SLURM), 2)
        self.assertIn("--nodelist=c ", "\n".join(self.calls()))
        # "--" comes behind the options of ssh, which the stub does not know: the stub takes it for the host and prints it
        result = acprun("--hosts", "b,elsewhere", "--ssh", SSH_STUB, "--dry-run", ACT, env=SLURM)
        self.assertIn(f"by {SSH_STUB}", result.stdout.decode())

    def test_the_ssh_option_overrides_the_launcher_of_the_allocation(self):
        self.assert_whole(self.run_beside("--ssh", SSH_STUB, *WHOLE_JOB, env=SLURM), 3)
        self.assertEqual(self.calls(), [])

    def test_without_srun_acprun_uses_ssh_and_reports_that(self):
        result = self.run_beside("--dry-run", ACT, stubs=("ssh",), env=SLURM)
        self.assertEqual(result.returncode, 0, result)
        self.assertRegex(result.stderr.decode(), "there is no srun in PATH: the hosts are reached by ssh")
        self.assertIn("by " + os.path.join(self.folder, "bin", "ssh"), result.stdout.decode())

    def test_the_key_is_never_carried_in_clear_text(self):
        result = self.run_beside(*WHOLE_JOB, env={**SLURM, "STUB_TAP": self.tap})
        self.assert_whole(result, 3)
        credentials = set()
        for host in "bc":
            with open(f"{self.tap}.{host}", "rb") as file:
                carried = file.read()
            self.assertNotIn(b"key 32\n", carried)
            at = carried.index(b"MUNGE:")  # the connection's own frames divide the text at any place between two writes
            credentials.add(carried[at:at + 72])
            sealed = bytes.fromhex(carried[at:at + 72].decode().split(":")[2])
            key = bytes(byte ^ 0x5a for byte in sealed)
            self.assertGreater(len(set(key)), 8)
            self.assertNotIn(key, carried)

    def test_without_munge_acprun_refuses_and_says_what_to_do(self):
        result = self.run_beside(*WHOLE_JOB, env={**SLURM, "FAKE_MUNGE_FAILS": "encode"})
        self.assert_fails(result, 69, r"srun carries the job's key in clear text, and MUNGE cannot seal it: .*munge.socket.2",
                          "hint: --ssh ssh .*ACP_SECURITY=off")
        self.assertEqual(self.calls(), [])

    def test_a_key_that_another_user_sealed_is_refused(self):
        for failure, words in (("user", "not the key of a job of this user"), ("decode", "munge: Failed to access")):
            result = self.run_beside(*WHOLE_JOB, stubs=("srun",) if failure == "user" else (), env={**SLURM, "FAKE_MUNGE_FAILS": failure})
            self.assertEqual(result.returncode, 69, result)
            self.assertIn(words, result.stderr.decode())

    def test_without_encryption_no_key_is_sealed(self):
        result = self.run_beside("--net", "0.0.0.0/0", *WHOLE_JOB,
                                 env={**SLURM, "FAKE_MUNGE_FAILS": "encode", "ACP_SECURITY": "off"})
        self.assert_whole(result, 3)

    def test_one_of_several_processes_of_another_launcher_is_refused(self):
        for name, value in (("SLURM_STEP_NUM_TASKS", "3"), ("OMPI_COMM_WORLD_SIZE", "3"), ("PMI_SIZE", "2"), ("PMIX_RANK", "0"),
                            ("PALS_RANKID", "1"), ("FLUX_JOB_SIZE", "2"), ("MPI_LOCALNRANKS", "2")):
            for options in ((), ("--dry-run",)):
                result = acprun("-n", "2", *options, ACT, "print=x", env={name: value})
                self.assert_fails(result, 64, rf"\Aacprun: {name}={value} says that another launcher has started acprun",
                                  "hint: start acprun once.*ACP_SINGLETON=1")
                self.assertEqual(result.stdout, b"")

    def test_one_process_of_another_launcher_may_start_jobs(self):
        for env in ({"SLURM_STEP_NUM_TASKS": "1"}, {"SLURM_STEP_NUM_TASKS": "3", "ACP_SINGLETON": "1"}, {"PMIX_RANK": "0", "PMI_SIZE": "1"}):
            result = acprun("-n", "2", RANK, "init", "who", "finalize", env=env)
            self.assertEqual((result.returncode, result.stderr), (0, b""), result)

    def test_a_rank_may_start_jobs(self):
        result = acprun("-n", "2", ACPRUN, "-n", "1", ACT, "print=x", env={"SLURM_STEP_NUM_TASKS": "3", "ACP_SINGLETON": "1"})
        self.assertEqual((result.returncode, result.stdout), (0, b"x\nx\n"), result)


if __name__ == "__main__":
    main()
