#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Defects planted into workspaces: bytes spread over ranks."""
import sys

from plants import ROOT, Plants

TESTS = ["tests/unit/data/workspace_test.cpp", "tests/support/refuse_memory.cpp"]
SOURCES = tuple(sorted(path.name for path in (ROOT / "src/data").glob("*.cpp")))
LAYERS = ("claims", "pm", "team", "message", "gma", "operations", "allocator", "remote", "mailbox", "local", "node", "hash", "pages", "os", "base")

# name: (file, text, instead)
MUTANTS = {
    "the last piece is as long as a block": ("workspace.cpp", "std::min(offset + bytes, (first + i) * spread.block_bytes + spread.block_bytes);",
        "(first + i) * spread.block_bytes + spread.block_bytes;"),
    "the first piece begins with its block": ("workspace.cpp", "std::max(offset, (first + i) * spread.block_bytes)", "(first + i) * spread.block_bytes"),
    "the last block is not copied": ("workspace.cpp", "i <= last - first && status.is_ok()", "i < last - first && status.is_ok()"),
    "a range that wraps around is taken": ("workspace.cpp", "offset > spread.bytes || bytes > spread.bytes - offset", "offset + bytes > spread.bytes"),
    "a destroyed workspace keeps its part": ("workspace.cpp", "return own != 0 ? allocator_.free(own) : Status();", "return own != 0 ? Status() : Status();"),
    "a destroyed workspace stays": ("workspace.cpp", "        known_.erase(workspace);\n", ""),
    "a reserved number is a workspace": ("workspace.cpp", "known != known_.end() && !known->second->parts.empty()", "known != known_.end()"),
    "a number is given twice": ("workspace.cpp", "    return ++numbers_given_;\n", "    return numbers_given_ + 1;\n"),
    "wrong parameters are kept": ("workspace.cpp", "    if (first_rank >= ranks) {\n", "    first_rank_ = first_rank;\n    if (first_rank >= ranks) {\n"),
    "the first rank has no block": ("workspace.hpp", "(rank + ranks - first_rank) % ranks", "(rank + ranks - first_rank - 1) % ranks"),
    "a block that is not full is no block": ("workspace.hpp", "(bytes % block_bytes != 0 ? 1 : 0)", "0"),
    "the next workspace begins on the same rank": ("workspace.hpp", "(first_rank + blocks() % ranks) % ranks", "first_rank"),
    "a block's place on its rank is that of the first": ("workspace.hpp", "block / spread.ranks * spread.block_bytes", "0 * spread.block_bytes"),
}

if __name__ == "__main__":
    sys.exit(Plants("data", TESTS, MUTANTS, SOURCES, LAYERS).main())
