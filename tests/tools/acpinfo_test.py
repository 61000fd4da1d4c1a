#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""acpinfo from outside: what it prints, where, and how it ends.

Usage: acpinfo_test.py ACPINFO CONFIG_REGISTRY_SOURCE
"""
import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

ACPINFO, REGISTRY = "", ""
COMMAND = re.compile(r"^\s*\$ ")
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def clean_environment(extra=None):
    """This environment without ACP's own variables and without NO_COLOR."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("ACP_") and k != "NO_COLOR"}
    return {**kept, **(extra or {})}


def run(*arguments, environment=None):
    return subprocess.run([ACPINFO, *arguments], env=clean_environment(environment), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def run_on_terminal(*arguments, columns, environment=None):
    """What a terminal of that width receives."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen([ACPINFO, *arguments], env=clean_environment(environment),
                          stdout=theirs, stderr=theirs, stdin=theirs) as process:
        os.close(theirs)
        received = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
            if not piece:
                break
            received += piece
        process.wait()
    os.close(ours)
    return received.decode().replace("\r\n", "\n")


def json_of(*arguments, environment=None):
    result = run(*arguments, "--json", "-", environment=environment)
    if result.returncode != 0:
        raise AssertionError(f"exit {result.returncode}: {result.stderr}")
    return json.loads(result.stdout)


class Report(unittest.TestCase):
    def test_has_every_section_and_no_complaint(self):
        result = run()
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stderr, "")
        titles = [line for line in result.stdout.splitlines() if line and line[0].isupper()]
        self.assertEqual(titles, ["Build", "Machine", "Paths on one node", "Between nodes", "Kernel features", "Speed",
                                  "Configuration"])

    def test_names_and_values_line_up(self):
        rows = [line for line in run().stdout.splitlines() if line.startswith("  ") and line[4] != " "]
        self.assertGreater(len(rows), 20)
        starts = {re.match(r"  [ +!x] \S+(?: \S+)*  +", row).end() for row in rows}
        self.assertEqual(len(starts), 1, rows)

    def test_every_path_is_reported_as_working_or_not(self):
        facts = json_of()["paths"]
        self.assertEqual(set(facts), {"direct", "attach", "mailbox", "udp"})
        for name, fact in facts.items():
            with self.subTest(path=name):
                self.assertIn(fact["verdict"], ("good", "costly", "broken"))
                if fact["verdict"] == "good":
                    self.assertTrue(fact["text"].startswith("works"), fact)
                else:
                    self.assertFalse(fact["text"].startswith("works"), fact)

    def test_a_setting_that_costs_speed_has_a_remedy(self):
        for section in ("paths", "hints"):
            for name, fact in json_of()[section].items():
                if fact["verdict"] in ("costly", "broken"):
                    with self.subTest(fact=name):
                        self.assertTrue(fact["remedies"] or fact["verdict"] == "broken", fact)

    def test_attach_switched_off_is_seen(self):
        fact = json_of(environment={"ACP_ATTACH": "off"})["paths"]["attach"]
        self.assertEqual(fact["verdict"], "costly")
        self.assertIn("ACP_ATTACH=off", fact["text"])

    def test_names_cipher_addresses_ports_buffer_and_launchers(self):
        facts = json_of()["network"]
        self.assertEqual(facts["cipher"]["verdict"], "good")
        self.assertIn(facts["cipher"]["value"]["name"].split("/")[0], ("aes-128-gcm", "chacha20-poly1305"))
        self.assertGreater(facts["cipher"]["value"]["bytes_per_second"], 1e7)
        first = facts["address 1"]["value"]
        self.assertGreater(first["datagram_bytes"], 500)
        self.assertIn(first["interface"], os.listdir("/sys/class/net"))
        self.assertRegex(facts["UDP ports"]["text"], r"any of \d+-\d+")
        self.assertGreater(facts["receive buffer"]["value"]["granted_bytes"], 65535)
        self.assertEqual(facts["reaches machines by"]["verdict"],
                         "good" if any(map(shutil.which, ("ssh", "srun", "blaunch"))) else "broken")

    def test_settings_between_nodes_are_seen(self):
        facts = json_of(environment={"ACP_SECURITY": "off", "ACP_PORTS": "4700-4710", "PATH": "/nowhere"})["network"]
        self.assertEqual((facts["cipher"]["verdict"], facts["cipher"]["value"]["name"]), ("costly", "none"))
        self.assertEqual(facts["UDP ports"]["text"], "4700 to 4710 (ACP_PORTS)")
        self.assertEqual(facts["reaches machines by"]["verdict"], "broken")
        facts = json_of(environment={"ACP_CIPHER": "chacha"})["network"]
        self.assertIn("chacha20-poly1305", facts["cipher"]["value"]["name"])

    def test_a_job_prints_one_table(self):
        acprun = os.path.join(os.path.dirname(ACPINFO), "acprun")
        for nodes in (1, 2):
            result = subprocess.run([acprun, "-n", "4", "--nodes", str(nodes), ACPINFO], env=clean_environment(), text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
            self.assertEqual((result.returncode, result.stdout.count("Machine\n")), (0, 1), result.stderr)
            self.assertEqual("node 0 of 2" in result.stderr, nodes == 2)

    def test_counts_the_cpus_of_the_affinity_mask(self):
        mask = os.sched_getaffinity(0)
        self.assertEqual(json_of()["machine"]["CPUs"]["value"]["affinity"], len(mask))
        os.sched_setaffinity(0, {min(mask)})
        try:
            data = json_of()
        finally:
            os.sched_setaffinity(0, mask)
        self.assertEqual(data["machine"]["CPUs"]["value"]["affinity"], 1)
        self.assertEqual(data["machine"]["CPUs"]["value"]["usable"], 1)
        self.assertIn("two CPUs", data["hints"]["wake-up"]["text"])

    def test_repeats_the_variables_that_are_set(self):
        text = run(environment={"ACP_COLORS": "2"}).stdout
        self.assertRegex(text, r"ACP_COLORS +2 \(default 1\)")


class Terminal(unittest.TestCase):
    def test_colours_only_on_a_terminal_that_wants_them(self):
        self.assertNotRegex(run().stdout, ESCAPE)
        self.assertRegex(run_on_terminal(columns=100), ESCAPE)
        self.assertNotRegex(run_on_terminal(columns=100, environment={"NO_COLOR": "1"}), ESCAPE)

    def test_lines_fit_the_terminal(self):
        for arguments in ((), ("-c",), ("--memory", "-n", "4")):
            for columns in (80, 120, 200):
                text = ESCAPE.sub("", run_on_terminal(*arguments, columns=columns))
                for line in text.splitlines():
                    if not COMMAND.match(line):  # commands stay in one piece
                        self.assertLessEqual(len(line), columns, line)
                    self.assertEqual(line, line.rstrip())


class Variables(unittest.TestCase):
    def setUp(self):
        self.names = re.findall(r'^\s*\{"(ACP_[A-Z_]+)"', pathlib.Path(REGISTRY).read_text(), re.M)

    def test_lists_every_variable_of_the_registry_in_its_order(self):
        self.assertGreater(len(self.names), 15)
        lines = run("-c").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines[1:]], self.names)
        self.assertEqual([row["name"] for row in json_of("-c")["variables"]], self.names)
        on_terminal = run_on_terminal("-c", columns=80).splitlines()
        self.assertEqual([line.split()[0] for line in on_terminal if line.startswith("ACP_")], self.names)

    def test_every_row_is_complete_and_lines_up(self):
        lines = run("-c").stdout.splitlines()
        titles = re.findall(r"\S+", lines[0])
        self.assertEqual(titles, ["VARIABLE", "VALUE", "DEFAULT", "ORIGIN", "TYPE", "MEANING"])
        starts = [lines[0].index(title) for title in titles]
        for line in lines[1:]:
            for start in starts:
                self.assertNotEqual(line[start], " ", line)
                self.assertTrue(start == 0 or line[start - 2:start] == "  ", line)

    def test_shows_value_default_and_origin(self):
        rows = {row["name"]: row for row in json_of(
            "-c", environment={"ACP_STARTER_SIZE": "2048k", "ACP_RANK": "3"})["variables"]}
        starter = rows["ACP_STARTER_SIZE"]
        self.assertEqual((starter["value"], starter["default"], starter["origin"]),
                         ("2M", "64K", "environment"))
        self.assertEqual(rows["ACP_COLORS"]["origin"], "default")
        self.assertEqual((rows["ACP_RANK"]["value"], rows["ACP_RANK"]["origin"]), ("3", "launcher"))

    def test_a_value_that_does_not_fit_ends_with_78_and_says_what_fits(self):
        for arguments in ((), ("-c",), ("--memory",), ("--json", "-")):
            result = run(*arguments, environment={"ACP_INTRANODE": "shm"})
            self.assertEqual(result.returncode, 78)
            self.assertEqual(result.stdout, "")
            self.assertIn("ACP_INTRANODE=shm", result.stderr)
            self.assertIn("auto|direct|attach|mailbox|udp", result.stderr)

    def test_an_unknown_variable_is_warned_about_on_stderr(self):
        result = run("-c", environment={"ACP_MAILBOXX": "mpsc"})
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stderr, "acpinfo: warning: ACP_MAILBOXX is not a variable of ACP "
                                        "(did you mean ACP_MAILBOX?)\n")
        self.assertNotIn("ACP_MAILBOXX", result.stdout)


class Memory(unittest.TestCase):
    @staticmethod
    def memory(procs, *more, environment=None):
        return json_of("--memory", "-n", str(procs), *more, environment=environment)["memory"]

    def test_text_and_json_agree_and_parts_add_up(self):
        data = self.memory(12)
        rows = [line.split("  ") for line in run("--memory", "-n", "12").stdout.splitlines()[3:]]
        rows = [[cell.strip() for cell in row if cell] for row in rows[:rows.index([""])]]
        shown = {row[0]: (int(row[1]), int(row[3])) for row in rows}
        for part in data["parts"]:
            self.assertEqual(shown[part["part"]], (part["start_bytes"], part["most_bytes"]))
        self.assertEqual(shown["total"], (data["start_bytes"], data["most_bytes"]))
        for kind in ("node_start_bytes", "node_most_bytes"):
            self.assertEqual(sum(part[kind] for part in data["parts"]), data[kind])

    def test_a_node_takes_more_with_every_rank(self):
        for kind in ("mpsc", "pairs", "bitmap"):
            before = {"node_start_bytes": 0, "node_most_bytes": 0}
            for procs in (1, 2, 3, 4, 7, 16, 64, 256, 1024):
                data = self.memory(procs, environment={"ACP_MAILBOX": kind})
                for key, bytes_before in before.items():
                    self.assertGreater(data[key], bytes_before, (kind, procs, key))
                    before[key] = data[key]

    def test_a_node_takes_little_more_for_every_further_node(self):
        few, many = (self.memory(16 * nodes, "--ppn", "16") for nodes in (2, 1002))
        self.assertLess(many["node_start_bytes"] - few["node_start_bytes"], 1000 * 170)
        self.assertEqual(many["nodes"], 1002)

    def test_a_million_ranks_take_half_a_megabyte_each_at_start(self):
        data = self.memory(1_000_000, "--ppn", "100")
        self.assertLessEqual(data["start_bytes"], 500_000)
        gateway = [part for part in data["parts"] if part["part"].startswith("gateway")]
        self.assertGreater(sum(part["node_start_bytes"] for part in gateway), 1 << 20)

    def test_starter_memory_is_as_configured(self):
        parts = self.memory(4, environment={"ACP_STARTER_SIZE": "1M"})["parts"]
        starter = next(part for part in parts if part["part"] == "starter memory")
        self.assertEqual(starter["start_bytes"], 1 << 20)

    def test_the_largest_job_is_answered_and_one_more_is_refused(self):
        self.assertEqual(self.memory(1 << 20, "--ppn", "1023")["ranks"], 1 << 20)
        self.assertEqual(self.memory(1024)["ranks"], 1024)
        for arguments in (("-n", str((1 << 20) + 1), "--ppn", "64"), ("-n", "0"), ("-n", "1025"),
                          ("-n", "2048", "--ppn", "1024"),
                          ("-n", "4", "--ppn", "0"), ("-n", "-1"), ("-n", "four"), ("-n",)):
            result = run("--memory", *arguments)
            self.assertEqual(result.returncode, 64, arguments)
            self.assertNotEqual(result.stderr, "")
            self.assertEqual(result.stdout, "")


class Usage(unittest.TestCase):
    def test_wrong_usage_ends_with_64(self):
        for arguments in (("--frobnicate",), ("surplus",), ("-n", "4"), ("--ppn", "2"), ("-c", "--memory"), ("--json",)):
            result = run(*arguments)
            self.assertEqual(result.returncode, 64, arguments)
            self.assertEqual(result.stdout, "")
            self.assertRegex(result.stderr, r"\Aacpinfo: .+\nacpinfo: hint: acpinfo --help lists what there is\n\Z")

    def test_help_and_version_end_with_0(self):
        self.assertIn("--memory", run("--help").stdout)
        self.assertRegex(run("--version").stdout, r"^acpinfo \(ACP\) \d+\.\d+\.\d+")
        self.assertEqual((run("--help").returncode, run("--version").returncode), (0, 0))

    def test_json_goes_into_a_file_when_asked(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "info.json"
            result = run("-c", "--json", str(file))
            self.assertEqual((result.returncode, result.stdout), (0, ""))
            self.assertEqual(json.loads(file.read_text()), json_of("-c"))
            result = run("--json", str(pathlib.Path(folder) / "missing" / "info.json"))
            self.assertEqual(result.returncode, 74)
            self.assertIn("cannot write", result.stderr)


if __name__ == "__main__":
    ACPINFO, REGISTRY = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
