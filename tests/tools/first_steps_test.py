# SPDX-License-Identifier: BSD-3-Clause
"""The page of the first steps: its commands print the output that it shows. The programs, the commands and the messages stand in
the page alone; this test runs them as a reader would, and compares but for times, process numbers, the machine's name
and the order of lines of different ranks."""
import os
import re
import signal
import socket
import subprocess
import tempfile

from support import BIN, WATCHDOG_S, ToolTest, clean_environment, main

DOCS = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "docs")


def blocks_of(path):
    """[(language, text)] of a page."""
    with open(os.path.join(DOCS, path), encoding="utf-8") as file:
        return re.findall(r"^```(\w*)\n(.*?)^```$", file.read(), re.M | re.S)


def section(title):
    with open(os.path.join(DOCS, "guide", "first-steps.md"), encoding="utf-8") as file:
        text = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", file.read(), re.M | re.S).group(1)
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)


def plain(text):
    """Lines without what differs from run to run, sorted."""
    text = re.sub(rf"\b({re.escape(socket.gethostname())}|laptop)\b", "HOST", text)
    text = re.sub(r"process \d+", "process N", text)
    text = re.sub(r"^\d+\.\d+ ", "TIME ", text, flags=re.M)
    return sorted(text.splitlines())


class FirstSteps(ToolTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.env = clean_environment(PATH=f"{BIN}:{os.environ['PATH']}")

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def sh(self, command):
        """Output and errors of a command of the page, together."""
        command = command.replace("/tmp/trace", os.path.join(self.folder, "trace"))
        return subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=WATCHDOG_S).stdout.decode()

    def parts(self, title):
        """The program, the commands and the output that a section shows."""
        found = section(title)
        program = next((text for language, text in found if language == "c"), None)
        command = next(text for language, text in found if language == "sh" and ("acprun" in text or "acpcc" in text))
        return program, command, next(text for language, text in found if language == "")

    def assert_printed(self, command, said):
        self.assertEqual(plain(self.sh(command)), plain(said), command)

    def test_the_report(self):
        _, command, said = self.parts("Two kinds of memory")
        self.assert_printed(command, said)

    def test_an_error(self):
        program, command, said = self.parts("Reading an error")
        self.write("beyond.c", program)
        printed = [line for line in self.sh(command).splitlines() if line.startswith("acp: ")]  # the shell says "Aborted"
        self.assertEqual(plain("\n".join(printed)), plain(said))

    def test_a_trace(self):
        _, command, said = self.parts("Seeing which rank moved which byte")
        program = next(text for _, text in blocks_of("man/acp_copy.3.md") if "int main(" in text)
        self.write("copy.c", program)
        self.assert_printed(command, said)

    def test_a_rank_that_is_killed(self):
        program, command, said = self.parts("Killing a rank")
        self.write("waits.c", program)
        compiling, starting = command.splitlines()[0].split(" && ")
        self.assertEqual(self.sh(compiling), "")
        words = starting.split()
        self.assertEqual(words[0], "acprun")
        job = self.start(*words[1:], cwd=self.folder)
        victim = next(line for line in job.read_lines(int(words[2])) if line.startswith("rank 2 ")).split()[-1]
        os.kill(int(victim), signal.SIGKILL)
        code, _, error = job.finish()
        self.assertEqual(plain(error), plain(said))
        self.assertEqual(code, 137)


if __name__ == "__main__":
    main()
