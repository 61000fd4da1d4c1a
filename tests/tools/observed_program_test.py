# SPDX-License-Identifier: BSD-3-Clause
"""Programs under other tools, as docs/guide/tools.md describes: each runs a small correct program alone and over two emulated nodes,
ends in time, and reports nothing that the program did not do."""
import os
import re
import resource
import shutil
import subprocess
import tempfile
import unittest

from support import ACPRUN, PROGRAMS, ToolTest, clean_environment, main

OBSERVED = os.path.join(PROGRAMS, "observed")
HANGS_S = 300
ALONE = []
TWO_NODES = [ACPRUN, "-n", "2", "--nodes", "2"]
TWO_RANKS = [ACPRUN, "-n", "2"]


def run(start, tool, *words, program=OBSERVED, env=None, **more):
    """Runs `tool program words` as each rank of a job. Returns the exit code and all that was printed."""
    result = subprocess.run([*start, *tool, program, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=HANGS_S,
                            env=clean_environment(**(env or {})), **more)
    return result.returncode, result.stdout.decode(errors="replace")


def needs(tool):
    return unittest.skipUnless(shutil.which(tool), f"{tool} is not installed")


def preloaded(name):
    """The path of a library in the linker's folders, or None."""
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    return None


class ObservedProgramTest(ToolTest):
    def expect_right(self, result, *parts):
        code, text = result
        self.assertEqual(code, 0, text)
        for part in parts:
            self.assertIn(part, text)
        return text

    @needs("valgrind")
    def test_memcheck_finds_no_error_and_no_leak_of_the_program(self):
        tool = ["valgrind", "--leak-check=full", "--show-leak-kinds=definite", "--errors-for-leak-kinds=definite",
                "--error-exitcode=9"]
        for start in ALONE, TWO_NODES:
            with self.subTest(start=start):
                self.expect_right(run(start, tool), "ERROR SUMMARY: 0 errors", "LEAK SUMMARY")

    @needs("valgrind")
    def test_memcheck_does_not_read_reserved_memory_where_a_program_exits_without_acp_finalize(self):
        text = self.expect_right(run(ALONE, ["valgrind", "--leak-check=full", "--error-exitcode=9"], "exit"))
        self.assertIn("ERROR SUMMARY: 0 errors", text)

    @needs("valgrind")
    def test_memcheck_still_finds_an_error_of_the_program(self):
        for start in ALONE, TWO_NODES:
            with self.subTest(start=start):
                code, text = run(start, ["valgrind", "--error-exitcode=9"], "wrong")
                self.assertEqual(code, 9, text)
                self.assertIn("Invalid write", text)

    @needs("gdb")
    def test_gdb_runs_a_rank_to_its_end_and_shows_where_it_crashed(self):
        tool = ["gdb", "-q", "-batch", "-return-child-result", "-ex", "run", "-ex", "thread apply all bt", "--args"]
        for start in ALONE, TWO_NODES:
            with self.subTest(start=start):
                self.expect_right(run(start, tool), "exited normally")
                code, text = run(start, tool, "crash")
                self.assertNotEqual(code, 0, text)
                self.assertIn("SIGABRT", text)
                self.assertRegex(text, r"in main(\[cold\])? \(")

    @needs("strace")
    def test_strace_follows_a_rank_and_all_its_threads(self):
        for start in ALONE, TWO_NODES:
            with self.subTest(start=start), tempfile.TemporaryDirectory() as folder:
                self.expect_right(run(start, ["strace", "-f", "-ff", "-o", os.path.join(folder, "calls")]))
                traces = [open(os.path.join(folder, name)).read() for name in os.listdir(folder)]
                self.assertTrue(any("acp-node" in trace or "MAP_SHARED" in trace for trace in traces))

    @needs("perf")
    def test_perf_counts_and_records_a_rank(self):
        if subprocess.run(["perf", "stat", "-e", "task-clock", "true"], capture_output=True).returncode != 0:
            self.skipTest("this kernel has no perf for the perf that is installed")
        for start in ALONE, TWO_NODES:
            with self.subTest(start=start):
                self.expect_right(run(start, ["perf", "stat", "-e", "task-clock"]), "task-clock")
            with self.subTest(start=start, record=True), tempfile.TemporaryDirectory() as folder:
                # each rank writes a file of its own
                record = ["sh", "-c", f'exec perf record -e task-clock -g -o {folder}/$$ "$@"', "record"]
                self.expect_right(run(start, record))
                files = os.listdir(folder)
                self.assertEqual(len(files), 1 if start is ALONE else 2)
                for file in files:
                    report = subprocess.run(["perf", "report", "--stdio", "-i", os.path.join(folder, file)],
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode()
                    self.assertIn("observed", report)

    def test_a_core_dump_has_no_page_of_the_heaps(self):
        with open("/proc/sys/kernel/core_pattern") as file:
            pattern = file.read().strip()
        if pattern.startswith("|") or "/" in pattern:
            self.skipTest(f"core dumps go to {pattern}")

        def allow_cores():
            resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

        for start in ALONE, TWO_NODES:
            with self.subTest(start=start), tempfile.TemporaryDirectory() as folder:
                code, text = run(start, [], "crash", cwd=folder, preexec_fn=allow_cores, env={"ACP_HEAP_SIZE": "1G"})
                self.assertNotEqual(code, 0, text)
                # allocated, not apparent: a dump is sparse
                sizes = [os.stat(os.path.join(folder, name)).st_blocks * 512 for name in os.listdir(folder)]
                for size in sizes:
                    self.assertLess(size, 64 << 20)

    def resident_shared(self, text, when):
        found = re.findall(rf"{when} RssShmem:\s+(\d+) kB", text)
        self.assertTrue(found, text)
        return [int(kib) << 10 for kib in found]

    def test_mlockall_makes_no_reserved_memory_resident(self):
        for start in TWO_RANKS, TWO_NODES:
            for word in "lock", "lock-all":
                with self.subTest(start=start, word=word):
                    code, text = run(start, [], word, env={"ACP_HEAP_SIZE": "2G"})
                    if code == 77:
                        self.skipTest("this process may not lock memory")
                    self.assertEqual(code, 0, text)
                    for when in "in use", "over":
                        for size in self.resident_shared(text, when):
                            self.assertLess(size, 64 << 20, text)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become a user whose locked memory is limited")
    def test_a_limit_of_locked_memory_is_named_where_a_program_locks_its_memory(self):
        limit = 1 << 20

        def limit_locked_memory():
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (limit, limit))
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

        for start in ALONE, TWO_NODES:
            with self.subTest(start=start):
                code, text = run(start, [], "lock", preexec_fn=limit_locked_memory)
                if code == 77:
                    self.skipTest("this process may not lock memory")
                self.assertNotEqual(code, 0, text)
                self.assertIn(f"(RLIMIT_MEMLOCK, ulimit -l): {limit} bytes", text)

    def test_a_limit_of_address_space_makes_the_heap_smaller(self):
        limit = 4 << 30

        def limit_space():
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

        for start in ALONE, TWO_NODES:
            with self.subTest(start=start):
                self.expect_right(run(start, [], preexec_fn=limit_space))

    def test_other_allocators(self):
        for name in "libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2.0":
            path = preloaded(name)
            for start in ALONE, TWO_NODES:
                with self.subTest(name=name, start=start):
                    if path is None:
                        self.skipTest(f"{name} is not installed")
                    self.expect_right(run(start, ["env", f"LD_PRELOAD={path}"]))

    def test_address_sanitizer_of_the_program_finds_its_errors_and_no_others(self):
        program = OBSERVED + "_asan"
        if not os.path.exists(program):
            self.skipTest("the build has sanitizers of its own")
        for start in ALONE, TWO_NODES:
            with self.subTest(start=start):
                self.expect_right(run(start, [], program=program))
                code, text = run(start, [], "wrong", program=program)
                self.assertNotEqual(code, 0, text)
                self.assertIn("heap-use-after-free", text)

    @needs("setarch")
    def test_thread_sanitizer_of_the_program_finds_its_races_and_no_others(self):
        program = OBSERVED + "_tsan"
        if not os.path.exists(program):
            self.skipTest("the build has sanitizers of its own")
        with tempfile.TemporaryDirectory() as folder:
            suppressions = os.path.join(folder, "suppressions")
            with open(suppressions, "w") as file:
                file.write("race:libacp.so\n")
            env = {"TSAN_OPTIONS": f"suppressions={suppressions}"}
            for start in ALONE, TWO_RANKS, TWO_NODES:
                with self.subTest(start=start):
                    code, text = run(start, ["setarch", "-R"], program=program, env=env)
                    self.assertNotIn("WARNING: ThreadSanitizer", text)
                    self.assertEqual(code, 0, text)
                    code, text = run(start, ["setarch", "-R"], "race", program=program, env=env)
                    self.assertEqual(code, 66, text)
                    self.assertIn("data race", text)
                    self.assertIn("raced", text)


if __name__ == "__main__":
    main()
