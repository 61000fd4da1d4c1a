# SPDX-License-Identifier: BSD-3-Clause
"""A job that only stopped ranks keep alive: acprun names them, once, and the job ends when they continue."""
import os
import select
import signal

from support import ACT, WATCHDOG_S, ToolTest, main, ready, stop

NAMED = (r"^acprun: rank 1 on .* is stopped \(by a signal, or by a debugger\), and no other rank runs: the job waits until "
         r"they continue; SIGCONT to acprun continues all ranks\n$")


class Stopped(ToolTest):
    def read_message(self, job):
        stderr = job.process.stderr.fileno()
        self.assertTrue(select.select([stderr], [], [], WATCHDOG_S)[0], "no message")
        return os.read(stderr, 65536).decode()

    def check(self, *options):
        job = self.start("-n", "2", *options, ACT, "1:print=ready", "1:pause")
        self.assertEqual(job.read_lines(1), ready(1))
        stop(job.rank(1))
        self.assertRegex(self.read_message(job), NAMED)
        job.send(signal.SIGCONT)
        job.send(signal.SIGTERM)
        code, _, error = job.finish()
        self.assertEqual(code, 143, error)
        self.assertNotRegex(error, "is stopped")

    def test_it_is_named(self):
        self.check()

    def test_it_is_named_when_the_other_node_is_done(self):
        self.check("--nodes", "2")


if __name__ == "__main__":
    main()
