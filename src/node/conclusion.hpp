// SPDX-License-Identifier: BSD-3-Clause
// How a collective call went for all its processes, in three words: who failed first and why, and the least and the
// greatest epoch. Each word is a minimum over all processes, so that nodes can combine them pairwise and nobody keeps
// anything per process. On one node a process writes its part into its slot and reads everybody's; over nodes the
// gateway reads the slots of its node, and writes what all nodes have come to. Knows no meeting: Member::conclude
// orders all of it. Tests: tests/unit/node/conclusion_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/status.hpp"
#include "node/segment.hpp"

namespace acp::node {

struct Conclusion {
    static constexpr std::uint32_t words_count = 3;

    // The process of the lowest index that failed, above the code; the least epoch + 1, or 0 where a process came to the meeting
    // for another call; the inverse of the greatest. All bits set: nobody has brought anything.
    std::array<std::uint32_t, words_count> words = {~0U, ~0U, ~0U};

    struct Failure {
        std::uint32_t process = 0;
        base::Code code = base::Code::ok;
    };

    // Epochs are told apart by so many of their lower bits.
    static constexpr std::uint32_t epoch_mask = (1U << 24U) - 1;

    // One process's part.   process < 2^memory::process_bits_max
    static Conclusion of(std::uint32_t process, base::Code code, std::uint32_t epoch) noexcept;

    // The part of a process that came to the meeting for another call.
    static Conclusion of_other_call() noexcept;

    // This and another's together.
    void add(const Conclusion& other) noexcept;

    // nullopt: nobody failed.
    [[nodiscard]] std::optional<Failure> failure() const noexcept;

    // Whether a process came to the meeting for another call, or nobody brought anything, as after a meeting that was for another
    // call on another node.
    [[nodiscard]] bool has_other_call() const noexcept { return words[1] == 0 || words[1] == ~0U; }

    // Of those that brought their part.   !has_other_call()
    [[nodiscard]] std::uint32_t least_epoch() const noexcept { return words[1] - 1; }

    [[nodiscard]] std::uint32_t greatest_epoch() const noexcept { return ~words[2]; }
};

// Of the processes of this node together, as their slots say: who brought no part to this meeting came for another call.
//   meeting  its number (node/barrier.hpp)
[[nodiscard]] Conclusion conclusion_of_node(const Segment& segment, std::uint32_t meeting) noexcept;

// A process's part, into its slot, before it comes to the meeting. A slow process may still read the part of the meeting before,
// so two turns follow each other; of the meeting before that nobody does, for all have met since.
void bring_part(const Segment& segment,
                std::uint32_t slot,
                std::uint32_t meeting,
                base::Code code,
                std::uint32_t epoch) noexcept;

// Of all nodes together: written by the gateway before it ends the meeting, read by the node's processes after that.
void write_conclusion(const Segment& segment, const Conclusion& conclusion) noexcept;
[[nodiscard]] Conclusion read_conclusion(const Segment& segment) noexcept;

}  // namespace acp::node
