#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Defects planted into teams and their collective calls."""
import sys

from plants import ROOT, Plants

TESTS = [f"tests/unit/team/{name}_test.cpp" for name in ("collectives", "synchronize", "breakage", "call_queue", "teams", "notices")]
SOURCES = tuple(sorted(path.name for path in (ROOT / "src/team").glob("*.cpp")))
LAYERS = ("operations", "claims", "pm", "message", "data", "gma", "allocator", "remote", "mailbox", "local", "node", "hash", "pages", "os", "base")

# name: (file, text, instead)
MUTANTS = {
    "the tree of nodes lacks its last child": ("far_tree.hpp", "own + distance < nodes", "own + distance + 1 < nodes"),
    "a node's members read a broadcast from the leader": ("broadcast.cpp", "team_.members().place_of(tree_.speaker())", "std::uint32_t{0}"),
    "every chunk of a gather is taken as the first": ("gather.cpp", "at(near[place]) + done", "at(near[place])"),
    "an exclusive scan between nodes includes the own elements": ("exchange.cpp",
        "copy(result, is_exclusive ? before : combined, bytes)", "copy(result, combined, bytes)"),
    "the third node is not combined": ("reduce.cpp", "std::uint32_t node = 2;", "std::uint32_t node = 3;"),
    "the last notice counts as the longest": ("notice_gather.hpp", "std::max(longest, bytes)", "bytes"),
    "a notice may have any length": ("notice_gather.hpp", "if (bytes > bytes_max_)", "if (false)"),
    "the longest notice is refused": ("notice_gather.hpp", "if (bytes > bytes_max_)", "if (bytes >= bytes_max_)"),
    "a notice as long as its head is cut": ("notice_gather.hpp", "longest <= text_bytes ||", "longest <= text_bytes + 1 ||"),
    "the second run of a range of nodes is cut": ("leaders.cpp", "(behind == 0 || visit(0, begins[behind]))", "(behind == 0 || visit(0, begins[behind] / 2))"),
    "a node leaves before the leaders have met": ("leaders.cpp", "        if (!read_arrivals(team, arrival) || !meet_leaders(team, meeting)) return false;\n"
        "        if (team.room(release, 0) == nullptr) return false;\n        team.publish(release);\n",
        "        if (!read_arrivals(team, arrival) || team.room(release, 0) == nullptr) return false;\n        team.publish(release);\n"
        "        if (!meet_leaders(team, meeting)) return false;\n"),
    "a leader does not wait for its node": ("leaders.cpp", "        if (team.read(place, arrival, 0) == nullptr) return false;\n", ""),
    "a step of the dissemination is left out": ("synchronize.cpp", "sync.distance *= 2", "sync.distance *= 4"),
    "a barrier takes the arrival of the one before": ("synchronize.cpp", "        sync.is_arrived = false;\n", ""),
    "the member that a late call names is the first": ("team.cpp", "outcome == node::Outcome::timeout) late_for_ = expected.rank();", "outcome == node::Outcome::timeout) late_for_ = 0;"),
    "the reason is the last of several deaths": ("breakage.cpp", "count > 1 ?", "count > 99 ?"),
    "a notification between nodes has no text": ("breakage.cpp", "    why_.copy(told.text.data(), told.text.size() - 1);\n", ""),
    "no member is notified of a failure": ("team.cpp", "    is_untold_ = true;\n", ""),
    "a message of another call is delivered": ("far_message.cpp", "head_ == expected_ && code == Code::ok", "code == Code::ok"),
    "a longer message of another call is an error of the channel": ("far_message.cpp", "code != Code::truncated", "true"),
    "keys order members downwards": ("teams.cpp", "all[first].key < all[second].key", "all[first].key > all[second].key"),
    "different lists make a team": ("teams.cpp", "all[rank].digest != own.digest", "all[rank].digest != all[rank].digest"),
    "the board of a team that is not made stays": ("teams.cpp",
        "    if (own.board != 0) (void)tools_.allocator.free(own.board);\n", ""),
    "the parts of a freed team stay": ("teams.cpp", "Status freed = free_all_parts(tools_, use.entry());", "Status freed;"),
    "the part of an allocation that failed stays": ("team_parts.cpp", "    if (own.address != 0) (void)free_part(tools, own.address);\n", ""),
    "a wait of no time makes no progress": ("team_requests.cpp", "            calls_.go_on(true);\n", ""),
    "the end of the epoch ends no call": ("all_calls.cpp", "if (!entry.calls.is_empty()) entry.team->end_epoch();", ""),
}

if __name__ == "__main__":
    sys.exit(Plants("team", TESTS, MUTANTS, SOURCES, LAYERS).main())
