// SPDX-License-Identifier: BSD-3-Clause
// The layout of a list in the blocks of one heap: a head, a node for each element, both linked in a
// ring, and the words that each thread publishes that uses the lists of a heap. Knows no operation.
// Tests: tests/unit/list/list_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "list/words.hpp"

namespace acp::list {

// The words of a node and a head, by their index in it.
enum class Field : std::uint64_t { mark, next, previous, turn, count };

// An element: its bytes follow. Writers of its words: before linking the thread that made it; while
// linked the list's current operation (list/turns.hpp); after claiming the participant that claimed
// it.
template <template <class> class Atomic>
struct ListNode {
    Atomic<std::uint64_t> mark;
    Atomic<std::uint64_t> next;      // the last element's: the head
    Atomic<std::uint64_t> previous;  // the first element's: the head

    static constexpr std::uint64_t head_bytes = 24;

    [[nodiscard]] char* payload() noexcept { return reinterpret_cast<char*>(this) + head_bytes; }
};

static_assert(sizeof(ListNode<std::atomic>) == ListNode<std::atomic>::head_bytes);

// The start of a list; its block's number names the list. Its ring node holds no element.
template <template <class> class Atomic>
struct ListHead {
    // next: the first element; previous: the last one; in an empty list both are the head
    ListNode<Atomic> ring;
    Atomic<std::uint64_t> turn;
    Atomic<std::uint64_t> count;
    // The number of the list's first operation; written by its maker. The numbers in the marks of
    // the list's elements lie between this one and the present one, so a change that names another
    // list is refused.
    Atomic<std::uint64_t> first;
};

// The bytes of a node whose element is in a separate block, which may be in another heap.
struct ApartPayload {
    // in the form in which the owner of ListMemory names blocks; 0: it was freed
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
};

// One word that an operation changes.
template <template <class> class Atomic>
struct Change {
    Atomic<std::uint64_t> place;  // Places
    Atomic<std::uint64_t> old_word;
    Atomic<std::uint64_t> new_word;
};

// The address of a word: a block and a field.
namespace place {
[[nodiscard]] constexpr std::uint64_t of(BlockNumber block, Field field) noexcept {
    return block | static_cast<std::uint64_t>(field) << number_bits;
}

[[nodiscard]] constexpr BlockNumber block_in(std::uint64_t place) noexcept {
    return place & number_mask;
}

[[nodiscard]] constexpr std::uint64_t field_in(std::uint64_t place) noexcept {
    return place >> number_bits;
}
}  // namespace place

inline constexpr std::uint32_t lists_max = 2;  // lists of one operation
// words of one operation; the most: moving an element to another list
inline constexpr std::uint32_t changes_max = 10;

// The words that each thread publishes that uses the lists of a heap, in shared memory; zero at
// first. Writer: the thread alone, or its recoverer after its death; `verdict` is also written by
// helpers. Readers: helpers and reclaimers.
template <template <class> class Atomic>
struct ListParticipant {
    // Not 0: these are hazard words; no reclaimer frees the blocks of `lists` and `changes`. The
    // operation is the thread's own, or one that it helps.
    alignas(64) Atomic<std::uint64_t> names;
    // table::made: a node or a head that may not be linked yet; no reclaimer frees it
    Atomic<std::uint64_t> made;
    // address of its separate payload
    Atomic<std::uint64_t> made_apart;
    // a node or head that it takes out of its list
    Atomic<std::uint64_t> taken;
    // the last block that it has retired and not freed
    Atomic<std::uint64_t> retired;
    Atomic<std::uint64_t> retired_count;
    Atomic<std::uint64_t> retired_bytes;  // retired since its last scan
    Atomic<std::uint64_t> recoverer;      // the participant that recovers it, plus 1

    // The descriptor of an operation, valid while the turn of its first list is busy with it.
    // number of the operation
    alignas(64) Atomic<std::uint64_t> number;
    // decision about an operation on two lists: see verdict::
    Atomic<std::uint64_t> verdict;
    Atomic<std::uint64_t> change_count;
    std::array<Atomic<std::uint64_t>, lists_max> lists;  // in rising order; the second one may be 0
    // the idle words of their turns when it began
    std::array<Atomic<std::uint64_t>, lists_max> idles;
    std::array<Change<Atomic>, changes_max> changes;
    Atomic<std::uint64_t> freeing;  // a block that it unlinks and frees (table/freeing.hpp)
    // a separate payload that it unlinks and frees, by its address
    Atomic<std::uint64_t> freeing_apart;

    // Whether it publishes nothing and holds nothing.
    [[nodiscard]] bool is_unused() const noexcept {
        std::uint64_t any = 0;
        for (const auto* word :
             {&names, &made, &made_apart, &taken, &retired, &freeing, &freeing_apart}) {
            any |= word->load(std::memory_order_acquire);
        }
        return any == 0;
    }

    // Whether it has made a block that may not be linked yet.
    [[nodiscard]] bool has_made(BlockNumber block) const noexcept {
        return table::made::block_in(made.load(std::memory_order_acquire)) == block;
    }
};

template <template <class> class Atomic>
using ListParticipants = table::ParticipantArray<ListParticipant<Atomic>>;

}  // namespace acp::list
