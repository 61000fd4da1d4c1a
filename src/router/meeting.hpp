// SPDX-License-Identifier: BSD-3-Clause
// How all nodes meet, in ceil(log2 nodes) rounds. In each a node tells another one, and hears from one, that it and all it has
// heard of have come; after the last round it has heard of all. Where the number of nodes is a power of two they exchange in
// pairs (recursive doubling): in round r with the node whose number differs in bit r. So a node has half as many peers, and
// what acknowledges a message rides on the partner's next one. Else by dissemination: it tells the node 2^r above and hears
// from the node 2^r below. On the way a table of one value per process can be gathered: each round's message carries what
// the sender has, up to 2^r nodes' values. Or some words can be reduced to the least of each: each message carries the least
// that its sender has heard of, which takes the same few bytes whatever the job's size. Knows no frame format, no router, no
// time. One thread.
// Sources: Hensgen, Finkel, Manber, IJPP 17 (1988); Bruck et al., IEEE TPDS 8 (1997); Thakur et al., IJHPCA 19 (2005).
// Tests: tests/unit/router/meeting_test.cpp.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "router/counters.hpp"

namespace acp::router {

class Meeting {
public:
    // Where a node's processes start, as Map::first_process.
    struct Layout {
        virtual ~Layout() = default;
        [[nodiscard]] virtual std::uint32_t first(std::uint32_t node) const noexcept = 0;
    };

    // What a meeting brings together: nothing, a table of a value per process, or the least of each of some words.
    enum class Content : std::uint8_t { nothing, table, least };

    // Of a meeting that gathers the least: so many words of each node.
    static constexpr std::uint32_t least_words = 3;
    using Words = std::array<std::uint32_t, least_words>;

    // The offset of the one part of a message that carries the least of words.
    static constexpr std::uint32_t offset_of_least = ~0U;

    // A part of a round's message: values offset .. offset + count - 1 of total.
    struct Part {
        std::uint32_t number = 0;
        std::uint8_t round = 0;
        std::uint32_t offset = 0;
        std::uint32_t total = 0;
        std::uint32_t count = 0;
    };

    //   nodes >= 1, node < nodes; layout outlives this. Throws std::bad_alloc
    Meeting(std::uint32_t node, std::uint32_t nodes, const Layout& layout);

    // This node has come to meeting `number`: the one after the last, from 0; the last is over here.
    //   values  of this node's processes, or empty: no table; all nodes alike
    void come(std::uint32_t number, std::span<const std::uint32_t> values);

    // The same, with words of which all nodes learn the least; all nodes alike.
    void come_for_least(std::uint32_t number, const Words& words);

    // A part from another node, perhaps of the next meeting, to which this node has not come yet.
    //   values  part.count of them, unaligned
    [[nodiscard]] Fault hear(std::uint32_t from,
                             const Part& part,
                             std::span<const std::byte> values);

    // Whether something is to be sent; to whom, and what part, of at most values_max values.
    [[nodiscard]] bool next(std::uint32_t values_max, std::uint32_t& to, Part& part) const;

    // Writes the part's values to `into`, count * 4 bytes, unaligned.
    void copy_values(const Part& part, std::byte* into) const noexcept;

    // The part that next() gave was sent.
    void sent(const Part& part);

    // Whether a meeting ended since the last call; its number, and its table or least words until the next come().
    [[nodiscard]] bool take_met(std::uint32_t& number, std::span<const std::uint32_t>& table);

    // This node has come and not met.
    [[nodiscard]] bool is_on() const noexcept { return is_on_; }

    // Another node has come to the next meeting, and this one has not.
    [[nodiscard]] bool is_awaited() const noexcept;

    // Whom this node waits to hear from now; only when is_on().
    [[nodiscard]] std::uint32_t awaited() const noexcept;

private:
    static constexpr std::uint32_t rounds_max = 32;

    // What was heard of one meeting. Two are kept: this and the next one, by the number's lowest bit.
    struct Heard {
        std::array<std::uint32_t, rounds_max> values{};  // heard so far, per round
        std::array<bool, rounds_max> is_whole{};
        std::vector<std::uint32_t> table;  // one per process, empty without a table; room for all
        Words least = no_words;
    };

    static constexpr Words no_words = {~0U, ~0U, ~0U};

    static Content gathered_by(const Part& part) noexcept;
    static void lower(Words& least, const Words& words) noexcept;
    void begin(std::uint32_t number, Content gathers);

    // Whom this node tells in a round, and from whom it hears.
    [[nodiscard]] std::uint32_t told_in(std::uint32_t round) const noexcept;
    [[nodiscard]] std::uint32_t heard_in(std::uint32_t round) const noexcept;

    [[nodiscard]] bool is_paired() const noexcept { return std::has_single_bit(nodes_); }

    [[nodiscard]] std::uint32_t procs() const noexcept { return layout_.first(nodes_); }

    // The message a node sends in a round: the table's index of its first value and how many.
    void span_of(std::uint32_t sender,
                 std::uint32_t round,
                 std::uint32_t& start,
                 std::uint32_t& count) const noexcept;
    void advance();
    static void forget(Heard& heard) noexcept;

    std::uint32_t node_;
    std::uint32_t nodes_;
    const Layout& layout_;
    std::uint32_t rounds_ = 0;
    std::array<Heard, 2> heard_;
    std::uint32_t number_ = 0;  // of the meeting that is on, or of the next
    bool is_on_ = false;
    Content gathers_ = Content::nothing;
    bool is_met_ = false;  // not yet taken
    std::uint32_t round_ = 0;
    std::uint32_t sent_ = 0;  // values of this round's message
    bool is_round_sent_ = false;
};

}  // namespace acp::router
