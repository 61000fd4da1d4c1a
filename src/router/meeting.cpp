// SPDX-License-Identifier: BSD-3-Clause
// The rounds of a meeting. In round r a node sends a table of values: if nodes are paired, the
// values of the 2^r nodes whose numbers differ from its own at most in the lower r bits; otherwise
// those of its own node and of the c - 1 nodes below it, c = min(2^r, nodes - 2^r). These values
// belong to consecutive process indexes, which may wrap around, and stand in the table by these
// indexes.
#include "router/meeting.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"

namespace acp::router {

Meeting::Meeting(std::uint32_t node, std::uint32_t nodes, const Layout& layout)
    : node_(node),
      nodes_(nodes),
      layout_(layout),
      rounds_(nodes <= 1 ? 0U : static_cast<std::uint32_t>(std::bit_width(nodes - 1))) {
    for (Heard& heard : heard_) heard.table.reserve(procs());
}

// Prepares for another meeting. The table keeps its capacity.
void Meeting::forget(Heard& heard) noexcept {
    heard.values.fill(0);
    heard.is_whole.fill(false);
    heard.table.clear();
    heard.least = no_words;
}

Meeting::Content Meeting::gathered_by(const Part& part) noexcept {
    if (part.offset == offset_of_least) return Content::least;
    return part.total != 0 ? Content::table : Content::nothing;
}

// A node's words may arrive on several ways: taking the same minimum twice changes nothing.
void Meeting::lower(Words& least, const Words& words) noexcept {
    for (std::uint32_t i = 0; i < least_words; ++i) least[i] = std::min(least[i], words[i]);
}

std::uint32_t Meeting::told_in(std::uint32_t round) const noexcept {
    const std::uint32_t distance = 1U << round;
    if (is_paired()) return node_ ^ distance;
    return static_cast<std::uint32_t>((std::uint64_t{node_} + distance) % nodes_);
}

std::uint32_t Meeting::heard_in(std::uint32_t round) const noexcept {
    const std::uint32_t distance = 1U << round;
    if (is_paired()) return node_ ^ distance;
    return static_cast<std::uint32_t>((std::uint64_t{node_} + nodes_ - distance) % nodes_);
}

void Meeting::span_of(std::uint32_t sender,
                      std::uint32_t round,
                      std::uint32_t& start,
                      std::uint32_t& count) const noexcept {
    const std::uint32_t distance = 1U << round;
    if (is_paired()) {
        const std::uint32_t lowest = sender & ~(distance - 1);
        start = layout_.first(lowest);
        count = layout_.first(lowest + distance) - start;
        return;
    }
    const std::uint32_t blocks = std::min(distance, nodes_ - distance);
    const auto lowest =
        static_cast<std::uint32_t>((std::uint64_t{sender} + nodes_ - (blocks - 1)) % nodes_);
    start = layout_.first(lowest);
    const std::uint32_t end = layout_.first(sender + 1);
    count = lowest <= sender ? end - start : procs() - start + end;
}

void Meeting::begin(std::uint32_t number, Content gathers) {
    ACP_ASSERT(!is_on_ && number == number_);
    is_on_ = true;
    is_met_ = false;
    gathers_ = gathers;
    round_ = 0;
    sent_ = 0;
    is_round_sent_ = false;
    // The next meeting uses the slot of the one before this.
    forget(heard_[(number + 1) & 1U]);
}

void Meeting::start_min_reduction(std::uint32_t number, const Words& words) {
    begin(number, Content::least);
    lower(heard_[number & 1U].least, words);
    advance();
}

void Meeting::start(std::uint32_t number, std::span<const std::uint32_t> values) {
    begin(number, values.empty() ? Content::nothing : Content::table);
    if (gathers_ == Content::table) {
        std::vector<std::uint32_t>& table = heard_[number & 1U].table;
        table.resize(procs());
        ACP_ASSERT(values.size() == layout_.first(node_ + 1) - layout_.first(node_));
        std::copy(values.begin(), values.end(), table.begin() + layout_.first(node_));
    }
    advance();
}

// WIRE-119
Fault Meeting::hear(std::uint32_t from, const Part& part, std::span<const std::byte> values) {
    // The sender may have completed this meeting and joined the next one. It cannot be further
    // ahead, because no meeting completes without this node.
    const bool is_next = part.number == number_ + 1 && is_on_;
    if ((part.number != number_ && !is_next) || part.round >= rounds_) return Fault::bad_meeting;
    if (from != heard_in(part.round)) return Fault::forged;
    Heard& heard = heard_[part.number & 1U];
    if (heard.is_whole[part.round]) return Fault::bad_meeting;
    const Content gathers = gathered_by(part);
    if (part.number == number_ && is_on_ && gathers != gathers_) return Fault::bad_meeting;
    if (gathers == Content::least) {
        if (part.total != least_words || part.count != least_words) return Fault::bad_meeting;
        Words words = no_words;
        std::memcpy(words.data(), values.data(), sizeof words);
        lower(heard.least, words);
        heard.values[part.round] = least_words;
    } else if (gathers == Content::table) {
        std::uint32_t start = 0;
        std::uint32_t count = 0;
        span_of(from, part.round, start, count);
        if (part.total != count) return Fault::bad_meeting;
        if (heard.values[part.round] + part.count > count) return Fault::overrun;
        // Parts of the next meeting may arrive before this node joins it.
        if (heard.table.empty()) heard.table.resize(procs());
        for (std::uint32_t i = 0; i < part.count; ++i) {
            const std::uint64_t at = (std::uint64_t{start} + part.offset + i) % procs();
            std::memcpy(&heard.table[at], values.data() + std::size_t{i} * 4, 4);
        }
        heard.values[part.round] += part.count;
    }
    heard.is_whole[part.round] = heard.values[part.round] == part.total;
    if (is_on_) advance();
    return Fault::none;
}

bool Meeting::next(std::uint32_t values_max, std::uint32_t& to, Part& part) const {
    if (!is_on_ || is_round_sent_) return false;
    part = Part{};
    part.number = number_;
    part.round = static_cast<std::uint8_t>(round_);
    to = told_in(round_);
    if (gathers_ == Content::least) {
        part.offset = offset_of_least;
        part.total = part.count = least_words;
    } else if (gathers_ == Content::table) {
        std::uint32_t start = 0;
        span_of(node_, round_, start, part.total);
        part.offset = sent_;
        part.count = std::min(values_max, part.total - sent_);
    }
    return true;
}

void Meeting::copy_values(const Part& part, std::byte* into) const noexcept {
    if (gathered_by(part) == Content::least) {
        const Words& least = heard_[part.number & 1U].least;
        std::memcpy(into, least.data(), sizeof least);
        return;
    }
    std::uint32_t start = 0;
    std::uint32_t count = 0;
    span_of(node_, part.round, start, count);
    const std::vector<std::uint32_t>& table = heard_[part.number & 1U].table;
    for (std::uint32_t i = 0; i < part.count; ++i) {
        const std::uint64_t at = (std::uint64_t{start} + part.offset + i) % procs();
        std::memcpy(into + std::size_t{i} * 4, &table[at], 4);
    }
}

void Meeting::sent(const Part& part) {
    sent_ += part.count;
    is_round_sent_ = sent_ == part.total;
    advance();
}

void Meeting::advance() {
    const Heard& heard = heard_[number_ & 1U];
    while (round_ < rounds_ && is_round_sent_ && heard.is_whole[round_]) {
        ++round_;
        sent_ = 0;
        is_round_sent_ = false;
    }
    if (round_ < rounds_) return;
    is_on_ = false;
    is_met_ = true;
    is_round_sent_ = true;
    ++number_;
}

bool Meeting::take_met(std::uint32_t& number, std::span<const std::uint32_t>& table) {
    if (!is_met_) return false;
    is_met_ = false;
    number = number_ - 1;
    const Heard& heard = heard_[number & 1U];
    table = {};
    if (gathers_ == Content::table) table = heard.table;
    if (gathers_ == Content::least) table = heard.least;
    return true;
}

bool Meeting::are_others_waiting() const noexcept {
    const Heard& heard = heard_[number_ & 1U];
    const auto is_heard = [](bool is_whole) { return is_whole; };
    return !is_on_ && (std::any_of(heard.is_whole.begin(), heard.is_whole.end(), is_heard) ||
                       !heard.table.empty());
}

std::uint32_t Meeting::missing_node() const noexcept {
    return heard_in(round_);
}

}  // namespace acp::router
