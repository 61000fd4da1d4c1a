// SPDX-License-Identifier: BSD-3-Clause
// The layout of a byte sequence in the blocks of one heap: its head and its body, and the words
// that each participant publishes. Knows no operation.
// Tests: tests/unit/sequence.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "heap/offset.hpp"

#include "sequence/words.hpp"

namespace acp::sequence {

enum class SequenceKind : std::uint64_t { vector = 1, deque = 2 };

inline constexpr std::uint32_t line_bytes = 64;

// The start of a sequence, whose block names it until it is destroyed.
template <template <class> class Atomic>
struct alignas(line_bytes) SequenceHead {
    // mark_of() its block and kind: a sequence begins here; written by its maker and its destroyer
    Atomic<std::uint64_t> mark;
    // an OperationWord: which participant may change the sequence, and how; changed by
    // compare-and-swap of any participant
    Atomic<std::uint64_t> operation;
    // a Named body; its bit is the first Extent in use; changed by compare-and-swap of any
    // participant
    Atomic<std::uint64_t> body;

    [[nodiscard]] static constexpr std::uint64_t mark_of(BlockNumber head,
                                                         SequenceKind kind) noexcept {
        constexpr std::uint64_t sequence_mark = 0x5e90e7ce51d3a2b4;
        return sequence_mark ^ head ^ static_cast<std::uint64_t>(kind) << 61;
    }

    // The mark of a sequence that a participant destroys.
    [[nodiscard]] static constexpr std::uint64_t mark_of_destroyed(
        BlockNumber head, std::uint32_t participant) noexcept {
        constexpr std::uint64_t destroyed_mark = 0x3db0e97c8a61f25d;
        return destroyed_mark ^ head ^ std::uint64_t{participant + 1} << table::number_bits;
    }
};

// The offset of the content in a body, and its length, in bytes.
template <template <class> class Atomic>
struct Extent {
    Atomic<std::uint64_t> first;
    Atomic<std::uint64_t> bytes;
};

// The bytes follow. A content that reaches the end of the body wraps around to its start.
template <template <class> class Atomic>
struct Body {
    // bytes; written by the body's maker before it is installed
    Atomic<std::uint64_t> capacity;
    // a participant; written like `capacity`
    Atomic<std::uint64_t> maker;
    // The operation word selects the committed one; the holder of the sequence writes the other,
    // which may name a push in pieces (sequence/push_in_pieces.hpp).
    std::array<Extent<Atomic>, 2> extents;

    static constexpr std::uint64_t head_bytes = 48;

    [[nodiscard]] char* content() noexcept { return reinterpret_cast<char*>(this) + head_bytes; }

    [[nodiscard]] static constexpr std::uint64_t block_bytes(std::uint64_t capacity) noexcept {
        return head_bytes + capacity;
    }
};

static_assert(sizeof(Body<std::atomic>) == Body<std::atomic>::head_bytes);

// The words that each thread publishes that uses the sequences of a heap, in shared memory; zero at
// first. Other participants change a word only where its comment says so.
template <template <class> class Atomic>
struct alignas(line_bytes) SequenceUser {
    // the sequence that it changes: number of its head
    Atomic<std::uint64_t> head;
    // a head whose number its caller has not stored yet; with the bit set once it has its body
    Atomic<std::uint64_t> head_made;
    // A body that was not installed; with the bit and its number once it may be. A participant that
    // sees it installed sets the word to 0.
    Atomic<std::uint64_t> made;
    Atomic<std::uint64_t> replaced;  // the body that it replaces by `made`
    // The body that it writes into, with the low bits of the OperationWord's sequence. A
    // participant that sees this body replaced sets the bit: only the holder knows when it has
    // stopped writing, so the holder frees the body, or recovery does.
    Atomic<std::uint64_t> held;
    // the participant that recovers it, plus 1; changed by compare-and-swap of survivors
    Atomic<std::uint64_t> recoverer;
    Atomic<std::uint64_t> freeing;  // a block that it unlinks and frees (table/freeing.hpp)
    // a sequence that it destroys: number of its head
    Atomic<std::uint64_t> destroyed;

    // Whether it has made a block that may not be in use yet.
    [[nodiscard]] bool has_made(BlockNumber block) const noexcept {
        return Named::unpacked(made.load(std::memory_order_acquire)).block == block ||
               Named::unpacked(head_made.load(std::memory_order_acquire)).block == block;
    }

    // Whether one of its words leads to a block.
    [[nodiscard]] bool names(BlockNumber block) const noexcept {
        return has_made(block) ||
               Named::unpacked(replaced.load(std::memory_order_acquire)).block == block ||
               Named::unpacked(held.load(std::memory_order_acquire)).block == block ||
               destroyed.load(std::memory_order_acquire) == block;
    }

    // Whether it holds nothing.
    [[nodiscard]] bool is_unused() const noexcept {
        std::uint64_t any = 0;
        for (const auto* word : {&head_made, &made, &replaced, &held, &freeing, &destroyed}) {
            any |= word->load(std::memory_order_acquire);
        }
        return any == 0;
    }
};

static_assert(sizeof(SequenceUser<std::atomic>) == line_bytes);

template <template <class> class Atomic>
using SequenceUsers = table::ParticipantArray<SequenceUser<Atomic>>;

// A participant's questions about the other participants.
class Others {
public:
    virtual ~Others() = default;
    Others(const Others&) = delete;
    Others& operator=(const Others&) = delete;

    // Whether the process of a participant has ended and will never run again.
    [[nodiscard]] virtual bool is_dead(std::uint32_t participant) = 0;

    // Whether to poll again a sequence that a living participant holds or changes; called after
    // each poll, and may yield to other threads. false: the caller takes the sequence over.
    //   turns     how often this was asked before about the same holder
    //   capacity  of the body, in bytes: copying a long body takes long
    [[nodiscard]] virtual bool may_wait(std::uint64_t turns, std::uint64_t capacity) = 0;

protected:
    Others() = default;
};

}  // namespace acp::sequence
