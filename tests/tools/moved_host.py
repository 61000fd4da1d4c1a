#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a far relay sends, passed on with other interfaces than those of this machine.

Usage: moved_host.py INTERFACES < TRUNK > TRUNK
INTERFACES has at most as many bytes as the agent's own, whose credit is given back.
"""
import os
import re
import struct
import sys

GREETING = b"\nacp-agent relay 1\n"
CHANNEL, BYTES = 0, 0


def main(interfaces):
    held, has_greeted = b"", False
    while piece := os.read(0, 65536):
        held += piece
        if not has_greeted:
            if GREETING not in held:
                continue
            end = held.index(GREETING) + len(GREETING)
            os.write(1, held[:end])
            held, has_greeted = held[end:], True
        while len(held) >= 8:
            stream, kind, count = struct.unpack("<BBxxI", held[:8])
            length = count if kind == BYTES else 0
            if len(held) < 8 + length:
                break
            body, held = held[8:8 + length], held[8 + length:]
            if stream == CHANNEL and kind == BYTES:
                body = re.sub(rb"(?m)^interfaces .*$", b"interfaces " + interfaces, body)
                count = len(body)
            os.write(1, struct.pack("<BBxxI", stream, kind, count) + body)


if __name__ == "__main__":
    main(sys.argv[1].encode())
