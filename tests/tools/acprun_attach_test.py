# SPDX-License-Identifier: BSD-3-Clause
"""Private memory whose owner becomes unreachable for the kernel's copies: the owner moves the bytes, and that is said."""
import os
import unittest

from support import PROGRAMS, ToolTest, acprun, main

PRIVATE = os.path.join(PROGRAMS, "private")
CAN_ATTACH = acprun("-n", "2", PRIVATE, "nothing").stdout == b"attach\nattach\n"


@unittest.skipUnless(CAN_ATTACH, "this system lets no process attach to another one")
class Attached(ToolTest):
    def assert_goes_over(self, what, reason):
        result = acprun("-n", "2", PRIVATE, what, env={"ACP_REPORT": "1"})
        self.assertEqual((result.returncode, result.stdout), (0, b"attach\nmailbox\n"), result)
        error = result.stderr.decode()
        self.assertRegex(error, f"acp: rank 0: the kernel no longer lets it copy the private memory of rank 1, {reason}")
        self.assertEqual(error.count("no longer lets it"), 1, "said once")
        self.assertRegex(error, f"rank 0: .* forwarded [1-9].* private memory of other ranks: mailbox.*{reason}")

    def test_an_owner_that_gives_up_being_dumpable(self):
        self.assert_goes_over("undumpable", "forbidden by the kernel")

    def test_an_owner_whose_main_thread_ends(self):
        self.assert_goes_over("main", "the kernel knows no memory of that process number")

    def test_secret_memory_never_goes_through_the_kernel(self):
        result = acprun("-n", "2", PRIVATE, "secret")
        if b"no secret memory here" in result.stdout:
            self.skipTest("this kernel has no memfd_secret")
        self.assertEqual((result.returncode, result.stdout), (0, b"mailbox\nmailbox\n"), result)

    def test_a_job_that_requires_attach_gets_an_error(self):
        for variable in ("ACP_REQUIRE", "ACP_INTRANODE"):
            result = acprun("-n", "2", PRIVATE, "main", env={variable: "attach"})
            self.assertIn(b"put: ", result.stdout, result)
            self.assertIn(b"the kernel no longer lets this process attach to rank 1", result.stdout)


if __name__ == "__main__":
    main()
