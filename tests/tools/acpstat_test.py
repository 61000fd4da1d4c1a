#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""acpstat beside running jobs over two nodes: its output for them, and its message if there is none."""
import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

from support import BIN, PROGRAMS, RANK, WATCHDOG_S, ToolTest, acprun, environment_of, main, marked_processes, parent_of, ready, stop

ACPSTAT = os.path.join(BIN, "acpstat")
TRAFFIC = os.path.join(PROGRAMS, "traffic")
PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/man/acpstat.1.md")


def acpstat(*arguments):
    return subprocess.run([ACPSTAT, *arguments], capture_output=True, text=True, timeout=WATCHDOG_S)


def names_in(value):
    """All names in a JSON value, at any depth."""
    if isinstance(value, dict):
        return set(value).union(*map(names_in, value.values()))
    return set().union(*map(names_in, value)) if isinstance(value, list) else set()


def is_described(page, name):
    """"datagram wrong_tag" stands in the page as the kind and the name."""
    return f"**{name}**" in page or all(f"**{part}**" in page for part in name.split(" ", 1))


def until(look, is_seen):
    """Repeats look() until its result is accepted: a gateway writes its counters ten times a second, without a notification."""
    end = time.monotonic() + WATCHDOG_S
    while not is_seen(seen := look()):
        if time.monotonic() > end:
            raise TimeoutError(f"never seen; the last was {seen}")
        time.sleep(0.02)  # lint: a pause between looks
    return seen


def states_of(process):
    """The scheduling states of its threads, by the kernel's letters."""
    states = set()
    for thread in os.listdir(f"/proc/{process}/task"):
        with open(f"/proc/{process}/task/{thread}/stat", encoding="ascii") as file:
            states.add(file.read().rpartition(")")[2].split()[0])
    return states


class AcpstatTest(ToolTest):
    def start_traffic(self, ranks=4):
        # -q: a test may stop an agent for so long that acprun would say so
        job = self.start("-q", "-n", str(ranks), "--nodes", "2", TRAFFIC, stdin=subprocess.PIPE)
        self.assertEqual(job.read_lines(ranks), ready(ranks))
        self.name = environment_of(job.rank(0))["ACP_JOB_ID"]
        return job

    def nodes(self):
        """{node: what the JSON says of it} once both nodes are there."""
        def look():
            result = acpstat(self.name, "--json")
            return {node["node"]: node for node in json.loads(result.stdout)["nodes"]} if result.returncode == 0 else {}
        return look

    def end(self, job):
        job.process.stdin.close()
        job.process.stdin = None
        code, _, error = job.finish()
        self.assertEqual((code, error), (0, ""))


class Running(AcpstatTest):
    def test_shows_every_node_with_its_gateway_and_its_peer(self):
        job = self.start_traffic()
        nodes = until(self.nodes(), lambda seen: len(seen) == 2 and all(node["peers"] for node in seen.values()))
        for number, node in nodes.items():
            self.assertEqual(node["process"], job.agent_of(2 * number))
            self.assertEqual((node["ranks"], node["first_process"]), (2, 2 * number))
            self.assertEqual([peer["node"] for peer in node["peers"]], [1 - number])
            self.assertFalse(node["peers"][0]["is_severed"])
            self.assertGreater(node["peers"][0]["bytes_sent"], 0)
            self.assertGreater(node["datagram"]["datagrams_received"], 0)
        text = acpstat(self.name).stdout
        self.assertRegex(text, rf"(?m)^job {self.name}, 2 nodes$")
        for number in (0, 1):
            self.assertRegex(text, rf"(?m)^ *{number} +agent +{job.agent_of(2 * number)} +2 ")
        self.end(job)

    def test_shows_commands_outstanding_by_rank_and_that_they_have_ended(self):
        job = self.start_traffic()
        until(self.nodes(), lambda seen: len(seen) == 2)
        stopped = job.agent_of(3)
        os.kill(stopped, signal.SIGSTOP)
        until(lambda: states_of(stopped), lambda states: states == {"T"})  # its threads run until each has stopped
        self.addCleanup(lambda: os.path.exists(f"/proc/{stopped}") and os.kill(stopped, signal.SIGCONT))
        job.process.stdin.write(b"3\n")
        job.process.stdin.flush()
        self.assertEqual(job.read_line(), "issued\n")
        until(self.nodes(), lambda seen: 0 in seen and seen[0]["outstanding_of"] == [3, 0])
        self.assertRegex(acpstat(self.name).stdout, r"(?m)^ *0 +0 +3$")
        os.kill(stopped, signal.SIGCONT)
        self.assertEqual(job.read_line(), "ended\n")
        until(self.nodes(), lambda seen: 0 in seen and seen[0]["outstanding"] == 0)
        self.end(job)

    def test_a_rank_alone_on_its_node_may_have_a_gateway_of_its_own(self):
        job = self.start_traffic(ranks=2)
        def gateways():
            result = acpstat(self.name, "--json")
            nodes = json.loads(result.stdout)["nodes"] if result.returncode == 0 else []
            return sorted((node["node"], node["process"]) for node in nodes)
        wanted = sorted((rank, process) for rank in (0, 1) for process in (job.rank(rank), job.agent_of(rank)))
        until(gateways, lambda seen: seen == wanted)
        self.end(job)

    def test_a_process_that_a_rank_has_forked_is_no_further_gateway(self):
        job = self.start("-n", "2", "--nodes", "2", RANK, "init", "child", "print=ready", "pause")
        self.assertEqual(job.read_lines(2), ready(2))
        name = environment_of(job.rank(0))["ACP_JOB_ID"]
        def gateways():
            result = acpstat(name, "--json")
            nodes = json.loads(result.stdout)["nodes"] if result.returncode == 0 else []
            return sorted((node["node"], node["process"]) for node in nodes)
        ranks = [next(pid for pid in marked_processes(job.mark) if environment_of(pid).get("ACP_RANK") == str(rank)
                      and parent_of(pid) == job.agent_of(rank)) for rank in (0, 1)]
        wanted = sorted((rank, process) for rank in (0, 1) for process in (ranks[rank], parent_of(ranks[rank])))
        until(gateways, lambda seen: len(seen) >= len(wanted))
        self.assertEqual(gateways(), wanted)

    def test_finds_a_job_by_the_beginning_of_its_name_and_by_its_processes(self):
        job = self.start_traffic()
        until(self.nodes(), lambda seen: len(seen) == 2)
        for wish in (self.name[:12], str(job.process.pid), str(job.agent_of(0)), str(job.rank(3))):
            result = acpstat(wish, "--json")
            self.assertEqual(result.returncode, 0, (wish, result.stderr))
            shown = json.loads(result.stdout)
            self.assertEqual((shown["job"], [node["node"] for node in shown["nodes"]]), (self.name, [0, 1]), wish)
        self.end(job)

    def test_watches_what_changes_per_second_as_often_as_asked(self):
        job = self.start_traffic()
        until(self.nodes(), lambda seen: len(seen) == 2)
        result = acpstat(self.name, "--watch", "0.1", "--count", "3")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count(f"job {self.name}, 2 nodes\n"), 1)
        self.assertEqual(result.stdout.count(f"job {self.name}, 2 nodes, per second\n"), 2)
        self.end(job)

    def test_watching_ends_with_the_job(self):
        job = self.start_traffic()
        until(self.nodes(), lambda seen: len(seen) == 2)
        watcher = subprocess.Popen([ACPSTAT, self.name, "--watch", "0.1"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(watcher.stdout.close)
        self.addCleanup(watcher.wait)
        self.addCleanup(watcher.kill)
        self.assertIn(self.name, watcher.stdout.readline())
        self.end(job)
        out, _ = watcher.communicate(timeout=WATCHDOG_S)
        self.assertEqual((watcher.returncode, out.splitlines()[-1]), (0, "the job is over"))

    def test_reading_does_not_disturb_the_job(self):
        job = self.start_traffic()
        before = marked_processes(job.mark)
        for _ in range(20):
            self.assertEqual(acpstat(self.name, "--json").returncode, 0)
        self.assertEqual(marked_processes(job.mark), before)
        self.end(job)


class Waiting(AcpstatTest):
    def test_a_job_on_one_node_shows_which_rank_waits_for_which(self):
        job = self.start("-n", "3", RANK, "init", "print=ready", "1:pause", "sync")
        self.assertEqual(job.read_lines(3), ready(3))
        name = environment_of(job.rank(0))["ACP_JOB_ID"]
        text = until(lambda: acpstat(name).stdout, lambda seen: "wait in acp_sync" in seen)
        self.assertRegex(text, rf"(?m)^job {name}, 1 node$")
        self.assertRegex(text, r"(?m)^ranks 0,2 wait in acp_sync for \d+\.\d s; not there yet: rank 1$")
        self.assertRegex(text, r"(?m)^rank 1: no wait in a call of ACP$")
        self.assertNotIn("gateway", text)
        node, = json.loads(acpstat(name, "--json").stdout)["nodes"]
        self.assertEqual([wait.get("call") for wait in node["waits"]], ["acp_sync", None, "acp_sync"])
        job.send(signal.SIGINT)
        self.assertEqual(job.finish()[0], 130)

    def test_every_name_of_the_json_stands_in_the_manual_page(self):
        with open(PAGE, encoding="utf-8") as file:
            page = file.read()
        # Rank 0 waits for a command to rank 3, whose process is stopped; rank 1 has failures that no call has reported.
        job = self.start("-n", "4", "--nodes", "2", RANK, "init", "1:lose-puts=0", "print=ready", "0:await-line", "0:put=3",
                         "pause", stdin=subprocess.PIPE, env={"ACP_INTRANODE": "mailbox"})
        self.assertEqual(job.read_lines(4), ready(4))
        for pid in (job.agent_of(3), job.rank(3)):
            stop(pid)
        job.process.stdin.write(b"go\n")
        job.process.stdin.flush()
        name = environment_of(job.rank(0))["ACP_JOB_ID"]
        def look():
            result = acpstat(name, "--json")
            return names_in(json.loads(result.stdout)) if result.returncode == 0 else set()
        names = until(look, lambda seen: {"command", "unreported_failures"} <= seen)
        self.assertEqual([name for name in sorted(names) if not is_described(page, name)], [])
        self.assertFalse(is_described(page, "no_such_name"))

    def test_a_job_over_two_nodes_shows_which_rank_waits_for_which(self):
        job = self.start("-n", "4", "--nodes", "2", RANK, "init", "print=ready", "3:pause", "sync")
        self.assertEqual(job.read_lines(4), ready(4))
        name = environment_of(job.rank(0))["ACP_JOB_ID"]
        until(lambda: acpstat(name).stdout, lambda seen: "ranks 0-2 wait in acp_sync" in seen
              and "not there yet: rank 3\n" in seen)
        job.send(signal.SIGINT)
        self.assertEqual(job.finish()[0], 130)


class Several(AcpstatTest):
    def test_several_jobs_differ_by_program_and_acprun(self):
        jobs = [self.start("-n", "2", *shape, RANK, "init", "print=ready", "pause") for shape in ((), ("--nodes=2",))]
        for job in jobs:
            job.read_lines(2)
        names = [environment_of(job.rank(0))["ACP_JOB_ID"] for job in jobs]
        done = until(acpstat, lambda done: all(name in done.stderr for name in names))
        self.assertEqual(done.returncode, 1, done)
        for name, job in zip(names, jobs):
            self.assertRegex(done.stderr, rf"{name} .* {job.process.pid} +rank\n")

    def test_a_job_of_several_programs_is_listed_with_all_of_them(self):
        with tempfile.TemporaryDirectory() as folder:
            server = os.path.join(folder, "server")
            os.symlink(RANK, server)
            words = ("init", "print=ready", "pause")
            jobs = [self.start("-n", "1", *shape, server, *words, ":", "-n", "2", RANK, *words) for shape in ((), ("--nodes=2",))]
            for job in jobs:
                self.assertEqual(job.read_lines(3), ready(3))
            names = [environment_of(job.rank(0))["ACP_JOB_ID"] for job in jobs]
            done = until(acpstat, lambda done: all(name in done.stderr for name in names))
            for name, job in zip(names, jobs):
                self.assertRegex(done.stderr, rf"{name} .* {job.process.pid} +server, rank\n")


class Missing(AcpstatTest):
    def test_a_job_that_does_not_run_is_named_beside_those_that_do(self):
        job = self.start_traffic()
        until(self.nodes(), lambda seen: len(seen) == 2)
        result = acpstat("no-such-job")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertRegex(result.stderr, rf'^acpstat: no running job is called "no-such-job"; there are:')
        self.assertIn(self.name, result.stderr)
        self.end(job)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_a_process_of_another_user_is_named_as_one(self):
        if os.system(f"setpriv --reuid 64321 --clear-groups test -x {ACPSTAT}") != 0:
            self.skipTest("other users may not enter the build folder")
        result = subprocess.run([ACPSTAT, str(os.getpid())], capture_output=True, text=True, timeout=WATCHDOG_S,
                                preexec_fn=lambda: os.setuid(64321))
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, rf"\Aacpstat: process {os.getpid()} belongs to another user, .*run acpstat as its user, or as root")

    def test_a_job_that_has_ended_is_not_found(self):
        job = self.start_traffic()
        until(self.nodes(), lambda seen: len(seen) == 2)
        self.end(job)
        result = acpstat(self.name)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn(f'is called "{self.name}"', result.stderr)

    def test_a_job_that_has_made_its_files_and_not_filled_them_yet_is_not_found(self):
        for lengths in ((0, 0), (4096, 0), (1 << 20, 4096)):
            files = [os.memfd_create(name) for name in ("acp-node 0", "acp-gateway 0")]
            try:
                for file, length in zip(files, lengths):
                    os.ftruncate(file, length)
                result = acpstat(str(os.getpid()))
            finally:
                for file in files:
                    os.close(file)
            self.assertEqual((result.returncode, result.stdout), (1, ""), (lengths, result.stderr))
            self.assertIn(f'is called "{os.getpid()}"', result.stderr)

    def test_a_mistake_in_its_use_is_one(self):
        for arguments in (["--watch", "x"], ["--watch", "0"], ["--bogus"], ["a", "b"], ["--count", "3"]):
            self.assertEqual(acpstat(*arguments).returncode, 64, arguments)


if __name__ == "__main__":
    main()
