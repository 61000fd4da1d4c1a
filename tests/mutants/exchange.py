#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Defects planted into the exchange of two containers."""
import sys

from plants import Plants

HEADER = "directory_exchange.hpp"

# name: (file, text, instead)
MUTANTS = {
    "the first directory is decided alone": (HEADER,
        "        auto has_joined = reach_.change_state(second.directory, second.state, joined);\n",
        "        auto has_joined = base::Result<bool>(true);\n"),
    "what is not decided is carried on": (HEADER,
        "        if (!is_gone && first.state == (head.partner_state | exchange_state::decided))\n",
        "        if (!is_gone)\n"),
    "what is decided is taken back": (HEADER,
        "        if (!is_gone && first.state == (head.partner_state | exchange_state::decided))\n",
        "        if (first.state == 0)\n"),
    "taken back from the second directory alone": (HEADER,
        "        if (!is_gone && first.state == head.partner_state) {\n",
        "        if (first.state == 0) {\n"),
    "taken back although it was decided meanwhile": (HEADER,
        "            if (!is_back.value()) return {};  // it may have been decided: the caller retries\n", ""),
    "a directory that is gone cannot be settled with": (HEADER, "status.code() == base::Code::stale ||", "status.code() == base::Code::memory ||"),
    "a state comes twice": (HEADER, "    return (state & ~(joined | decided)) + step;\n", "    return state & ~(joined | decided);\n"),
    "own tables are not given": (HEADER, "        status = reach_.give(own_tables, own.id, table::identity::after(own.id));\n", ""),
    "the other's tables are not given": (HEADER,
        "        status = reach_.give(others_tables, table::identity::before(others.id), others.id);\n", ""),
    "the second directory does not change": (HEADER, "exchange_state::exchanged(head.partner_state));", "head.partner_state | exchange_state::joined);"),
    "the first directory changes first": (HEADER,
        "        status = change(head.partner, head.partner_state | exchange_state::joined,\n",
        "        status = change(first, head.state, exchange_state::exchanged(head.state));\n"
        "        status = change(head.partner, head.partner_state | exchange_state::joined,\n"),
}

if __name__ == "__main__":
    sys.exit(Plants("data", ["tests/unit/data/directory_exchange_test.cpp"], MUTANTS, (), ("base",)).main())
