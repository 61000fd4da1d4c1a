# SPDX-License-Identifier: BSD-3-Clause
"""Rails that are shaped: node 0 has four, each a token bucket of 82 Mbit/s (an engine); all four share 280 Mbit/s (injection), and what
goes to one other node 100 Mbit/s (a link). Flows on rails of their own get what the model of three caps says, with max-min fair
shares: one flow 82, two to one node 50 each, four to four nodes 70 each, 2+1+1 flows 50, 50, 82 and 82, four to one node 25 each.
Takes root, acprun --netns, and ifb and u32 of the kernel; says so and does nothing without."""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from support import ACPRUN, WATCHDOG_S, ToolTest, clean_environment, main  # noqa: E402

PROGRAM = os.path.join(os.path.dirname(os.path.dirname(ACPRUN)), "tests", "nodes_shaped_rails")
NODES, RAILS = 5, 4
ENGINE, LINK, INJECTION = 82, 100, 280  # Mbit/s
BYTES = 2_000_000
# Which nodes the flows go to, and the share of each in Mbit/s. Faster flows stand first: a flow is timed with those before it.
ROWS = {"1": [82], "1,1": [50, 50], "1,2,3,4": [70] * 4, "2,3,1,1": [82, 82, 50, 50], "1,1,1,1": [25] * 4}


def inside(pid, *command):
    result = subprocess.run(["nsenter", "-t", str(pid), "-n", *command], capture_output=True, text=True, timeout=WATCHDOG_S)
    if result.returncode != 0:
        raise OSError(f"{' '.join(command)}: {result.stderr}")
    return result.stdout


def shape(acprun, agent):
    """Engines in the network of node 0; links and injection where its rails come out, in that of the bridges."""
    for rail in range(RAILS):
        inside(agent, "tc", "qdisc", "add", "dev", f"acp{rail}", "root", "tbf", "rate", f"{ENGINE}mbit", "burst", "16k",
               "limit", "400k")
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
    def test_flows_get_what_the_model_says(self):
        environment = clean_environment(ACP_SECURITY="off", **({} if "ACP_CONGESTION" not in os.environ else
                                        {"ACP_CONGESTION": os.environ["ACP_CONGESTION"]}))
        job = subprocess.Popen([ACPRUN, "--nodes", str(NODES), "--netns", "--rails", str(RAILS), PROGRAM, str(BYTES),
                                "1,2,3,4", "1,1,1,1", *ROWS],  # the first two make the connections
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        try:
            line = job.stdout.readline()
            if not line:
                self.skipTest("no networks of the job's own")
            self.assertEqual(line, "ready\n")
            agent = min(int(pid) for pid in open(f"/proc/{job.pid}/task/{job.pid}/children").read().split())
            try:
                shape(job.pid, agent)
            except OSError as refusal:
                self.skipTest(f"this kernel cannot shape so: {refusal}")
            text, _ = job.communicate("\n", timeout=WATCHDOG_S)
        finally:
            job.kill()
            job.wait()
        self.assertEqual(job.returncode, 0)
        worst = 0.0
        for line in text.splitlines()[2:]:
            row, *times = line.split()
            rates = [BYTES * 8 / 1000 / float(time) for time in times]
            shares = ROWS[row]
            print(row, "model", shares, "measured", [round(rate, 1) for rate in rates])
            worst = max(worst, *(abs(rate / share - 1) for rate, share in zip(rates, shares)))
        print(f"worst difference {100 * worst:.1f} %")
        self.assertLess(worst, float(os.environ.get("TEST_TOLERANCE", "0.15")))


if __name__ == "__main__":
    main()
