# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks write: whole lines, tags, files, and a reader who is slow, or gone."""
import contextlib
import os
import re
import select
import subprocess
import tempfile

from support import ACPRUN, ACT, WATCHDOG_S, ToolTest, acprun, clean_environment, main


class Lines(ToolTest):
    def test_no_line_is_broken_under_load(self):
        ranks, count = 64, 1000
        result = acprun("-n", str(ranks), "--tag", ACT, f"lines={count}")
        self.assertEqual(result.returncode, 0, result.stderr)
        seen = [0] * ranks
        for line in result.stdout.decode().splitlines():
            match = re.fullmatch(r"\[(\d+)\] rank (\d+) line (\d+) (x*) end", line)
            self.assertIsNotNone(match, line)
            rank, told, number, pad = match.groups()
            self.assertEqual((rank, int(number), len(pad)), (told, seen[int(rank)], int(number) % 100))
            seen[int(rank)] += 1
        self.assertEqual(seen, [count] * ranks)

    def test_both_streams_keep_apart(self):
        result = acprun("-n", "2", "--tag", ACT, "print=out", "error=err")
        self.assertEqual(sorted(result.stdout.splitlines()), [b"[0] out", b"[1] out"])
        self.assertEqual(sorted(result.stderr.splitlines()), [b"[0] err", b"[1] err"])

    def test_an_unfinished_line_is_passed_on_unchanged(self):
        self.assertEqual(acprun("-n", "1", ACT, "part=no newline").stdout, b"no newline")
        self.assertEqual(acprun("-n", "2", ACT, "0:part=no newline").stdout, b"no newline")

    def test_an_unfinished_line_ends_before_the_line_of_another_rank(self):
        for shape in (("-n", "4"), ("-n", "4", "--nodes", "2"), ("-n", "3", "--nodes", "3")):
            for where in ("stdout", "stderr"):
                result = acprun(*shape, ACT, "part=cut" if where == "stdout" else "errorpart=cut")
                self.assertEqual(getattr(result, where).split(b"\n"), [b"cut"] * int(shape[1]), shape)

    def test_an_unfinished_line_with_a_tag_is_finished(self):
        result = acprun("-n", "2", "--tag", ACT, "part=cut")
        self.assertEqual(sorted(result.stdout.splitlines()), [b"[0] cut", b"[1] cut"])

    def test_a_progress_bar_is_passed_on_at_each_return(self):
        job = self.start("-n", "2", "--tag", ACT, "0:return=50 %", "pause")
        stdout = job.process.stdout.fileno()
        seen = b""
        while seen != b"[0] 50 %\r":
            self.assertTrue(select.select([stdout], [], [], WATCHDOG_S)[0], seen)
            seen += os.read(stdout, 100)

    def test_a_return_and_a_newline_end_one_line(self):
        result = acprun("-n", "1", "--tag", ACT, "return=text", "print=", "print=next")
        self.assertEqual(result.stdout, b"[0] text\r\n[0] next\n")

    def test_a_single_rank_is_passed_on_at_once(self):
        job = self.start("-n", "1", ACT, "part=name? ", "pause")
        stdout = job.process.stdout.fileno()
        seen = b""
        while seen != b"name? ":
            self.assertTrue(select.select([stdout], [], [], WATCHDOG_S)[0], seen)
            seen += os.read(stdout, 100)

    def test_a_very_long_line_is_passed_on_whole(self):
        result = acprun("-n", "2", ACT, "0:bytes=1000000", "0:print=")
        self.assertEqual(result.stdout, b"b" * 1000000 + b"\n")

    def test_pieces_of_very_long_lines_say_whose_they_are(self):
        """Rank 1 prints a line after acprun has passed on a piece of rank 0's, whose rest follows then."""
        for nodes, origin in (("1", "rank 0"), ("2", "node 0")):
            with tempfile.TemporaryDirectory() as folder:
                one, rest = (os.path.join(folder, name) for name in ("one", "rest"))
                for name in (one, rest):
                    os.mkfifo(name)
                zeros = "head -c 70000 /dev/zero | tr '\\0' 0"
                job = self.start("-n", "2", "--nodes", nodes, "sh", "-c",
                                 f"if [ $ACP_RANK = 0 ]; then {zeros}; read x < {rest}; echo 0; "
                                 f"else read x < {one}; echo 1; fi")
                stdout = job.process.stdout.fileno()
                seen = b""
                for name, wanted in ((one, b"0" * 65536), (rest, b"\n1\n")):
                    while wanted not in seen:
                        self.assertTrue(select.select([stdout], [], [], WATCHDOG_S)[0], seen[-100:])
                        seen += os.read(stdout, 65536)
                    with open(name, "w", encoding="ascii") as gate:
                        gate.write("go\n")
                code, out, error = job.finish()
                self.assertEqual(code, 0, error)
                whole = seen.decode() + out
                match = re.fullmatch(rf"(0+)\n1\n\[{origin}, rest of a line\] (0+)\n", whole)
                self.assertIsNotNone(match, whole[-200:])
                self.assertEqual(len(match[1]) + len(match[2]), 70001)

    def test_any_byte_is_passed_on_unchanged(self):
        data = bytes(range(256)) * 1000
        for ranks in ("1", "3"):
            self.assertEqual(acprun("-n", ranks, "sh", "-c", "[ $ACP_RANK != 0 ] || cat", input=data).stdout, data)

    def test_a_grandchild_may_finish_its_output(self):
        result = acprun("-n", "2", "bash", "-c", "echo from rank $ACP_RANK > >(sed s/from/through/)")
        self.assertEqual(sorted(result.stdout.splitlines()), [b"through rank 0", b"through rank 1"])


class Files(ToolTest):
    def test_output_goes_to_a_file_per_rank(self):
        with tempfile.TemporaryDirectory() as folder:
            made = os.path.join(folder, "a", "b")
            result = acprun("-n", "3", "--output", made, "sh", "-c", "echo out $ACP_RANK; echo err >&2")
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))
            self.assertEqual(sorted(os.listdir(made)), sorted(f"rank.{i}.{s}" for i in range(3) for s in ("out", "err")))
            for rank in range(3):
                with open(f"{made}/rank.{rank}.out") as out, open(f"{made}/rank.{rank}.err") as err:
                    self.assertEqual((out.read(), err.read()), (f"out {rank}\n", "err\n"))

    def test_a_process_that_outlives_its_rank_writes_into_the_files_of_the_rank(self):
        left = ("trap '' PIPE; echo rank; (read word < $0/go; echo late; echo error >&2; echo done > $0/done) & "
                "echo $$ > $0/gone")
        # Rank 1 of the same node keeps the agent from ending what rank 0 has left.
        script = f'case $ACP_RANK in 0) {left};; 1) read word < $0/end;; esac'
        for where in (("-n", "2"), ("-n", "4", "--nodes", "2")):
            with self.subTest(where), tempfile.TemporaryDirectory() as folder:
                for name in ("go", "done", "gone", "end"):
                    os.mkfifo(f"{folder}/{name}")
                job = self.start(*where, "--output", f"{folder}/out", "sh", "-c", script, folder)
                with open(f"{folder}/gone") as pipe:
                    number = int(pipe.read())
                with contextlib.suppress(ProcessLookupError):  # it has ended
                    shell = os.pidfd_open(number)
                    self.assertTrue(select.select([shell], [], [], WATCHDOG_S)[0], "rank 0 has not ended")
                    os.close(shell)
                for name, mode in (("go", "w"), ("done", "r"), ("end", "w")):
                    with open(f"{folder}/{name}", mode) as pipe:
                        if mode == "w":
                            pipe.write("word\n")
                        else:
                            self.assertEqual(pipe.read(), "done\n")
                self.assertEqual(job.finish(), (0, "", ""))
                for suffix, text in (("out", "rank\nlate\n"), ("err", "error\n")):
                    with open(f"{folder}/out/rank.0.{suffix}") as file:
                        self.assertEqual(file.read(), text)

    def test_a_directory_that_cannot_be_made_is_an_error(self):
        with tempfile.NamedTemporaryFile() as file:
            self.assert_fails(acprun("--output", file.name + "/sub", ACT), 74, "--output " + file.name)

    def test_a_file_that_cannot_be_made_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(folder + "/rank.1.out")
            for nodes in ((), ("--nodes", "2")):
                self.assert_fails(acprun("-n", "2", *nodes, "--output", folder, ACT), 74, "rank.1.out")


    def test_a_full_disk_ends_the_job_and_the_message_names_the_file(self):
        for where in ("-n 2", "-n 2 --nodes 2"):
            for suffix, stream in (("out", "1"), ("err", "2")):
                with self.subTest(where, stream=stream), tempfile.TemporaryDirectory() as folder:
                    os.symlink("/dev/full", f"{folder}/rank.1.{suffix}")
                    # rank 1 writes after rank 0, whose output must not be lost
                    program = f"[ $ACP_RANK = 0 ] || until [ -s {folder}/rank.0.{suffix} ]; do sleep 0.01; done; echo $ACP_RANK >&{stream}"
                    result = acprun(*where.split(), "--output", folder, "sh", "-c", program)
                    self.assert_fails(result, 74, f"cannot write {folder}/rank.1.{suffix}: No space left on device")
                    with open(f"{folder}/rank.0.{suffix}") as other:
                        self.assertEqual(other.read(), "0\n")


class Readers(ToolTest):
    def test_a_reader_that_leaves_ends_the_job_quietly(self):
        job = self.start("-n", "4", "yes")
        job.process.stdout.read(1000)
        job.process.stdout.close()
        job.process.wait(WATCHDOG_S)
        self.assertEqual(job.process.returncode, 141)
        self.assertEqual(job.process.stderr.read(), b"")
        self.assert_nobody_is_left(job)

    def test_a_reader_that_waits_makes_the_ranks_wait(self):
        total = 4 * 10_000_000
        job = self.start("-n", "4", ACT, "error=writes", "bytes=10000000")
        for _ in range(4):
            job.process.stderr.readline()
        with open(f"/proc/{job.agent()}/status") as status:
            resident_kib = int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1))
        self.assertLess(resident_kib, 32 * 1024)
        self.assertEqual(job.process.stdout.read().count(b"b"), total)
        self.assertEqual(job.process.wait(WATCHDOG_S), 0)

    def test_a_death_is_reported_while_the_output_is_not_read(self):
        job = self.start("-n", "3", "--on-failure=continue", ACT, "0:bytes=10000000", "1:signal=9", "2:bytes=10000000")
        self.assertIn(b"rank 1", job.process.stderr.readline())
        job.process.stdout.read()
        self.assertEqual(job.process.wait(WATCHDOG_S), 137)

    def test_the_user_can_end_a_job_whose_output_is_not_read(self):
        job = self.start("-n", "2", ACT, "error=writes", "trap=2", "bytes=100000")
        job.process.stderr.readline()
        job.send(2)
        job.send(2)
        self.assertEqual(job.process.wait(WATCHDOG_S), 130)
        self.assert_nobody_is_left(job)

    def test_a_closed_output_is_an_error(self):
        for shape in (["-n", "2"], ["-n", "2", "--nodes", "2"]):
            result = subprocess.run([ACPRUN, *shape, ACT, "print=x"], stderr=subprocess.PIPE, timeout=WATCHDOG_S,
                                    env=clean_environment(), preexec_fn=lambda: os.close(1))
            self.assert_fails(result, 74, r"cannot write standard output: Bad file descriptor")

    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([ACPRUN, "-n", "2", ACT, "print=x", "pause"], stdout=full, stderr=subprocess.PIPE,
                                    timeout=WATCHDOG_S, env=clean_environment())
        self.assert_fails(result, 74, "standard output.*No space left")

    def test_errors_of_the_ranks_that_cannot_be_written_end_the_job(self):
        program = ["sh", "-c", "echo lost >&2"]
        for shape in ([], ["-n", "2"], ["-n", "2", "--nodes", "2"], ["-n", "2", "--tag"]):
            with self.subTest(shape=shape, error="full"), open("/dev/full", "w") as full:
                result = subprocess.run([ACPRUN, *shape, *program], stdout=subprocess.DEVNULL, stderr=full,
                                        timeout=WATCHDOG_S, env=clean_environment())
                self.assertEqual(result.returncode, 74)
            with self.subTest(shape=shape, error="closed"):
                result = subprocess.run([ACPRUN, *shape, *program], stdout=subprocess.DEVNULL, timeout=WATCHDOG_S,
                                        env=clean_environment(), preexec_fn=lambda: os.close(2))
                self.assertEqual(result.returncode, 74)

    def test_a_reader_of_the_errors_that_leaves_ends_the_job(self):
        for shape in (["-n", "1"], ["-n", "2"], ["-n", "2", "--nodes", "2"]):
            with self.subTest(shape=shape):
                job = self.start(*shape, "sh", "-c", "exec yes >&2")
                job.process.stderr.read(1000)
                job.process.stderr.close()
                self.assertEqual(job.process.wait(WATCHDOG_S), 141)
                self.assert_nobody_is_left(job)

    def test_a_message_of_acprun_that_cannot_be_written_changes_nothing(self):
        with open("/dev/full", "w") as full:
            for options, code in ((["-n", "2", "true"], 0), (["-n", "2", "sh", "-c", "exit 3"], 3)):
                result = subprocess.run([ACPRUN, *options], stdout=subprocess.PIPE, stderr=full, timeout=WATCHDOG_S,
                                        env=clean_environment())
                self.assertEqual((result.returncode, result.stdout), (code, b""))


if __name__ == "__main__":
    main()
