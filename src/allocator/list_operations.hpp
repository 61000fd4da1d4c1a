// SPDX-License-Identifier: BSD-3-Clause
// The lists of a process's heap as numbered operations, for callers of other nodes: the bytes of
// their arguments and results. Elements that do not fit into one operation have separate payload
// blocks; if such a block is on another node than the list, the caller reads it itself. Any thread;
// see local/numbered_operation.hpp.
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

// The most bytes of an element that are stored in its node.
inline constexpr std::uint32_t list_inline_max = 960;

// make: its argument is the process of the caller, a uint64, or NodeHeap::nobody: see
// list::SharedLists::make. Its result is the address of the list, by which all other operations
// name it; 0: there is no room. destroy: its argument is the address of a list. Errors, here and in
// all operations below: stale (no list is there, or it was destroyed).

// insert: the element's bytes follow, or an ApartPayload if they are in a separate block. Its
// result is a ListPlaced.
struct ListInsert {
    std::uint64_t list = 0;
    list::Position before;       // list::Position; node 0 stands for the end in all operations here
    std::uint32_t is_front = 0;  // 1: before the first element, wherever `before` is
    std::uint32_t is_apart = 0;  // 0 or 1
    // The process to which the separate block is on loan: it is in the list's heap, and belongs to
    // the list once the insertion is done.
    std::uint64_t lent_to = NodeHeap::nobody;
};

struct ListPlaced {
    list::ListEffect effect = list::ListEffect::done;
    std::array<std::uint8_t, 7> reserved{};
    list::Position at;
};

// take: its result is a ListTaken, then the element's first bytes, up to the number requested.
enum class TakeWhich : std::uint64_t { at, first, last };

struct ListTake {
    std::uint64_t list = 0;
    list::Position at;
    TakeWhich which = TakeWhich::at;
    std::uint64_t room_bytes = 0;
    std::uint64_t process = NodeHeap::nobody;  // the caller's
};

struct ListTaken {
    list::ListEffect effect = list::ListEffect::done;
    std::array<std::uint8_t, 7> reserved{};
    std::uint64_t bytes = 0;  // length of the whole element
    // Not 0: the address of a separate block with the bytes, which do not follow. The caller reads
    // them, if it wants them, and frees or returns the block.
    std::uint64_t apart = 0;
    std::uint64_t lent_to = NodeHeap::nobody;  // the caller, if the block is on loan to it
    list::Position next;                       // the position that followed it
};

// move: both lists are of the process. Its result is a ListPlaced with the element's new position.
struct ListMove {
    std::uint64_t to = 0;
    list::Position before;
    std::uint64_t from = 0;
    list::Position element;
};

// range: elements behind a position, one after the other. Its result is a ListRangeHead and a
// ListRecord for each, with its first bytes, up to the number requested and a multiple of 8, unless
// they are in a separate block.
struct ListRange {
    std::uint64_t list = 0;
    list::Position from;
    std::uint32_t is_backward = 0;
    std::uint32_t count_max = 1;   // 1 or more
    std::uint32_t room_bytes = 0;  // bytes wanted of each element
    std::uint32_t reserved = 0;
};

struct ListRangeHead {
    list::ListEffect effect = list::ListEffect::
        done;  // result of the last step: not done if an element was taken out since
    std::array<std::uint8_t, 3> reserved{};
    std::uint32_t count = 0;
    std::uint64_t is_end = 0;  // 1: the end follows the last element returned
};

struct ListRecord {
    list::Position at;
    std::uint64_t bytes = 0;  // length of the whole element
    std::uint64_t apart = 0;  // not 0: address of a separate block with the bytes
};

// read: its result is a ListRead, then the element's first bytes, up to the number requested and to
// the room.
struct ListReading {
    std::uint64_t list = 0;
    list::Position at;
    std::uint64_t room_bytes = 0;
};

struct ListRead {
    list::ListEffect effect = list::ListEffect::done;
    std::array<std::uint8_t, 7> reserved{};
    std::uint64_t bytes = 0;   // length of the whole element
    std::uint64_t place = 0;   // apart_address() of the block with the bytes
    std::uint64_t offset = 0;  // offset of the bytes in it
    std::uint64_t is_whole = 0;
};

// size: its argument is the address of a list, its result a uint64.

// gather: moves elements to the end of a list, one after the other, from it and from others of the
// process. ListMember for each, 1 to list_members_max. Its result is a uint64: how many were moved;
// elements that were taken out since are skipped.
struct ListMember {
    std::uint64_t list = 0;
    list::Position at;
};

inline constexpr std::uint32_t list_members_max = 40;

// erase: the address of a list, and a list::Position for each, 1 to list_members_max. clear: a
// ListClear; takes the first ones. destroy: the address of a list; takes the first list_members_max
// elements, or fewer and then the list itself. The result of all three is a ListErased, and then the
// addresses of blocks that the caller must free.
struct ListClear {
    std::uint64_t list = 0;
    std::uint64_t count_max = 0;  // limit: list_members_max
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

// Takes an element out, and copies its first bytes; for a caller that has the heap mapped.
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
