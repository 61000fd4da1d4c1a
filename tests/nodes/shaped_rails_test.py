# SPDX-License-Identifier: BSD-3-Clause
"""Rails that are shaped: node 0 has four, each a token bucket of 82 Mbit/s (an engine); all four share 280 Mbit/s (injection), and what
goes to one other node 100 Mbit/s (a link). Flows on rails of their own get what the model of three caps says, with max-min fair
shares: one flow 82, two to one node 50 each, four to four nodes 70 each, 2+1+1 flows 50, 50, 82 and 82, four to one node 25 each. And the
schedulers of paper 003 stand to each other as in the paper, and as the simulator says: to north and south RoundRobin(4) beats BLbased, in
four directions BLbased beats RoundRobin(4), and the planner takes as long as it expects, half as long as one queue. An exchange that
the rails carry is hidden behind a computation of equal length.
Takes root, acprun --netns, and ifb and u32 of the kernel; says so and does nothing without."""
import os
import statistics
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from support import ACPRUN, PROGRAMS, WATCHDOG_S, ToolTest, clean_environment, main  # noqa: E402

NODES, RAILS = 5, 4
ENGINE, LINK, INJECTION = 82, 100, 280  # Mbit/s, as in the program
BYTES = 12_000_000
ROUNDS = 5  # of an exchange and a computation
# Which nodes the flows go to, and the share of each in Mbit/s. Faster flows stand first: a flow is timed with those before it.
FLOWS = {"1": [82], "1,1": [50, 50], "1,2,3,4": [70] * 4, "2,3,1,1": [82, 82, 50, 50], "1,1,1,1": [25] * 4}
PLANS = ("NS/rr4", "NS/bl", "4/rr4", "4/bl", "4/rr1", "4/ours")
# Headers of frames take 1.3 % of what is shaped, and a flow its first round trips.
TOLERANCE = 0.03


def inside(pid, *command):
    result = subprocess.run(["nsenter", "-t", str(pid), "-n", *command], capture_output=True, text=True, timeout=WATCHDOG_S)
    if result.returncode != 0:
        raise OSError(f"{' '.join(command)}: {result.stderr}")
    return result.stdout


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        return [int(child) for child in children.read().split()]


def in_network_of_node_0(acprun):
    """The first descendant in the network that has node 0's address."""
    below = children_of(acprun)
    while below:
        for pid in below:
            with open(f"/proc/{pid}/net/fib_trie", encoding="ascii") as addresses:
                if "10.77.1.1" in addresses.read().split():
                    return pid
        below = [child for pid in below for child in children_of(pid)]
    raise OSError("no network has node 0's address")


def shape(acprun):
    """Engines in the network of node 0; links and injection where its rails come out, in that of the bridges."""
    node = in_network_of_node_0(acprun)
    for rail in range(RAILS):
        inside(node, "tc", "qdisc", "add", "dev", f"acp{rail}", "root", "tbf", "rate", f"{ENGINE}mbit", "burst", "16k", "limit", "400k")
    inside(acprun, "ip", "link", "add", "ifb0", "type", "ifb")
    inside(acprun, "ip", "link", "set", "ifb0", "up", "txqueuelen", "1000")
    inside(acprun, "tc", "qdisc", "add", "dev", "ifb0", "root", "handle", "1:", "htb")
    inside(acprun, "tc", "class", "add", "dev", "ifb0", "parent", "1:", "classid", "1:1", "htb", "rate", f"{INJECTION}mbit",
           "burst", "16k")
    for node in range(1, NODES):
        inside(acprun, "tc", "class", "add", "dev", "ifb0", "parent", "1:1", "classid", f"1:{10 + node}", "htb",
               "rate", f"{INJECTION // (NODES - 1)}mbit", "ceil", f"{LINK}mbit", "burst", "16k", "cburst", "16k")
        inside(acprun, "tc", "qdisc", "add", "dev", "ifb0", "parent", f"1:{10 + node}", "pfifo", "limit", "400")
        for rail in range(RAILS):
            inside(acprun, "tc", "filter", "add", "dev", "ifb0", "parent", "1:", "protocol", "ip", "u32", "match", "ip", "dst",
                   f"10.{77 + rail}.1.{1 + node}/32", "flowid", f"1:{10 + node}")
    for rail in range(RAILS):
        inside(acprun, "tc", "qdisc", "add", "dev", f"node0-{rail}", "ingress")
        inside(acprun, "tc", "filter", "add", "dev", f"node0-{rail}", "parent", "ffff:", "protocol", "ip", "u32", "match", "u32",
               "0", "0", "action", "mirred", "egress", "redirect", "dev", "ifb0")


class Shaped(ToolTest):
    def printed(self, program, *arguments):
        """{first word of a line: the numbers after it}, of a job whose rails are shaped before it begins"""
        # Congestion control by loss: by delay, as is the default, flows on one link leave 2 to 8 % of it free, to keep its queue short.
        environment = clean_environment(ACP_SECURITY="off", ACP_CONGESTION=os.environ.get("TEST_CONGESTION", "cubic"))
        command = [ACPRUN, "--nodes", str(NODES), "--netns", "--rails", str(RAILS), os.path.join(PROGRAMS, program), str(BYTES),
                   *arguments]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as job:
            try:
                line = job.stdout.readline()
                if not line:
                    self.skipTest("no networks of the job's own")
                self.assertEqual(line, "ready\n")
                try:
                    shape(job.pid)
                except OSError as refusal:
                    self.skipTest(f"this kernel cannot shape so: {refusal}")
                text, _ = job.communicate("\n", timeout=WATCHDOG_S)
            finally:
                job.kill()
        self.assertEqual(job.returncode, 0)
        lines = [line.split() for line in text.splitlines()]
        return {name: [float(time) for time in times] for name, *times in lines}

    def measured(self, exchanges):
        """{exchange: [expected ms, ms of each copy]}"""
        connecting = ["4,3,2,1", "4,4,4,4"]
        times = self.printed("nodes_shaped_rails", *connecting, *exchanges)
        return {exchange: times[exchange] for exchange in exchanges}

    def test_flows_get_what_the_model_says(self):
        worst = 0.0
        for row, (_, *times) in self.measured(FLOWS).items():
            rates = [BYTES * 8 / 1000 / time for time in times]
            print(row, "model", FLOWS[row], "measured", [round(rate, 1) for rate in rates])
            worst = max(worst, *(abs(rate / share - 1) for rate, share in zip(rates, FLOWS[row])))
        print(f"worst difference {100 * worst:.1f} %")
        self.assertLess(worst, TOLERANCE)

    def test_plans_take_as_long_as_they_expect(self):
        took = {}
        for name, (expected, *times) in self.measured(PLANS).items():
            took[name] = max(times)
            print(f"{name} expected {expected:.0f} ms, measured {took[name]:.0f}: {100 * expected / took[name]:.1f} %")
            if name == "4/ours":
                self.assertGreater(expected / took[name], 0.95)
        print(f"the planner beats one queue {took['4/rr1'] / took['4/ours']:.2f} x")
        self.assertLess(took["NS/rr4"], took["NS/bl"])
        self.assertLess(took["4/bl"], took["4/rr4"])
        self.assertGreater(took["4/rr1"] / took["4/ours"], 1.9)

    def test_exchanges_are_hidden_behind_computation(self):
        hidden = []
        for alone, computing, both in self.printed("nodes_shaped_overlap", str(ROUNDS)).values():
            hidden.append((alone + computing - both) / min(alone, computing))
            print(f"exchange {alone:.0f} ms, computation {computing:.0f}, both at once {both:.0f}: {100 * hidden[-1]:.1f} % hidden")
        self.assertGreater(statistics.median(hidden), 0.95)


if __name__ == "__main__":
    main()
