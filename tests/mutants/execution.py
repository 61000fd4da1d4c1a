#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Defects planted into patterns and the plans that are compiled from them."""
import sys

from plants import ROOT, Plants

TESTS = [f"tests/unit/execution/{name}_test.cpp" for name in
         ("explanation", "pattern", "plans", "rail_agreement", "rail_balance", "rounds", "send_layout")]
SOURCES = tuple(sorted(path.name for path in (ROOT / "src/execution").glob("*.cpp")))
LAYERS = ("claims", "team", "exchange", "operations", "pm", "message", "data", "gma", "allocator", "remote", "mailbox", "local", "node", "pages", "hash", "os",
          "base")

# name: (file, text, instead)
MUTANTS = {
    "a shift reaches beyond the first member": ("pattern.cpp", "shift <= -size", "shift < -size"),
    "shifts go the other way": ("pattern.cpp", "members_.own() + size + shift", "members_.own() + size - shift"),
    "a message may have 2^50 bytes": ("pattern.cpp", "bytes >= message_bytes_end", "bytes > message_bytes_end"),
    "a pattern has one message more": ("pattern.cpp", "messages_.size() >= messages_max", "messages_.size() > messages_max"),
    "a halo ignores the limit": ("pattern.cpp", "halo.value().size() > messages_max - messages_.size()", "false"),
    "neighbours of a refused call stay": ("pattern.cpp", "    if (!status.is_ok()) messages_.resize(before);\n", ""),
    "a copy may go to another member's registration that has ended": ("pattern.cpp",
        "    if (code != Code::ok) return Status(code,", "    if (code == Code::address) return Status(code,"),
    "a member with fewer receives has a plan": ("compiler.cpp", "if (sends == awaited.size()) return {};", "if (sends >= awaited.size()) return {};"),
    "a member with fewer sends has a plan": ("compiler.cpp", "if (sends == awaited.size()) return {};", "if (sends <= awaited.size()) return {};"),
    "messages of different lengths match": ("compiler.cpp", "if (wanted.bytes != record.bytes) {", "if (false) {"),
    "a sender that sends nothing is not missed": ("compiler.cpp", "        if (!is_there) {", "        if (false) {"),
    "the last byte of a message may overlap": ("compiler.cpp", "after.begin >= before.begin + before.bytes", "after.begin + 1 >= before.begin + before.bytes"),
    "messages side by side overlap": ("compiler.cpp", "after.begin >= before.begin + before.bytes", "after.begin > before.begin + before.bytes"),
    "a failure of another member is ignored": ("compiler.cpp", "if (failed == codes.end()) return own;", "return own;"),
    "the blocks of a failed plan stay": ("compiler.cpp", "    if (!status.is_ok()) {\n        drop();\n", "    if (!status.is_ok()) {\n"),
    "both outboxes are one": ("compiler.cpp", "{to, to + layout_.outbox_bytes},", "{to, to},"),
    "a round is over while its buffer is read": ("compiler.cpp", "is_read_in_place || (message.is_in_place && message.is_near)", "false"),
    "a sender is three rounds ahead": ("rounds.cpp", "load(std::memory_order_acquire) + 2 < round_)", "load(std::memory_order_acquire) + 4 < round_)"),
    "a sender is one round ahead": ("rounds.cpp", "load(std::memory_order_acquire) + 2 < round_)", "load(std::memory_order_acquire) + 2 < round_ + 1)"),
    "one parcel makes a round": ("rounds.cpp", "        if (word.load(std::memory_order_acquire) < round_) return false;\n",
        "        if (word.load(std::memory_order_acquire) < round_) return incoming.parcels_seen != 0;\n"),
    "parcels that were seen stay seen": ("rounds.cpp", "    incoming.parcels_seen = 0;\n", ""),
    "a round in place ends before its copies": ("rounds.cpp", "    if (parcel.is_in_place) ++in_place_;\n", ""),
    "words of odd rounds serve even ones": ("rounds.cpp", "incoming.arrived[incoming.parcels_seen][round_ % 2]", "incoming.arrived[incoming.parcels_seen][1]"),
    "a long parcel's word does not follow its copy's failure": ("rounds.cpp", "    if (status.is_ok()) return;\n    look();", "    return;\n    look();"),
    "partners are not notified of a failure": ("rounds.cpp", "    breakage_.note(code, why);\n    tell_partners();", "    breakage_.note(code, why);"),
    "a plan starts twice": ("rounds.cpp", "    if (is_started_) return {Code::state,", "    if (false) return {Code::state,"),
    "a plan is freed in a round": ("plans.cpp", "if (entry.rounds->is_started() && !entry.rounds->has_broken()) {", "if (false) {"),
    "a freed plan keeps its blocks": ("plans.cpp", "        auto freed = allocator_.free(block);\n", "        Status freed;\n"),
    "a member that cannot prepare does not say so": ("plans.cpp", "            made.refusal = std::move(order).failure();\n", ""),
    "rails follow the first member's parcels": ("rail_agreement.cpp", "chosen[first_own + i]", "chosen[i]"),
    "short parcels are offered": ("rail_agreement.cpp", "parcel.bytes <= operations::put_signal_bytes_max", "parcel.bytes == 0"),
    "a parcel of the longest bytes is short": ("send_layout.cpp", "message.bytes <= parcel_bytes_max_", "message.bytes < parcel_bytes_max_"),
    "a line of two receivers": ("send_layout.cpp", "        layout_.outbox_bytes = rounded_up(layout_.outbox_bytes, sync::line_bytes);\n        std::uint64_t shared", "        std::uint64_t shared"),
    "one message in place makes no round longer": ("send_layout.cpp", "shared_bytes >= in_place_bytes_min;", "message.bytes >= in_place_bytes_min;"),
    "the explanation has one direction": ("explanation.cpp", "        add_flow(text, \"from\", partner, partner.received);\n", ""),
    "the gap is a ratio": ("explanation.cpp", "order.predicted_us / order.bound_us - 1", "order.predicted_us / order.bound_us"),
}

if __name__ == "__main__":
    sys.exit(Plants("execution", TESTS, MUTANTS, SOURCES, LAYERS).main())
