// SPDX-License-Identifier: BSD-3-Clause
// The result of a collective call over all its processes, in three words: the first process that
// failed and its error code, and the least and the greatest epoch. Each word is a minimum over all
// processes, so nodes can combine them pairwise, and no node keeps anything per process. On one
// node each process writes its part into its slot and reads the parts of all; over several nodes
// the gateway reads the slots of its node, and writes the result of all nodes. Knows no meeting:
// Member::conclude orders all accesses. Tests: tests/unit/node/conclusion_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/status.hpp"
#include "node/segment.hpp"

namespace acp::node {

struct Conclusion {
    static constexpr std::uint32_t words_count = 3;

    // [0]: the lowest process index that failed, above the code. [1]: the least epoch + 1, or 0 if
    // a process arrived for another call. [2]: the inverse of the greatest epoch. All bits set: no
    // process has brought a part.
    std::array<std::uint32_t, words_count> words = {~0U, ~0U, ~0U};

    struct Failure {
        std::uint32_t process = 0;
        base::Code code = base::Code::ok;
    };

    // Epochs are distinguished by their low bits in this mask.
    static constexpr std::uint32_t epoch_mask = (1U << 24U) - 1;

    // One process's part.   process < 2^memory::process_bits_max
    static Conclusion of(std::uint32_t process, base::Code code, std::uint32_t epoch) noexcept;

    // The part of a process that arrived at the meeting for another call.
    static Conclusion of_other_call() noexcept;

    // Combines another result with this one.
    void add(const Conclusion& other) noexcept;

    // nullopt: no process failed.
    [[nodiscard]] std::optional<Failure> failure() const noexcept;

    // Whether a process arrived at the meeting for another call, or none brought a part, as when
    // the meeting was for another call on another node.
    [[nodiscard]] bool has_other_call() const noexcept { return words[1] == 0 || words[1] == ~0U; }

    // The epochs of the processes that brought their part.   !has_other_call()
    [[nodiscard]] std::uint32_t least_epoch() const noexcept { return words[1] - 1; }

    [[nodiscard]] std::uint32_t greatest_epoch() const noexcept { return ~words[2]; }
};

// Combines the parts in the slots of this node; a process without a part for this meeting has
// arrived for another call.
//   meeting  its number (node/barrier.hpp)
[[nodiscard]] Conclusion conclusion_of_node(const Segment& segment, std::uint32_t meeting) noexcept;

// Writes a process's part into its slot, before it arrives at the meeting. A slow process may still
// read the part of the meeting before, so there are two entries that alternate; no process still
// reads the one before that, because all have arrived at a meeting since.
void bring_part(const Segment& segment,
                std::uint32_t slot,
                std::uint32_t meeting,
                base::Code code,
                std::uint32_t epoch) noexcept;

// The result of all nodes: the gateway writes it before it releases the meeting, and the node's
// processes read it after that.
void write_conclusion(const Segment& segment, const Conclusion& conclusion) noexcept;
[[nodiscard]] Conclusion read_conclusion(const Segment& segment) noexcept;

}  // namespace acp::node
