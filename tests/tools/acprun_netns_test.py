# SPDX-License-Identifier: BSD-3-Clause
"""Emulated nodes with networks of their own: the network of each, bytes that pass between them, and no network is left
after any end of the job. Takes root; says so and does nothing without."""
import os
import re
import signal
import subprocess
import sys
import unittest

from support import ACPRUN, ACT, RANK, WATCHDOG_S, ToolTest, acprun, clean_environment, main, marked_processes, ready

NAMESPACE = "readlink /proc/self/ns/net"
# Rank 1 listens, rank 0 sends until it is received; both print what they received.
TALK = """
import os, socket
if os.environ["ACP_RANK"] == "1":
    with socket.create_server(("10.77.1.2", 4711)) as server:
        line, caller = server.accept()
        print(line.recv(5).decode(), "from", caller[0])
        line.sendall(b"world")
else:
    while True:
        try:
            line = socket.create_connection(("10.77.1.2", 4711))
            break
        except ConnectionRefusedError:
            pass
    line.sendall(b"hello")
    print(line.recv(5).decode(), "from", line.getpeername()[0])
"""

# What the kernel says of acp0; /sys shows the devices of another network.
MTU = """
import fcntl, socket, struct
SIOCGIFMTU = 0x8921
with socket.socket() as any_socket:
    print(struct.unpack_from("i", fcntl.ioctl(any_socket, SIOCGIFMTU, struct.pack("16si12x", b"acp0", 0)), 16)[0])
"""


def may_make_networks():
    """Whether this user can make a network namespace, found by doing it in a child."""
    child = os.fork()
    if child == 0:
        try:
            import ctypes
            os._exit(0 if ctypes.CDLL(None).unshare(0x40000000) == 0 else 1)
        except OSError:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def interfaces():
    return sorted(os.listdir("/sys/class/net"))


def users_of(namespaces):
    """Processes that are in one of these network namespaces."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/ns/net") in namespaces:
                found.append(int(pid))
        except OSError:
            continue
    return found


@unittest.skipUnless(may_make_networks(), "network namespaces take root: nothing of --netns is tested")
class Networks(ToolTest):
    def setUp(self):
        self.before = interfaces()
        self.named = sorted(os.listdir("/run/netns")) if os.path.isdir("/run/netns") else []

    def assert_nothing_is_left(self, namespaces):
        self.assertEqual(users_of(namespaces), [])
        self.assertEqual(interfaces(), self.before)
        self.assertEqual(sorted(os.listdir("/run/netns")) if os.path.isdir("/run/netns") else [], self.named)

    def test_datagrams_within_a_node_need_the_loopback_device_and_say_so(self):
        result = subprocess.run(["unshare", "-n", ACPRUN, "-n", "2", RANK, "init", "finalize"], capture_output=True,
                                timeout=WATCHDOG_S, env=clean_environment(ACP_INTRANODE="udp"))
        # The program continues after a failure and ends with 0, as its output shows.
        self.assertRegex(result.stdout.decode() + result.stderr.decode(),
                         r"acp_init by rank \d on .*ACP_INTRANODE=udp.*loopback interface lo is down.*ip link set lo up")

    def test_emulated_nodes_need_the_loopback_interface_and_say_so_before_anything_is_started(self):
        for nodes in (("--nodes", "2"), ("-n", "4", "--nodes", "2")):
            result = subprocess.run(["unshare", "-n", ACPRUN, *nodes, ACT, "print=started"], capture_output=True,
                                    timeout=WATCHDOG_S, env=clean_environment())
            self.assert_fails(result, 69, r"\Aacprun: --nodes 2: .*loopback interface lo is down.*ip link set lo up.*\n\Z")
            self.assertEqual(result.stdout, b"")

    def test_networks_of_their_own_and_a_single_node_do_without_the_loopback_interface(self):
        for shape in (("-n", "2", "--nodes", "2", "--netns"), ("-n", "2")):
            result = subprocess.run(["unshare", "-n", ACPRUN, *shape, RANK, "init", "0:put=1", "sync", "finalize"],
                                    capture_output=True, timeout=WATCHDOG_S, env=clean_environment())
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))

    def start_pausing(self):
        """A job of two nodes with two ranks each, and the networks it is in."""
        job = self.start("-n", "4", "--nodes", "2", "--netns", "sh", "-c", f"{NAMESPACE}; exec {ACT} fork print=ready pause")
        lines = job.read_lines(8)
        self.assertEqual(lines[4:], ready(4))
        namespaces = {line.strip() for line in lines[:4]} | {os.readlink(f"/proc/{job.process.pid}/ns/net")}
        self.assertEqual(len(namespaces), 3)  # the bridge's, and one per node
        self.assertNotIn(os.readlink("/proc/self/ns/net"), namespaces)
        return job, namespaces

    def test_each_node_has_a_network_with_one_address(self):
        result = acprun("-n", "4", "--nodes", "2", "--netns", "sh", "-c",
                        f"echo $ACP_RANK $({NAMESPACE}) $(ls /sys/class/net) $(cat /proc/net/fib_trie | grep -c 10.77.1.)")
        lines = sorted(line.split() for line in result.stdout.decode().splitlines())
        self.assertEqual(len(lines), 4, result.stderr)
        self.assertEqual(lines[0][1], lines[1][1])
        self.assertEqual(lines[2][1], lines[3][1])
        self.assertNotEqual(lines[0][1], lines[2][1])

    def test_each_rail_has_a_bridge_and_every_node_an_interface_on_it(self):
        result = acprun("--nodes", "2", "--netns", "--rails", "3", "sh", "-c",
                        "grep -o 'acp[0-9]*:' /proc/net/dev; for i in 77 78 79; do grep -c 10.$i.1. /proc/net/fib_trie; done")
        self.assertEqual(result.stdout.split().count(b"acp2:"), 2, result.stderr)
        self.assertNotIn(b"0", result.stdout.split())
        result = acprun("--nodes", "3", "--netns", "--rails", "4", RANK, "init", "0:put=1", "sync", "finalize")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))

    def test_networks_carry_jumbo_frames(self):
        result = acprun("--nodes", "2", "--netns", sys.executable, "-c", MTU)
        self.assertEqual(result.stdout, b"9000\n9000\n", result.stderr)

    def test_bytes_pass_between_nodes(self):
        result = acprun("--nodes", "2", "--netns", sys.executable, "-c", TALK)
        self.assertEqual(sorted(result.stdout.splitlines()), [b"hello from 10.77.1.1", b"world from 10.77.1.2"], result.stderr)

    def test_gateways_listen_inside(self):
        job, _ = self.start_pausing()
        for rank, wanted in ((0, "01014D0A"), (2, "02014D0A")):
            with open(f"/proc/{job.agent_of(rank)}/net/udp") as table:
                self.assertEqual(re.findall(r": ([0-9A-F]{8}):", table.read()), [wanted])

    def test_one_node_may_have_a_network_too(self):
        result = acprun("--nodes", "1", "--netns", "sh", "-c", NAMESPACE)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotEqual(result.stdout.decode().strip(), os.readlink("/proc/self/ns/net"))

    def test_nothing_is_left_after_a_good_end(self):
        result = acprun("--nodes", "3", "--netns", "sh", "-c", NAMESPACE)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_nothing_is_left(set(result.stdout.decode().split()))

    def test_nothing_is_left_after_a_failure(self):
        result = acprun("--nodes", "3", "--netns", "sh", "-c", f"{NAMESPACE}; exec {ACT} fork 1:exit=3 pause")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assert_nothing_is_left(set(result.stdout.decode().split()))

    def test_nothing_is_left_when_acprun_is_killed(self):
        job, namespaces = self.start_pausing()
        os.kill(job.process.pid, signal.SIGKILL)
        job.wait_until_gone()
        self.assert_nothing_is_left(namespaces)

    def test_nothing_is_left_when_an_agent_is_killed(self):
        job, namespaces = self.start_pausing()
        os.kill(job.agent_of(3), signal.SIGKILL)
        self.assertEqual(job.finish()[0], 137)
        self.assertEqual(marked_processes(job.mark), {})
        self.assert_nothing_is_left(namespaces)

    def test_many_networks_come_and_go(self):
        for _ in range(5):
            self.assertEqual(acprun("--nodes", "12", "--netns", ACT, "print=x").stdout, b"x\n" * 12)
        self.assert_nothing_is_left(set())


@unittest.skipUnless(os.getuid() == 0 and may_make_networks(), "takes root to give it up")
class Unprivileged(ToolTest):
    def test_without_root_the_refusal_names_the_needed_privilege(self):
        def give_up():
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)

        self.assert_fails(acprun("--nodes", "2", "--netns", "true", preexec_fn=give_up, cwd="/"), 69,
                          "--netns: .*operation not permitted; networks of one's own take root")


if __name__ == "__main__":
    main()
