#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Defects planted into the engine of a gateway: requests to owners, copies through the kernel, rails, losses, leaving."""
import sys

from plants import ROOT, Plants

TESTS = [f"tests/unit/engine/{name}_test.cpp" for name in ("attach_batch", "engine", "owner_calls", "peer_book")]
TESTS += [f"tests/support/{name}.cpp" for name in ("refuse_memory", "test_cipher")]
SOURCES = tuple(sorted(path.name for path in (ROOT / "src/engine").glob("*.cpp")))
LAYERS = ("claims", "pm", "message", "team", "data", "gma", "operations", "allocator", "remote", "router", "datagram", "crypto", "mailbox", "local",
          "node", "hash", "pages", "os", "base")

# name: (file, text, instead)
MUTANTS = {
    "a long put keeps no bytes of its own": ("owner_calls.cpp", "calls_[index].bytes.assign(bytes.begin(), bytes.end());",
        "calls_[index].bytes.assign(bytes.size(), std::byte{0});"),
    "one request too many is in flight": ("owner_calls.cpp", """                                            Ticket ticket) {
    if (calls_of_[slot] == calls_max) return Begun::no_room;""", """                                            Ticket ticket) {
    if (calls_of_[slot] == calls_max + 1) return Begun::no_room;"""),
    "requests are bounded together instead of by process": ("owner_calls.cpp", "    ++calls_of_[slot];\n",
        "    for (auto& calls : calls_of_) ++calls;\n"),
    "a failed request keeps its place": ("owner_calls.cpp", "    --calls_of_[call.slot];\n", ""),
    "the error of a piece is lost": ("owner_calls.cpp", "            call.code = end.code;\n", ""),
    "a piece's address does not advance": ("owner_calls.cpp", "    call.address += bytes.size();\n", ""),
    "an end without memory is written": ("owner_calls.cpp", "if (!ended_.make_room(under_way_ + 1)) return false;",
        "(void)ended_.make_room(under_way_ + 1);"),
    "work without room keeps the gateway awake": ("owner_calls.cpp", "std::any_of(unsent_.begin(), unsent_.end(), has_room_for_call)",
        "!unsent_.empty()"),
    "a batch holds one copy less": ("attach_batch.cpp", "count_ < copies_.size()", "count_ + 1 < copies_.size()"),
    "bytes to be written have no bound": ("attach_batch.cpp", "staged_bytes_ + bytes <= staging_bytes", "bytes <= staging_bytes"),
    "a stale copy ends well": ("attach_batch.cpp", "settle(copy, code);", "settle(copy, base::Code::ok);"),
    "copies are collected beside refused ones": ("attach_batch.cpp", "return !has_refused() && count_", "return count_"),
    "refused copies are given away twice": ("attach_batch.hpp", "        refused_count_ -= given;\n",
        "        refused_count_ -= given == 3 ? 3 : 0;\n"),
    "an access within an access takes its line": ("settled.hpp", "hazards.free_line()", "hazards.own_line()"),
    "a wrong table of peers stays in part": ("peer_book.hpp", "        std::vector<datagram::Address> all;\n",
        "        first_.clear();\n        std::vector<datagram::Address> all;\n"),
    "one address too many is taken": ("peer_book.hpp", "row.size() > addresses_max", "row.size() > addresses_max + 1"),
    "other rails are not read before a loss": ("engine.cpp", "    receive_all(now);\n    for (std::size_t i = 0; i < torn_.size(); ++i) {",
        "    for (std::size_t i = 0; i < torn_.size(); ++i) {"),
    "the sockets are not read before a loss": ("engine.cpp", "    for (const auto& rail : rails_) rail->receive_all(now);\n", ""),
    "the rail that severed is always the first": ("engine.cpp", "{node, reason, rail, is_stalled", "{node, reason, 0U, is_stalled"),
    "only the first rail wakes a sleeper": ("engine.cpp",
        "        wait_fds_.insert(wait_fds_.end(), sockets.begin(), sockets.end());\n",
        "        if (rail == rails_.front()) wait_fds_.insert(wait_fds_.end(), sockets.begin(), sockets.end());\n"),
    "a gateway leaves while a peer reads": ("engine.cpp", "if (is_quiet() && router_->is_idle()) break;", "break;"),
    "a gateway leaves without a word": ("rail.cpp", "    endpoint_->close();\n", ""),
    "nobody is asked about a silent node": ("engine.hpp", "return may_wait_ && may_wait_(node);", "return false;"),
    "the last reason stands": ("engine.cpp", "    for (const Severed& one : severed_) {\n        if (one.node == node) return one;\n    }\n",
        "    for (std::size_t i = severed_.size(); i-- > 0;) {\n        if (severed_[i].node == node) return severed_[i];\n    }\n"),
    "a closed socket goes unnoticed": ("transport.cpp", "is_closed_by_others_ = is_closed_by_others_ || sent.outcome == os::SendOutcome::closed;", ""),
}

if __name__ == "__main__":
    sys.exit(Plants("engine", TESTS, MUTANTS, SOURCES, LAYERS).main())
