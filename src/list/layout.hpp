// SPDX-License-Identifier: BSD-3-Clause
// How a list lies in the blocks of one heap: a head, a node for each element, both linked in a ring, and what each thread that uses
// the lists of a heap shows to others. Knows no operation.
// Tests: tests/unit/list/list_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "list/words.hpp"

namespace acp::list {

// The words of a node and a head, by their place in it.
enum class Field : std::uint64_t { mark, next, previous, turn, count };

// An element: its bytes follow. Who changes a word is an operation on the list (list/turns.hpp), but for who has made the node and not
// linked it yet, and who has claimed it.
template <template <class> class Atomic>
struct ListNode {
    Atomic<std::uint64_t> mark;
    Atomic<std::uint64_t> next;      // of the last element: the head
    Atomic<std::uint64_t> previous;  // of the first element: the head

    static constexpr std::uint64_t head_bytes = 24;

    [[nodiscard]] char* payload() noexcept { return reinterpret_cast<char*>(this) + head_bytes; }
};

static_assert(sizeof(ListNode<std::atomic>) == ListNode<std::atomic>::head_bytes);

// What a list begins with; the list is named by this block. A node of the ring that holds no element.
template <template <class> class Atomic>
struct ListHead {
    ListNode<Atomic>
        ring;  // next: the first element; previous: the last one; of an empty list the head
    Atomic<std::uint64_t> turn;
    Atomic<std::uint64_t> count;
    // The number of the list's first operation, which its maker writes. The numbers in the marks of the list's elements lie between
    // this one and the present one, so a change under the name of another list is refused.
    Atomic<std::uint64_t> first;
};

// The bytes of a node whose element is in a block of its own, which may be in another heap.
struct ApartPayload {
    std::uint64_t address = 0;  // as whoever binds lists to heaps names blocks; 0: it is freed
    std::uint64_t bytes = 0;
};

// One word that an operation changes.
template <template <class> class Atomic>
struct Change {
    Atomic<std::uint64_t> place;  // Places
    Atomic<std::uint64_t> old_word;
    Atomic<std::uint64_t> new_word;
};

// Which word: a block, and its field.
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

inline constexpr std::uint32_t lists_max = 2;  // of one operation
inline constexpr std::uint32_t changes_max =
    10;  // of one operation: moving an element to another list

// What each thread that uses the lists of a heap shows to others, in shared memory; zero at first. Written by its thread alone, and
// by who recovers it after its death, but for `verdict`; read by helpers and by who frees nodes.
template <template <class> class Atomic>
struct ListParticipant {
    // Not 0: nobody frees the blocks of `lists` and `changes`. The operation is its own, or one that it helps.
    alignas(64) Atomic<std::uint64_t> names;
    Atomic<std::uint64_t>
        made;  // table::made: a node or a head that may not be linked yet; nobody frees it
    Atomic<std::uint64_t> made_apart;  // address of the payload made for it
    Atomic<std::uint64_t> taken;       // a node or head that it takes out of use
    Atomic<std::uint64_t> retired;     // the last of the blocks out of use that it has not freed
    Atomic<std::uint64_t> retired_count;
    Atomic<std::uint64_t> retired_bytes;  // since it last looked at what others name
    Atomic<std::uint64_t> recoverer;      // who recovers it, plus 1

    // The operation, valid while the turn of its first list is busy with it.
    alignas(64) Atomic<std::uint64_t> number;  // of the operation
    Atomic<std::uint64_t> verdict;             // of an operation on two lists
    Atomic<std::uint64_t> change_count;
    std::array<Atomic<std::uint64_t>, lists_max> lists;  // in rising order; the second one may be 0
    std::array<Atomic<std::uint64_t>, lists_max> idles;  // what their turns were
    std::array<Change<Atomic>, changes_max> changes;
    Atomic<std::uint64_t> freeing;        // a block that it unlinks and frees (table/freeing.hpp)
    Atomic<std::uint64_t> freeing_apart;  // likewise a payload, by its address

    // Whether it shows nothing and holds nothing.
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

// The participants of a heap.
template <template <class> class Atomic>
struct ListParticipants {
    char* first = nullptr;
    std::uint32_t count = 0;

    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint32_t count) noexcept {
        return std::uint64_t{count} * sizeof(ListParticipant<Atomic>);
    }

    [[nodiscard]] ListParticipant<Atomic>& operator[](std::uint32_t number) const noexcept {
        return reinterpret_cast<ListParticipant<Atomic>*>(first)[number];
    }
};

}  // namespace acp::list
