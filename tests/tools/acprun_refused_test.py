# SPDX-License-Identifier: BSD-3-Clause
"""System calls of a job are refused one by one, as by a sandbox: the job takes another way, or it ends with a message that
names the refused call and the remedy."""
import errno
import os
import resource
import shutil
import subprocess
import unittest

from support import ACPRUN, BIN, PRIVATE, PROGRAMS, RANK, WATCHDOG_S, ToolTest, clean_environment, main

REFUSE = os.path.join(PROGRAMS, "refuse")
ERRORS = (errno.EPERM, errno.ENOSYS)
WHOLE_JOB = (RANK, "init", "fill=x", "put=0", "add=word", "sync", "reset=1", "sync", "finalize")

# Where there is another way.
DISPENSABLE = ("getrandom", "inotify_init1", "membarrier", "pidfd_open", "process_vm_readv", "process_vm_writev",
               "sched_getaffinity")
# Where there is none.
NEEDED = ("memfd_create", "waitid")


def run(words, preexec_fn=None, **env):
    return subprocess.run(words, capture_output=True, timeout=WATCHDOG_S, env=clean_environment(**env), preexec_fn=preexec_fn)


def refused(call, error, *words):
    return run([REFUSE, str(error), call, ACPRUN, *words])


def can_filter():
    return run([REFUSE, "1", "waitid", "true"]).returncode == 0


@unittest.skipUnless(can_filter(), "this system lets nobody filter system calls")
class Calls(ToolTest):
    def assert_done(self, result):
        self.assertEqual((result.returncode, result.stdout), (0, b""), result)

    def test_a_job_runs_without_each_dispensable_system_call(self):
        for call in DISPENSABLE:
            for error in ERRORS:
                with self.subTest(call=call, error=errno.errorcode[error]):
                    self.assert_done(refused(call, error, "-n", "2", *WHOLE_JOB))

    def test_a_job_of_nodes_runs_without_each_dispensable_system_call(self):
        for call in DISPENSABLE:
            with self.subTest(call=call):
                self.assert_done(refused(call, errno.EPERM, "-n", "4", "--nodes=2", *WHOLE_JOB))

    def test_private_memory_is_reached_without_attach(self):
        for call in ("process_vm_readv", "process_vm_writev"):
            for error in ERRORS:
                with self.subTest(call=call, error=errno.errorcode[error]):
                    result = refused(call, error, "-n", "2", PRIVATE, "nothing")
                    self.assertEqual(result.returncode, 0, result)
                    self.assertNotIn(b"wrong bytes", result.stdout)

    def test_a_refused_system_call_that_acprun_needs_is_named(self):
        for call in NEEDED:
            for error in ERRORS:
                for shape in (("-n", "2"), ("-n", "2", "--nodes=2")):
                    with self.subTest(call=call, error=errno.errorcode[error], shape=shape):
                        result = refused(call, error, *shape, *WHOLE_JOB)
                        self.assert_fails(result, 69, rf"{call} failed: .*errno {error}\).*must allow it")

    def test_a_death_is_reported_without_pidfd_open(self):
        result = refused("pidfd_open", errno.ENOSYS, "-n", "3", "--on-failure=continue", RANK, "init", "sync",
                         "1:signal=9", "sync")
        self.assert_fails(result, 137, "rank 1 .* was killed by signal 9")
        self.assertEqual(result.stdout.count(b"was killed by signal 9"), 2, result)

    def test_exec_is_reported_without_inotify(self):
        result = refused("inotify_init1", errno.ENOSYS, "-n", "2", RANK, "init", "sync", "1:exec=exec sleep 1000", "sync")
        self.assert_fails(result, 1, r"rank 1 .* has run another program \(exec\)")


def without_proc(*words):
    enter = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    # The dynamic linker finds $ORIGIN through /proc, so the library is named to it.
    return run([*enter, "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh", *words],
               LD_LIBRARY_PATH=os.path.join(os.path.dirname(BIN), "lib"))


@unittest.skipUnless(shutil.which("unshare") and without_proc("true").returncode == 0, "this system gives nobody a mount namespace")
class WithoutProc(ToolTest):
    def test_a_job_succeeds(self):
        for shape in (("-n", "2"), ("-n", "4", "--nodes=2")):
            with self.subTest(shape=shape):
                result = without_proc(ACPRUN, *shape, *WHOLE_JOB)
                self.assertEqual((result.returncode, result.stdout), (0, b""), result)

    def test_private_memory_is_registered_and_reached(self):
        result = without_proc(ACPRUN, "-n", "2", PRIVATE, "nothing")
        self.assertEqual((result.returncode, result.stdout), (0, b"attach\nattach\n"), result)

    def test_a_death_is_reported_and_ends_the_others(self):
        result = without_proc(ACPRUN, "-n", "3", RANK, "init", "sync", "1:signal=9", "sync", "pause")
        self.assert_fails(result, 137, "rank 1 .* was killed by signal 9 .*; the other 2 ranks were ended")


def with_foreign_proc(*words):
    """In a pid namespace of its own, where /proc still shows the outer one."""
    enter = ["unshare"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user"]
    return run([*enter, "--pid", "--fork", *words], LD_LIBRARY_PATH=os.path.join(os.path.dirname(BIN), "lib"))


@unittest.skipUnless(shutil.which("unshare") and with_foreign_proc("true").returncode == 0, "this system gives nobody a process namespace")
class WithForeignProc(ToolTest):
    def test_no_process_is_falsely_reported_as_left_behind(self):
        for shape in (("-n", "2"), ("-n", "4", "--nodes=2")):
            with self.subTest(shape=shape):
                result = with_foreign_proc(ACPRUN, *shape, *WHOLE_JOB)
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""), result)


class Limits(ToolTest):
    """Little of something: the job runs, or says of what there is too little."""

    def limited(self, which, value, *words):
        return run([ACPRUN, *words], preexec_fn=lambda: resource.setrlimit(which, (value, value)))

    def test_address_space(self):
        for mebibytes in (10, 20, 40, 80, 160, 320):
            with self.subTest(mebibytes=mebibytes):
                result = self.limited(resource.RLIMIT_AS, mebibytes << 20, "-n", "2", *WHOLE_JOB)
                said = (result.stderr + result.stdout).decode()
                self.assertNotRegex(said, "RLIMIT_AS.*RLIMIT_AS")
                if result.returncode != 0:
                    self.assertRegex(said, "RLIMIT_AS|[Cc]annot allocate memory|out of memory|failed to map")

    def test_private_memory_is_named(self):
        for mebibytes in (4, 5, 6, 8, 12):
            with self.subTest(mebibytes=mebibytes):
                said = self.limited(resource.RLIMIT_DATA, mebibytes << 20, "-n", "2", *WHOLE_JOB)
                if said.returncode != 0 and b"mmap failed" in said.stderr + said.stdout:
                    self.assertIn(f"RLIMIT_DATA, ulimit -d): {mebibytes << 20} bytes", (said.stderr + said.stdout).decode())

    def test_a_tool_with_too_little_memory_reports_that_and_leaves_no_process(self):
        for kibibytes in (*range(220, 420, 20), 500, 700, 1000, 1200, 1500, 2000, 3000, 5000):
            for shape in (("-n", "2"), ("-n", "2", "--nodes=2")):
                with self.subTest(kibibytes=kibibytes, shape=shape):
                    bound = kibibytes << 10
                    job = self.start(*shape, *WHOLE_JOB,
                                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (bound, bound)))
                    code, out, error = job.finish()
                    said = out + error
                    self.assertNotRegex(said, "terminate called|std::bad_alloc")
                    self.assertGreaterEqual(code, 0, said)
                    if code == 69:
                        self.assertIn(f"(RLIMIT_DATA, ulimit -d): {bound} bytes", said)
                    if "own records" in said:
                        self.assertIn(f"own records; private memory allowed (RLIMIT_DATA, ulimit -d): {bound} bytes", said)
                    self.assert_nobody_is_left(job)

    def test_acpinfo_and_acpstat_report_refused_memory_in_one_line(self):
        refused = set()
        for tool in ("acpinfo", "acpstat"):
            for kibibytes in range(200, 400, 2):
                with self.subTest(tool=tool, kibibytes=kibibytes):
                    bound = kibibytes << 10
                    result = run([os.path.join(BIN, tool)],
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (bound, bound)))
                    said = result.stderr.decode()
                    self.assertNotRegex(said, "terminate called|std::bad_alloc")
                    self.assertGreaterEqual(result.returncode, 0, said)
                    if "memory was refused" in said:
                        self.assertRegex(said, rf"\A{tool}: on \S+: memory was refused.*\(RLIMIT_DATA, ulimit -d\): {bound} bytes, of which \d+ are in use\n\Z")
                        refused.add(tool)
        self.assertEqual(refused, {"acpinfo", "acpstat"})

    def test_the_size_of_files_is_named(self):
        result = self.limited(resource.RLIMIT_FSIZE, 65536, "-n", "2", *WHOLE_JOB)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("RLIMIT_FSIZE, ulimit -f): 65536 bytes", result.stderr.decode())

    def test_address_space_of_several_nodes(self):
        for kibibytes in (20000, 25000, 30000, 40000, 60000, 100000):
            with self.subTest(kibibytes=kibibytes):
                result = self.limited(resource.RLIMIT_AS, kibibytes << 10, "-n", "4", "--nodes=2", *WHOLE_JOB)
                said = (result.stderr + result.stdout).decode()
                self.assertNotRegex(said, r"std::bad_alloc\n|RLIMIT_AS.*RLIMIT_AS")
                if result.returncode != 0:
                    self.assertRegex(said, "RLIMIT_AS|ulimit -v|[Cc]annot allocate memory|out of memory|failed to map")

    def test_the_address_space_in_use_is_named_for_gateways_too(self):
        result = self.limited(resource.RLIMIT_AS, 70 << 20, "-n", "2", "--nodes=2", "--heap-size", "1M", *WHOLE_JOB)
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr.decode(), rf"RLIMIT_AS, ulimit -v\): {70 << 20} bytes, of which \d+ are in use")

    def test_refused_descriptors_are_reported_as_the_limit_and_not_as_a_closed_file(self):
        for shape in (("-n", "2"), ("-n", "4", "--nodes=2")):
            for count in (0, 1, 3):
                with self.subTest(shape=shape, count=count):
                    result = run([ACPRUN, *shape, RANK, f"allow-descriptors={count}", "init", "exit=3"])
                    said = result.stdout.decode()
                    self.assertEqual(result.returncode, 3, result)
                    self.assertRegex(said, r"init: limit reached: acp_init by process \d+ on \S+: taking the node's memory, which acprun gave to this process: "
                                           rf".*descriptors allowed \(RLIMIT_NOFILE, ulimit -n\): {count}\b")
                    self.assertNotIn("closed it", said)

    def test_missing_descriptors_are_not_reported_as_a_missing_library(self):
        for count in range(8, 40, 2):
            with self.subTest(count=count):
                result = run([ACPRUN, "-n", "2", "--nodes=2", RANK, f"allow-descriptors={count}", "init", "exit=3"])
                said = result.stdout.decode()
                self.assertEqual(result.returncode, 3, result)
                self.assertNotIn("install", said)
                for line in said.splitlines():
                    self.assertRegex(line, r"\Ainit: limit reached: acp_init by .*ulimit -n")

    def test_descriptors(self):
        for count in (8, 16, 32, 64, 128):
            with self.subTest(count=count):
                result = self.limited(resource.RLIMIT_NOFILE, count, "-n", "2", *WHOLE_JOB)
                if result.returncode != 0:
                    self.assertRegex((result.stderr + result.stdout).decode(),
                                     "RLIMIT_NOFILE|ulimit -n|Too many open files|descriptors")


if __name__ == "__main__":
    main()
