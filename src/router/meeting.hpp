// SPDX-License-Identifier: BSD-3-Clause
// A barrier of all nodes in ceil(log2 nodes) rounds. In each round a node sends one message and
// receives one, which says that its sender and all nodes that the sender knows of have joined;
// after the last round each node knows of all. If the number of nodes is a power of two, nodes
// exchange messages in pairs (recursive doubling): in round r with the node whose number differs in
// bit r. So a node has half as many peers, and acknowledgements travel with the partner's next
// message. Otherwise the pattern is dissemination: in round r a node sends to the node 2^r above it
// and receives from the node 2^r below it.
//
// The same messages can gather a table of one value per process (allgather): each round's message
// carries the values that the sender has, up to those of 2^r nodes. Or they reduce a few words to
// their minima (allreduce): each message carries the minima that its sender knows, in the same few
// bytes whatever the size of the job. Knows no frame format, no router, no time. One thread.
// Sources: Hensgen, Finkel, Manber, IJPP 17 (1988); Bruck et al., IEEE TPDS 8 (1997); Thakur et
// al., IJHPCA 19 (2005).
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
    // The first process of each node, as Map::first_process.
    struct Layout {
        virtual ~Layout() = default;
        [[nodiscard]] virtual std::uint32_t first(std::uint32_t node) const noexcept = 0;
    };

    // The result of a meeting: none, a table of one value per process, or the minimum of each of
    // some words.
    enum class Content : std::uint8_t { nothing, table, least };

    // The number of words that each node contributes to a meeting for minima.
    static constexpr std::uint32_t least_words = 3;
    using Words = std::array<std::uint32_t, least_words>;

    // Stands in place of an offset in a message that carries minima.
    static constexpr std::uint32_t offset_of_least = ~0U;

    // A part of a round's message: values offset .. offset + count - 1 of total.
    struct Part {
        std::uint32_t number = 0;
        std::uint8_t round = 0;
        std::uint32_t offset = 0;
        std::uint32_t total = 0;
        std::uint32_t count = 0;
    };

    //   nodes   at least 1; node < nodes
    //   layout  must outlive this
    // Throws std::bad_alloc.
    Meeting(std::uint32_t node, std::uint32_t nodes, const Layout& layout);

    // This node joins meeting `number`: meetings are numbered from 0 without gaps. The meeting
    // before must have completed here.
    //   values  one per process of this node, or empty: no table; the same choice on all nodes
    void start(std::uint32_t number, std::span<const std::uint32_t> values);

    // start() of a meeting that returns the minima of each node's words. All nodes make the same
    // choice.
    void start_min_reduction(std::uint32_t number, const Words& words);

    // Handles a part of another node's message. It may belong to the next meeting, which this node
    // has not joined yet.
    //   values  part.count of them, unaligned
    [[nodiscard]] Fault hear(std::uint32_t from,
                             const Part& part,
                             std::span<const std::byte> values);

    // Whether a message part is to be sent now. If so sets the node to send it to, and the part, of
    // at most values_max values.
    [[nodiscard]] bool next(std::uint32_t values_max, std::uint32_t& to, Part& part) const;

    // Writes the values of a part to `into`: count * 4 bytes, unaligned.
    void copy_values(const Part& part, std::byte* into) const noexcept;

    // Call when the part that next() returned was sent.
    void sent(const Part& part);

    // Whether a meeting has ended since the last call; then its number, and its table or minima,
    // valid until the next start().
    [[nodiscard]] bool take_met(std::uint32_t& number, std::span<const std::uint32_t>& table);

    // Whether this node has joined a meeting that has not completed here.
    [[nodiscard]] bool is_on() const noexcept { return is_on_; }

    // Whether another node has joined the next meeting, and this one has not.
    [[nodiscard]] bool are_others_waiting() const noexcept;

    // The node whose message this node waits for; only when is_on().
    [[nodiscard]] std::uint32_t missing_node() const noexcept;

private:
    static constexpr std::uint32_t rounds_max = 32;

    // The messages received for one meeting. There are two of these, for this meeting and the next,
    // selected by the lowest bit of the number.
    struct Heard {
        std::array<std::uint32_t, rounds_max> values{};  // per round: values received so far
        std::array<bool, rounds_max> is_whole{};
        // One value per process; empty without a table; capacity for all.
        std::vector<std::uint32_t> table;
        Words least = no_words;
    };

    static constexpr Words no_words = {~0U, ~0U, ~0U};

    static Content gathered_by(const Part& part) noexcept;
    static void lower(Words& least, const Words& words) noexcept;
    void begin(std::uint32_t number, Content gathers);

    // The node to which this node sends in a round, and the node from which it receives.
    [[nodiscard]] std::uint32_t told_in(std::uint32_t round) const noexcept;
    [[nodiscard]] std::uint32_t heard_in(std::uint32_t round) const noexcept;

    [[nodiscard]] bool is_paired() const noexcept { return std::has_single_bit(nodes_); }

    [[nodiscard]] std::uint32_t procs() const noexcept { return layout_.first(nodes_); }

    // The table that a node sends in a round: the index of its first value, and how many.
    void span_of(std::uint32_t sender,
                 std::uint32_t round,
                 std::uint32_t& start,
                 std::uint32_t& count) const noexcept;
    // Begins the next round while the present one's messages were all sent and received; completes
    // the meeting after the last round.
    void advance();
    static void forget(Heard& heard) noexcept;

    std::uint32_t node_;
    std::uint32_t nodes_;
    const Layout& layout_;
    std::uint32_t rounds_ = 0;
    std::array<Heard, 2> heard_;
    std::uint32_t number_ = 0;  // the meeting in progress, or the next one
    bool is_on_ = false;
    Content gathers_ = Content::nothing;
    bool is_met_ = false;  // completed, but take_met() was not called yet
    std::uint32_t round_ = 0;
    std::uint32_t sent_ = 0;  // values of this round's message already sent
    bool is_round_sent_ = false;
};

}  // namespace acp::router
