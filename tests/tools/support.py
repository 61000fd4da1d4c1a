# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the tools share: starting acprun, and finding every process of a job by a mark in its
environment. Waits for events, never for time; a watchdog ends a test that hangs."""
import contextlib
import os
import re
import select
import signal
import subprocess
import unittest
import uuid

BIN = os.environ["TOOLTEST_BIN"]
PROGRAMS = os.environ["TOOLTEST_PROGRAMS"]
ACPRUN = os.path.join(BIN, "acprun")
ACT = os.path.join(PROGRAMS, "act")
PRIVATE = os.path.join(PROGRAMS, "private")
RANK = os.path.join(PROGRAMS, "rank")
MEMBER = os.path.join(PROGRAMS, "member")
SSH_STUB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ssh_stub.sh")
WATCHDOG_S = 120  # far above the time of a test: a longer one hangs
MARK = "TOOLTEST_MARK"


def clean_environment(**more):
    """The environment without what another launcher or the test driver left there."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ACP_")}
    return {**kept, **more}


def acprun(*arguments, input=b"", env=None, **more):
    """Runs acprun to its end. Returns the completed process, with bytes in stdout and stderr."""
    return subprocess.run([ACPRUN, *arguments], input=input, capture_output=True, timeout=WATCHDOG_S,
                          env=clean_environment(**(env or {})), **more)


def marked_processes(mark):
    """{pid: name} of all living processes whose environment holds the mark."""
    wanted = f"{MARK}={mark}".encode()
    found = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if wanted not in file.read().split(b"\0"):
                    continue
            with open(f"/proc/{entry}/comm") as file:
                found[int(entry)] = file.read().strip()
        except OSError:
            continue  # gone, or not ours
    return found


def sockets_of(pid):
    """The lines, split, of the kernel's table for the IPv4 UDP sockets that a process has bound."""
    inodes = set()
    for descriptor in os.listdir(f"/proc/{pid}/fd"):
        inodes.update(re.findall(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{descriptor}")))
    with open("/proc/net/udp") as table:
        lines = [line.split() for line in list(table)[1:]]
    return [words for words in lines if words[9] in inodes]


def port_of(words):
    """Of a line of that table."""
    return int(words[1].split(":")[1], 16)


def environment_of(pid):
    """The environment a process was started with; empty when it is gone."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            entries = file.read().decode(errors="replace").split("\0")
    except OSError:
        return {}
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def command_line(pid):
    """The words a process was started with, and an empty one."""
    with open(f"/proc/{pid}/cmdline") as file:
        return file.read().split("\0")


def stat_of(pid):
    """The fields of /proc/PID/stat behind the name: state, parent, ..."""
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()


def state_of(pid):
    return stat_of(pid)[0]


def parent_of(pid):
    return int(stat_of(pid)[1])


def stop(process):
    """Stops a process and waits until each of its threads has stopped or ended, since a thread stops only when it is scheduled."""
    os.kill(process, signal.SIGSTOP)
    tasks = f"/proc/{process}/task"
    while any(stat_of(f"{process}/task/{task}")[0] not in "TZX" for task in os.listdir(tasks)):
        os.sched_yield()


class Job:
    """An acprun that runs in the background, with all its processes marked."""

    def __init__(self, *arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=None, **more):
        self.mark = uuid.uuid4().hex
        self.process = subprocess.Popen([ACPRUN, *arguments], stdin=stdin, stdout=stdout, stderr=stderr,
                                        env=clean_environment(**{MARK: self.mark}, **(env or {})), **more)

    def read_lines(self, count):
        """The next lines of stdout, sorted: ranks run in any order."""
        return sorted(self.read_line() for _ in range(count))

    def read_line(self):
        line = b""
        stdout = self.process.stdout.fileno()
        while not line.endswith(b"\n"):
            if not select.select([stdout], [], [], WATCHDOG_S)[0]:
                raise TimeoutError(f"no output; got {line!r} so far")
            byte = os.read(stdout, 1)
            if not byte:
                break
            line += byte
        return line.decode()

    def agent(self):
        """The agent's process number."""
        return next(pid for pid, name in marked_processes(self.mark).items() if name == "acp-agent")

    def rank(self, number):
        """The process number of a rank, which runs its program."""
        return next(pid for pid, name in marked_processes(self.mark).items()
                    if name != "acp-agent" and environment_of(pid).get("ACP_RANK") == str(number))

    def agent_of(self, rank):
        """The agent of the node a rank is on."""
        return parent_of(self.rank(rank))

    def send(self, number):
        self.process.send_signal(number)

    def finish(self):
        """Waits for the end: (exit code, rest of stdout, stderr) as text."""
        out, err = self.process.communicate(timeout=WATCHDOG_S)
        return self.process.returncode, (out or b"").decode(), (err or b"").decode()

    def wait_until_gone(self):
        """Waits until no process of the job lives; raises when one outlives the watchdog."""
        while left := marked_processes(self.mark):
            for pid, name in left.items():
                try:
                    handle = os.pidfd_open(pid)
                except ProcessLookupError:
                    continue
                try:
                    if not select.select([handle], [], [], WATCHDOG_S / 6)[0]:
                        raise TimeoutError(f"process {pid} ({name}) outlives its job")
                finally:
                    os.close(handle)
                if pid == self.process.pid:
                    self.process.wait()

    def clean_up(self):
        for pid in marked_processes(self.mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


class ToolTest(unittest.TestCase):
    """A test case that ends what it started, whatever happens."""

    def start(self, *arguments, **more):
        job = Job(*arguments, **more)
        self.addCleanup(job.clean_up)
        return job

    def assert_fails(self, result, code, *patterns):
        """The exit code, and stderr containing each pattern."""
        error = result.stderr.decode()
        self.assertEqual(result.returncode, code, error)
        for pattern in patterns:
            self.assertRegex(error, pattern)

    def assert_nobody_is_left(self, job):
        self.assertEqual(marked_processes(job.mark), {})


def ready(count):
    return ["ready\n"] * count


def main():
    signal.alarm(WATCHDOG_S * 5)
    unittest.main(verbosity=2)
