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

    // The process of the lowest index that failed, above the code; the least epoch; the inverse of the greatest. All
    // bits set: nobody has brought anything.
    std::array<std::uint32_t, words_count> words = {~0U, ~0U, ~0U};

    struct Failure {
        std::uint32_t process = 0;
        base::Code code = base::Code::ok;
    };

    // Epochs are told apart by so many of their lower bits.
    static constexpr std::uint32_t epoch_mask = (1U << 24U) - 1;

    // One process's part.   process < 2^memory::process_bits_max
    static Conclusion of(std::uint32_t process, base::Code code, std::uint32_t epoch) noexcept;

    // This and another's together.
    void add(const Conclusion& other) noexcept;

    // nullopt: nobody failed.
    [[nodiscard]] std::optional<Failure> failure() const noexcept;

    [[nodiscard]] std::uint32_t least_epoch() const noexcept { return words[1]; }

    [[nodiscard]] std::uint32_t greatest_epoch() const noexcept { return ~words[2]; }
};

// Of the processes of this node together, as their slots say.
//   turn  0 or 1: which of the two words of a slot
[[nodiscard]] Conclusion conclusion_of_node(const Segment& segment, std::uint32_t turn) noexcept;

// A process's part, into its slot. Ordered by the meeting that follows.
void bring_part(const Segment& segment,
                std::uint32_t slot,
                std::uint32_t turn,
                base::Code code,
                std::uint32_t epoch) noexcept;

// Of all nodes together: written by the gateway before it ends the meeting, read by the node's processes after that.
void write_conclusion(const Segment& segment, const Conclusion& conclusion) noexcept;
[[nodiscard]] Conclusion read_conclusion(const Segment& segment) noexcept;

}  // namespace acp::node
