// SPDX-License-Identifier: BSD-3-Clause
// How a sequence of bytes lies in the blocks of one heap: its head and its body, and what each participant shows to others. Knows no
// operation.
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

// What a sequence begins with, and is named by, until it is destroyed.
template <template <class> class Atomic>
struct alignas(line_bytes) SequenceHead {
    Atomic<std::uint64_t>
        mark;  // mark_of() its block and kind: a sequence begins here; written by who makes and destroys it
    Atomic<std::uint64_t>
        operation;  // an Operation: who may change what; compared and swapped by all
    Atomic<std::uint64_t>
        body;  // a Named body; its bit is the first Extents in use; compared and swapped by all

    [[nodiscard]] static constexpr std::uint64_t mark_of(BlockNumber head,
                                                         SequenceKind kind) noexcept {
        constexpr std::uint64_t sequence_mark = 0x5e90e7ce51d3a2b4;
        return sequence_mark ^ head ^ static_cast<std::uint64_t>(kind) << 61;
    }

    // The same of a sequence that a participant destroys.
    [[nodiscard]] static constexpr std::uint64_t mark_of_destroyed(
        BlockNumber head, std::uint32_t participant) noexcept {
        constexpr std::uint64_t destroyed_mark = 0x3db0e97c8a61f25d;
        return destroyed_mark ^ head ^ std::uint64_t{participant + 1} << table::number_bits;
    }
};

// Where the content begins in a body, in bytes, and how many bytes it has.
template <template <class> class Atomic>
struct Extent {
    Atomic<std::uint64_t> first;
    Atomic<std::uint64_t> bytes;
};

// The bytes, behind this. A content that reaches the end goes on at the start.
template <template <class> class Atomic>
struct Body {
    Atomic<std::uint64_t> capacity;  // bytes; written by who makes the body, before others see it
    Atomic<std::uint64_t> maker;     // a participant; likewise
    // The operation word says which one is committed; who holds the sequence writes the other.
    std::array<Extent<Atomic>, 2> extents;

    static constexpr std::uint64_t head_bytes = 48;

    [[nodiscard]] char* content() noexcept { return reinterpret_cast<char*>(this) + head_bytes; }

    [[nodiscard]] static constexpr std::uint64_t block_bytes(std::uint64_t capacity) noexcept {
        return head_bytes + capacity;
    }
};

static_assert(sizeof(Body<std::atomic>) == Body<std::atomic>::head_bytes);

// What each thread that uses the sequences of a heap shows to others, in shared memory; zero at first. Others than the participant
// change a word only where it says so.
template <template <class> class Atomic>
struct alignas(line_bytes) SequenceUser {
    Atomic<std::uint64_t> head;  // the sequence that it changes: number of its head
    Atomic<std::uint64_t>
        head_made;  // a head that its caller has not stored yet; with a bit once it has its body
    // A body that was not installed; with a bit and its number once it can be. Whoever sees it installed sets the word to 0.
    Atomic<std::uint64_t> made;
    Atomic<std::uint64_t> replaced;  // the body that it replaces by `made`
    // The body that it writes into, by the low bits of the Operation's sequence. Whoever sees it replaced by another one sets the
    // bit: only this participant knows when it has ceased to write, so it frees the body, or recovery does.
    Atomic<std::uint64_t> held;
    Atomic<std::uint64_t> recoverer;  // who recovers it, plus 1; compared and swapped by the living
    Atomic<std::uint64_t> freeing;    // a block that it unlinks and frees (table/freeing.hpp)
    Atomic<std::uint64_t> destroyed;  // a sequence that it destroys: number of its head

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

// The participants of a heap.
template <template <class> class Atomic>
struct SequenceUsers {
    char* first = nullptr;
    std::uint32_t count = 0;

    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint32_t count) noexcept {
        return std::uint64_t{count} * sizeof(SequenceUser<Atomic>);
    }

    [[nodiscard]] SequenceUser<Atomic>& operator[](std::uint32_t number) const noexcept {
        return reinterpret_cast<SequenceUser<Atomic>*>(first)[number];
    }
};

// What a participant knows of the others.
class Others {
public:
    virtual ~Others() = default;
    Others(const Others&) = delete;
    Others& operator=(const Others&) = delete;

    // Whether the process of a participant has ended and will never run again.
    [[nodiscard]] virtual bool is_dead(std::uint32_t participant) = 0;

    // Whether to look again at a sequence that a living participant holds or changes, after having let others run; false: it is to be
    // taken over.
    //   turns     how often this was asked before, of the same holder
    //   capacity  of the body, in bytes: who copies much may take long
    [[nodiscard]] virtual bool may_wait(std::uint64_t turns, std::uint64_t capacity) = 0;

protected:
    Others() = default;
};

}  // namespace acp::sequence
