# SPDX-License-Identifier: BSD-3-Clause
"""The traffic of a job over nodes, as an eavesdropper sees it: the loopback interface of a network namespace of its own is
recorded, and the record is searched for the copied text. Takes root, as recording does anywhere."""
import ctypes
import fcntl
import os
import socket
import struct
import unittest
import uuid

from support import RANK, ToolTest, acprun, main

CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS = 0x8914
IFF_UP = 1
ETH_P_ALL = 3
SO_RCVBUFFORCE = 33
BUFFER_BYTES = 64 << 20
COPIED_BYTES = 2 * 32 * 1024  # there and back


def enter_private_network():
    """From now on this process, and what it starts, has a loopback interface of its own."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


class Recording:
    """Every frame on the loopback interface from now on."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
        self.socket.bind(("lo", 0))
        self.socket.setblocking(False)

    def finish(self):
        frames = []
        try:
            while True:
                frames.append(self.socket.recv(1 << 17))
        except BlockingIOError:
            self.socket.close()
        return frames


@unittest.skipUnless(os.getuid() == 0, "recording takes root: not tested what can be read on the wire")
class Capture(ToolTest):
    @classmethod
    def setUpClass(cls):
        enter_private_network()

    def record(self, security):
        """The recorded traffic while a text was put to another node, fetched, and used as an operand."""
        text = uuid.uuid4().hex
        recording = Recording()
        result = acprun("-n", "2", "--nodes", "2", RANK, "init", f"0:fill={text}", "sync", "0:put=1", "sync", "1:put=0",
                        "0:get=1", f"0:add={text}", "sync", "finalize", env={"ACP_SECURITY": security})
        self.assertEqual((result.returncode, result.stdout), (0, b""), result.stderr)
        frames = recording.finish()
        self.assertGreater(sum(map(len, frames)), COPIED_BYTES, "not everything was recorded")
        return text.encode(), frames

    def test_nothing_that_is_copied_can_be_read(self):
        for security in ("encrypt", ""):  # said, and by default
            text, frames = self.record(security)
            for frame in frames:
                # Nor any part of it that is long enough not to be there by chance.
                for start in range(0, len(text) - 7):
                    self.assertNotIn(text[start:start + 8], frame)

    def test_the_recording_shows_what_is_not_encrypted(self):
        text, frames = self.record("auth")
        self.assertGreater(sum(frame.count(text) for frame in frames), COPIED_BYTES // len(text) // 2)


if __name__ == "__main__":
    main()
