# SPDX-License-Identifier: BSD-3-Clause
"""The job's key: no other user can read it anywhere. A stub of ssh records the stream to one agent, so that the test knows
the key for which it searches."""
import hashlib
import hmac
import os
import re
import resource
import signal
import struct
import tempfile
import unittest

from support import ACT, RANK, SSH_STUB, ToolTest, main, marked_processes, ready

PREAMBLE = b"key 32\n"


def lines_to_agent(talk):
    """The stream to an agent on the launcher's channel: src/launch/relay.hpp has the frames of a trunk. A frame may end
    between the key's line and the key."""
    channel, of_bytes = 0, 0
    sent, at = b"", 0
    while at + 8 <= len(talk):
        stream, kind, _, count = struct.unpack_from("<BBHI", talk, at)
        at += 8
        if kind != of_bytes:
            continue
        if stream == channel:
            sent += talk[at:at + count]
        at += count
    return sent


def forms(key):
    """A secret as programs would write it."""
    return {"raw": key, "hex": key.hex().encode(), "HEX": key.hex().upper().encode()}


def hkdf(secret, salt, info):
    """RFC 5869 with SHA-256, 32 bytes."""
    extracted = hmac.digest(salt or bytes(32), secret, hashlib.sha256)
    return hmac.digest(extracted, info + b"\x01", hashlib.sha256)


def job_ids(pid):
    """What may be the job's number: it lies at the start of the node segment, which the rank maps more than once, in parts."""
    words = set()
    with open(f"/proc/{pid}/maps") as file:
        starts = [int(line.split("-")[0], 16) for line in file
                  if "memfd:acp-node" in line and line.split()[1].startswith("r") and int(line.split()[2], 16) == 0]
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for start in starts:
            memory.seek(start)
            page = memory.read(4096)
            words |= {page[at:at + 8] for at in range(0, len(page), 8)}
    return words - {bytes(8)}


def core_limit(pid):
    """The soft limit of a process's core dumps, as the kernel writes it."""
    with open(f"/proc/{pid}/limits") as file:
        return re.search(r"^Max core file size +(\S+)", file.read(), re.MULTILINE)[1]


def dumped_parts(pid):
    """(start, end) of the memory of a process that a core dump would hold."""
    start, parts = None, []
    with open(f"/proc/{pid}/smaps") as file:
        for line in file:
            region = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+ *(.*)", line)
            if region:
                readable = region[3].startswith("r") and not region[4].startswith(("[vvar", "[vsyscall"))
                start = (int(region[1], 16), int(region[2], 16)) if readable else None
            elif line.startswith("VmFlags:") and start and "dd" not in line.split():
                parts.append(start)
    return parts


class Talk(unittest.TestCase):
    def test_a_frame_may_end_between_the_key_s_line_and_the_key(self):
        key = bytes(range(32))
        frames = [(0, PREAMBLE), (1, b"input of a rank"), (0, key)]
        credit = struct.pack("<BBHI", 0, 1, 0, 7)
        talk = b"".join(struct.pack("<BBHI", stream, 0, 0, len(text)) + text + credit for stream, text in frames)
        self.assertEqual(lines_to_agent(talk), PREAMBLE + key)


class Key(ToolTest):
    def start_tapped(self, *program):
        """A job on two hosts that pauses, of `act` or the given program, and the key one agent was sent."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        tap = os.path.join(folder.name, "tap")
        job = self.start("--heap-size", "1M", "--hosts", "tapped,b", "--ssh", SSH_STUB, *(program or (ACT,)), "print=ready", "pause", env={"STUB_TAP": tap})
        self.assertEqual(job.read_lines(2), ready(2))
        with open(tap, "rb") as file:
            talk = lines_to_agent(file.read())
        at = talk.index(PREAMBLE) + len(PREAMBLE)
        key = talk[at:at + 32]
        self.assertGreater(len(set(key)), 8)
        return job, key

    def search(self, content, key, where):
        for name, form in forms(key).items():
            self.assertNotIn(form, content, f"the key, {name}, in {where}")

    def test_the_key_is_in_no_argument_and_no_environment(self):
        job, key = self.start_tapped()
        for pid, name in marked_processes(job.mark).items():
            for file in ("cmdline", "environ"):
                with open(f"/proc/{pid}/{file}", "rb") as content:
                    self.search(content.read(), key, f"{file} of {name}")

    def test_the_key_is_in_no_output(self):
        job, key = self.start_tapped()
        os.kill(job.agent_of(0), signal.SIGKILL)
        code, out, error = job.finish()
        self.assertEqual(code, 69)
        self.search(out.encode() + error.encode(), key, "the output")

    def test_the_key_is_in_no_memory_that_a_core_dump_contains(self):
        job, key = self.start_tapped()
        searched = 0
        for pid, name in marked_processes(job.mark).items():
            if name not in ("acprun", "acp-agent", "acp-keeper", "act"):
                continue  # the stub's own tools
            with open(f"/proc/{pid}/mem", "rb") as memory:
                for start, end in dumped_parts(pid):
                    memory.seek(start)
                    try:
                        content = memory.read(end - start)
                    except OSError:
                        continue  # not there
                    searched += len(content)
                    self.search(content, key, f"memory of {name} at {start:#x}")
        self.assertGreater(searched, 1 << 20)

    def test_keys_of_a_rank_s_own_gateway_are_in_no_memory_that_a_core_dump_would_hold(self):
        job, key = self.start_tapped(RANK, "init")
        ranks = [pid for pid, name in marked_processes(job.mark).items() if name == "rank"]
        self.assertEqual(len(ranks), 2)
        derived = {}
        for job_id in job_ids(ranks[0]):
            own = hkdf(key, job_id, b"acp1 ranks")
            derived[own] = "the ranks' key"
            derived[hkdf(own, job_id, b"acp1 handshake")] = "the handshake key"
            derived[hkdf(own, job_id, b"acp1 traffic")] = "the traffic secret"
        found_at_all = 0
        for pid in ranks:
            dumped = dumped_parts(pid)
            with open(f"/proc/{pid}/maps") as file:
                parts = [tuple(int(end, 16) for end in line.split()[0].split("-")) for line in file
                         if line.split()[1].startswith("rw")]
            with open(f"/proc/{pid}/mem", "rb") as memory:
                for start, end in parts:
                    memory.seek(start)
                    try:
                        content = memory.read(end - start)
                    except OSError:
                        continue
                    for secret, name in derived.items():
                        if secret not in content:
                            continue
                        found_at_all += 1
                        self.assertNotIn((start, end), dumped, f"{name} at {start:#x}")
        self.assertGreaterEqual(found_at_all, 4, "handshake key and traffic secret, in secret memory of both")

    def test_no_core_of_a_gateway_is_dumped_and_ranks_dump_as_they_would(self):
        def unlimited_cores():
            resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

        with open("/proc/sys/kernel/core_pattern") as file:
            are_cores_files_here = re.match(r"core[^/|]*$", file.read())
        with tempfile.TemporaryDirectory() as folder:
            job = self.start("-n", "2", "--nodes", "2", ACT, "print=ready", "pause", cwd=folder,
                             preexec_fn=unlimited_cores)
            self.assertEqual(job.read_lines(2), ready(2))
            for rank in (0, 1):
                self.assertEqual(core_limit(job.agent_of(rank)), "1")
                self.assertEqual(core_limit(job.rank(rank)), "unlimited")
            os.kill(job.rank(0), signal.SIGABRT)
            code, _, error = job.finish()
            self.assertEqual(code, 128 + signal.SIGABRT)
            self.assertRegex(error, r"SIGABRT: \S+\)( and dumped core)?; the other rank was ended")
            job.wait_until_gone()
            if are_cores_files_here:
                self.assertEqual(len(os.listdir(folder)), 1)

    def test_each_job_has_another(self):
        keys = set()
        for _ in range(3):
            job, key = self.start_tapped()
            keys.add(key)
            job.send(signal.SIGTERM)
            job.finish()
        self.assertEqual(len(keys), 3)


if __name__ == "__main__":
    main()
