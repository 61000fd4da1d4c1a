// SPDX-License-Identifier: BSD-3-Clause
// The lists of a process's heap as numbered operations, for callers of other nodes: what they ask for and are told, as bytes. Elements
// whose bytes do not fit into one operation lie apart, and reading those is the caller's business where they are on another node than
// the list. Any thread; as local/numbered_operation.hpp says.
// Tests: tests/unit/allocator/list_operations_test.cpp.
#pragma once

#include <array>
#include <cstdint>

#include "local/numbered_operation.hpp"

#include "allocator/node_lists.hpp"
#include "list/lists.hpp"

namespace acp::allocator {

inline constexpr std::uint32_t list_make_number = 30;
inline constexpr std::uint32_t list_destroy_number = 31;
inline constexpr std::uint32_t list_insert_number = 32;
inline constexpr std::uint32_t list_take_number = 33;
inline constexpr std::uint32_t list_move_number = 34;
inline constexpr std::uint32_t list_range_number = 35;
inline constexpr std::uint32_t list_read_number = 36;
inline constexpr std::uint32_t list_size_number = 37;
inline constexpr std::uint32_t list_gather_number = 38;
inline constexpr std::uint32_t list_erase_number = 39;
inline constexpr std::uint32_t list_clear_number = 40;

// The most bytes of an element that stand in its node.
inline constexpr std::uint32_t list_inline_max = 960;

// make: its argument is the process of the caller, a uint64, or NodeHeap::nobody: as list::SharedLists::make. Its result is the address
// of the list, by which all others name it; 0: there is no room.
// destroy: its argument is the address of a list. Errors, as of all that follows: stale (no list is there, or it was destroyed).

// insert: the element's bytes follow, those of an ApartPayload where they are apart. Its result is a ListPlaced.
struct ListInsert {
    std::uint64_t list = 0;
    list::Position before;  // as list::Position; a node of 0 stands for the end, as everywhere here
    std::uint32_t is_front = 0;  // 1: before the first element, wherever `before` is
    std::uint32_t is_apart = 0;  // 0 or 1
    // To whom the block of the apart bytes is lent, which is in the list's heap then and the list's once this is done.
    std::uint64_t lent_to = NodeHeap::nobody;
};

struct ListPlaced {
    list::ListEffect effect = list::ListEffect::done;
    std::array<std::uint8_t, 7> reserved{};
    list::Position at;
};

// take: its result is a ListTaken, then the element's first bytes, as many as are asked for.
enum class TakeWhich : std::uint64_t { at, first, last };

struct ListTake {
    std::uint64_t list = 0;
    list::Position at;
    TakeWhich which = TakeWhich::at;
    std::uint64_t room_bytes = 0;
    std::uint64_t process = NodeHeap::nobody;  // of the caller
};

struct ListTaken {
    list::ListEffect effect = list::ListEffect::done;
    std::array<std::uint8_t, 7> reserved{};
    std::uint64_t bytes = 0;  // of the whole element
    // Not 0: the bytes are apart and do not follow. The caller reads them, if it wants them, and frees their block, or gives it back.
    std::uint64_t apart = 0;
    std::uint64_t lent_to = NodeHeap::nobody;  // the caller: the block is lent to it
    list::Position next;                       // what followed it
};

// move: both lists are of the process. Its result is a ListPlaced: where the element is now.
struct ListMove {
    std::uint64_t to = 0;
    list::Position before;
    std::uint64_t from = 0;
    list::Position element;
};

// range: elements behind a position, one after the other. Its result is a ListRangeHead and a ListRecord for each, with its first bytes,
// as many as are asked for and a multiple of 8 of them, unless they are apart.
struct ListRange {
    std::uint64_t list = 0;
    list::Position from;
    std::uint32_t is_backward = 0;
    std::uint32_t count_max = 1;   // at least 1
    std::uint32_t room_bytes = 0;  // of each element
    std::uint32_t reserved = 0;
};

struct ListRangeHead {
    list::ListEffect effect = list::ListEffect::
        done;  // of the last step: not done, where an element was taken out meanwhile
    std::array<std::uint8_t, 3> reserved{};
    std::uint32_t count = 0;
    std::uint64_t is_end = 0;  // 1: the end follows the last element that is told
};

struct ListRecord {
    list::Position at;
    std::uint64_t bytes = 0;  // of the whole element
    std::uint64_t apart = 0;  // not 0: the bytes are there
};

// read: its result is a ListRead, then the element's first bytes, as many as are asked for and there is room for.
struct ListReading {
    std::uint64_t list = 0;
    list::Position at;
    std::uint64_t room_bytes = 0;
};

struct ListRead {
    list::ListEffect effect = list::ListEffect::done;
    std::array<std::uint8_t, 7> reserved{};
    std::uint64_t bytes = 0;   // of the whole element
    std::uint64_t place = 0;   // apart_address() of the block in which the bytes are
    std::uint64_t offset = 0;  // where in it
    std::uint64_t is_whole = 0;
};

// size: its argument is the address of a list, its result a uint64.

// gather: moves elements to the end of a list, one after the other, from it and from others of the process. ListMember for each, 1 to
// list_members_max. Its result is a uint64: how many were moved; those that were taken out meanwhile are passed over.
struct ListMember {
    std::uint64_t list = 0;
    list::Position at;
};

inline constexpr std::uint32_t list_members_max = 40;

// erase: the address of a list, and a list::Position for each, 1 to list_members_max. clear: a ListClear; takes the first ones.
// The result of both is a ListErased, and then the addresses of blocks that the caller is to free.
struct ListClear {
    std::uint64_t list = 0;
    std::uint64_t count_max = 0;  // at most list_members_max
};

struct ListErased {
    std::uint64_t erased = 0;
    std::uint64_t left = 0;
};

inline constexpr std::uint32_t list_operation_count = 11;

// The rows of this layer.
[[nodiscard]] const std::array<local::NumberedOperation, list_operation_count>&
list_operations() noexcept;

// The list at an address in the heap of a process of this node; 0: none can begin there.
[[nodiscard]] list::BlockNumber list_at(const local::Space& space,
                                        std::uint32_t process,
                                        memory::GlobalAddress address) noexcept;

// Takes an element out, and copies its first bytes; for who has the heap mapped.
[[nodiscard]] ListTaken take_element(NodeLists& lists,
                                     list::BlockNumber list,
                                     const ListTake& request,
                                     std::byte* to,
                                     std::uint64_t room_bytes);

// Reads the first bytes of an element.
[[nodiscard]] ListRead read_element(NodeLists& lists,
                                    list::BlockNumber list,
                                    const list::Position& at,
                                    std::byte* to,
                                    std::uint64_t room_bytes);

}  // namespace acp::allocator
