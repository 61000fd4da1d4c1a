// SPDX-License-Identifier: BSD-3-Clause
// The 64-bit words of a sequence: its operation word, and words that name a block. None of them is
// 0 while it is in use, so a compare-and-swap never succeeds on a page that was given back to the
// kernel and reads as zero.
// Tests: tests/unit/sequence/words_test.cpp.
#pragma once

#include <cstdint>

#include "table/words.hpp"

namespace acp::sequence {

using table::BlockNumber;

// What a call did.
enum class SequenceEffect : std::uint8_t {
    done,
    no_room,  // there is no memory
    outside,  // the range is not in the content
    // the sequence's words contradict each other, though no operation has changed them: the
    // program has overwritten them
    damaged,
    // the call would copy more bytes than Sequence::bound() allows: the caller has them copied in
    // pieces (BodyReplacer, PushInPieces)
    too_long,
    // the content has changed since the caller read it
    changed,
    // another participant holds or changes the sequence, and Sequence::bound() does not allow to
    // wait for it: the caller calls again
    busy,
    // a participant that was stopped may write into the body when it runs again, and there is no
    // memory for a copy: the caller calls again, since the other one ends this when it runs
    held,
};

// Which participant may change a sequence now.
enum class TurnState : std::uint8_t {
    idle,      // the next participant that takes it
    held,      // one participant: it writes into the body, outside of the committed content
    changing,  // one participant: it makes a new body and writes into no old one
    // none: a participant that held the sequence was stopped, and its body is to be replaced
    evicting,
};

// The operation word. Words with the same `sequence` number denote the same content.
struct OperationWord {
    static constexpr std::uint32_t participant_bits = 16;
    static constexpr std::uint32_t generation_bits = 8;
    static constexpr std::uint32_t sequence_bits = 37;

    TurnState state = TurnState::idle;
    std::uint32_t which = 0;  // the committed one of the body's two Extents
    // the participant that holds, changes or was evicted; 0 when idle
    std::uint32_t participant = 0;
    // the low bits of the number of the body in use
    std::uint32_t generation = 0;
    // number of changes of the content; begins with 1
    std::uint64_t sequence = 0;

    [[nodiscard]] static constexpr OperationWord unpacked(std::uint64_t word) noexcept {
        OperationWord operation;
        operation.state = static_cast<TurnState>(word & 3);
        operation.which = static_cast<std::uint32_t>(word >> 2 & 1);
        operation.participant = static_cast<std::uint32_t>(word >> 3 & mask(participant_bits));
        operation.generation = static_cast<std::uint32_t>(word >> 19 & mask(generation_bits));
        operation.sequence = word >> 27;
        return operation;
    }

    [[nodiscard]] constexpr std::uint64_t packed() const noexcept {
        return static_cast<std::uint64_t>(state) | std::uint64_t{which} << 2 |
               std::uint64_t{participant} << 3 | std::uint64_t{generation} << 19 |
               (sequence & mask(sequence_bits)) << 27;
    }

    [[nodiscard]] constexpr OperationWord as(TurnState next, std::uint32_t by) const noexcept {
        OperationWord operation = *this;
        operation.state = next;
        operation.participant = by;
        return operation;
    }

    // The word after a change of the content in place; commits Extent `next_which`.
    [[nodiscard]] constexpr OperationWord after(std::uint32_t next_which) const noexcept {
        OperationWord operation = as(TurnState::idle, 0);
        operation.which = next_which;
        operation.sequence = (sequence + 1) & mask(sequence_bits);
        return operation;
    }

    // Whether the body may be replaced by another one.
    [[nodiscard]] constexpr bool is_replacing() const noexcept {
        return state == TurnState::changing || state == TurnState::evicting;
    }

private:
    [[nodiscard]] static constexpr std::uint64_t mask(std::uint32_t bits) noexcept {
        return (std::uint64_t{1} << bits) - 1;
    }
};

// A block with a bit and a number that distinguish the word from earlier ones that named the same
// block.
struct Named {
    static constexpr std::uint32_t number_bits = 27;
    static constexpr std::uint64_t number_mask = (std::uint64_t{1} << number_bits) - 1;

    std::uint32_t bit = 0;
    BlockNumber block = 0;
    std::uint64_t number = 0;

    [[nodiscard]] static constexpr Named unpacked(std::uint64_t word) noexcept {
        return {static_cast<std::uint32_t>(word & 1), word >> 1 & table::number_mask, word >> 37};
    }

    [[nodiscard]] constexpr std::uint64_t packed() const noexcept {
        return std::uint64_t{bit} | block << 1 | (number & number_mask) << 37;
    }

    [[nodiscard]] constexpr std::uint32_t generation() const noexcept {
        return static_cast<std::uint32_t>(number) & ((1U << OperationWord::generation_bits) - 1);
    }

    // The body word that follows this one.
    [[nodiscard]] constexpr Named next(BlockNumber next_block,
                                       std::uint32_t next_bit) const noexcept {
        return {next_bit, next_block, (number + 1) & number_mask};
    }
};

static_assert(table::number_bits == 36);

}  // namespace acp::sequence
