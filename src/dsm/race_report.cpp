// SPDX-License-Identifier: BSD-3-Clause
// Names of ranks and of bytes.
#include "dsm/race_report.hpp"

#include <cstdint>
#include <span>

#include "base/format.hpp"
#include "os/log_line.hpp"

#include "pages/page_text.hpp"

namespace acp::dsm {

namespace {

std::string hex(const char* address) {
    return base::hex(reinterpret_cast<std::uintptr_t>(address));
}

// "rank 4", "ranks 4 and 5", "ranks 4 to 7".
std::string named(std::span<const std::uint32_t> ranks) {
    if (ranks.size() == 1) return "rank " + std::to_string(ranks.front());
    const bool is_run = ranks.back() - ranks.front() + 1 == ranks.size();
    if (is_run && ranks.size() > 2)
        return "ranks " + std::to_string(ranks.front()) + " to " + std::to_string(ranks.back());
    std::string text = "ranks ";
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (i != 0) text += i + 1 == ranks.size() ? " and " : ", ";
        text += std::to_string(ranks[i]);
    }
    return text;
}

}  // namespace

// "on node 1 by rank 2", "on node 0, its home, by one or more of ranks 0 and 1"
std::string RaceReport::writer_of(const PageRace& race, std::size_t which) const {
    const pages::NodeNumber node = race.nodes[which];
    const std::uint32_t rank_next = race.ranks_next[which];
    std::string text = "on node " + std::to_string(node);
    if (node == race.home) text += ", its home,";
    const bool is_one =
        rank_next != pages::PageWriter::unknown && rank_next != pages::PageWriter::several;
    if (is_one) return text + " by rank " + std::to_string(rank_next - 1);
    const auto ranks = ranks_.on_node(node);
    return text + (ranks.size() == 1 ? " by " : " by one or more of ") + named(ranks);
}

std::string RaceReport::sentence_of(const PageRace& race) const {
    const char* const begin = window_.tracked(race.page) + race.first;
    const std::string where = race.run == 1
                                  ? "the byte at address " + hex(begin)
                                  : "the bytes " + hex(begin) + " to " + hex(begin + race.run - 1);
    const std::string more =
        race.bytes == race.run ? "" : " and " + base::in_bytes(race.bytes - race.run) + " behind";
    const auto first = allocated_.first_of(race.page);
    std::string place = "in no allocation";
    if (first) {
        const char* const allocation = window_.tracked(*first);
        place = "from byte " + std::to_string(begin - allocation) +
                " on of the allocation at address " + hex(allocation);
    }
    const std::string what = race.touched == 0
                                 ? "two nodes have written the same " + base::in_bytes(race.bytes)
                                 : "node " + std::to_string(race.nodes[race.touched - 1]) +
                                       " has read or written " + base::in_bytes(race.bytes);
    const std::string other =
        race.touched == 0
            ? ""
            : " that node " + std::to_string(race.nodes[2 - race.touched]) + " has written";
    return what + " of shared " + pages::pages_named(race.page, 1) + other +
           " without a barrier or a fence between: " + where + more + ", " + place + ", " +
           writer_of(race, 0) + " and " + writer_of(race, 1);
}

std::string RaceReport::summary_of(const RaceLog& log) const {
    std::string text = log.kept != 0 ? sentence_of(log.list[0])
                                     : std::string("two nodes have written the same bytes");
    if (log.races > 1)
        text += "; and so " + std::to_string(log.races - 1) + " times more before this barrier";
    return text;
}

void RaceReport::print(const RaceLog& log, bool stops) const {
    const auto print_line = [](const std::string& text) {
        os::print_error("acp: ACP_DSM_CHECK: %s\n", text.c_str());
    };
    const std::uint64_t listed = stops ? log.races : log.kept;
    for (std::uint64_t i = 0; i < listed && !stops; ++i) print_line(sentence_of(log.list[i]));
    if (log.races > listed) {
        print_line("the same barrier found " + std::to_string(log.races - listed) +
                   " races more, which are only counted");
    }
    if (log.unchecked != 0) {
        print_line("the homes had no room for some writes to " + pages::in_pages(log.unchecked) +
                   ": races on them may be missing");
    }
}

}  // namespace acp::dsm
