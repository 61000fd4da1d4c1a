// SPDX-License-Identifier: BSD-3-Clause
// Memory that layers above keep for each process of a node in the node segment, beside the users'
// starter memory. A layer claims a range by one row of the table below. The range then has a place
// in the segment of every node (Segment::claimed), and a global address
// (local::Space::claimed_address) that every process of the job can use from the first meeting on.
// Its length may depend on the job's shape. Its pages are zero at the start of a job, are taken
// when they are first touched, and keep their content from one epoch to the next: the layer that
// claims a range initializes it, and alone defines its content. The node's gateway has a range too
// where the row says so, without an address.
// A range without an address is only for processes that have the segment mapped: for data that no
// command may write, and data whose size may differ between nodes.
// Tests: tests/unit/node/claims_test.cpp, tests/unit/local/space_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "heap/words.hpp"
#include "node/control.hpp"

#include "list/layout.hpp"
#include "sequence/layout.hpp"
#include "table/layout.hpp"

namespace acp::node {

enum class Claim : std::uint32_t {
    fetched_words,
    local_ends,
    heap_blocks,
    channel_map,
    world_board,
    pm_pools,
    heap_words,
    heap_users,
    list_users,
    sequence_users
};

inline constexpr std::uint64_t claim_alignment = 64;

// The most contexts of PM messages.
inline constexpr std::uint64_t pm_contexts = 16;

// Bytes of the board of a member of a team.
inline constexpr std::uint64_t world_board_bytes = std::uint64_t{258} * 1024;

struct ClaimedRange {
    std::string_view name;  // what the bytes hold, for acpinfo
    // Bytes per process in a job of this shape; 0: this job needs none.
    std::uint64_t (*bytes)(const Shape& shape);
    // alignment in the segment and of the address: a power of two, claim_alignment .. 4096
    std::uint64_t alignment = claim_alignment;
    bool has_gateway_one = false;
    bool has_address = true;  // then its size is the same on all nodes of a job
};

// The words of each heap of a node, which all its processes and the gateway use. Each process of
// the job may have several threads to which the heap has loaned blocks.   heap_bytes  not 0
[[nodiscard]] constexpr heap::WordsLayout heap_words(const Shape& shape) noexcept {
    return {static_cast<std::uint32_t>(shape.heap_bytes / heap::area_bytes), slots_of(shape),
            64 + 2 * shape.procs};
}

// The participants of a heap's tables, of its lists, and of its vectors and deques: one for each of
// its thread caches.
[[nodiscard]] constexpr std::uint32_t heap_users(const Shape& shape) noexcept {
    return slots_of(shape) * heap::caches_per_process;
}

// In the order of Claim; ranges that the gateway has too come first, ranges without an address
// last.
inline constexpr std::array<ClaimedRange, 10> claimed_ranges{{
    {"old values of acp_fetch_...", [](const Shape&) -> std::uint64_t { return 4096; }},
    {"bytes of acp_put and acp_get on their way",
     [](const Shape&) -> std::uint64_t { return 64 * 256 + 32 * 4096; }},
    {.name = "blocks of acp_malloc",
     .bytes = [](const Shape& shape) -> std::uint64_t { return shape.heap_bytes; },
     .alignment = 4096},
    {"where channels find their partners (message/pairing.hpp)",
     [](const Shape&) -> std::uint64_t { return claim_alignment; }},
    {"what the team of all ranks shows its members (team/board.hpp)",
     [](const Shape& shape) -> std::uint64_t { return shape.procs == 1 ? 0 : world_board_bytes; }},
    {"where contexts of PM messages have their pools (pm/context.hpp)",
     [](const Shape&) -> std::uint64_t { return pm_contexts * sizeof(std::uint64_t); }},
    {.name = "words of the heap (allocator/node_heap.hpp)",
     .bytes = [](const Shape& shape) -> std::uint64_t {
         return shape.heap_bytes == 0 ? 0 : heap_words(shape).bytes();
     },
     .alignment = 4096,
     .has_address = false},
    {.name = "who uses the tables of the heap (table/layout.hpp)",
     .bytes = [](const Shape& shape) -> std::uint64_t {
         return shape.heap_bytes == 0 ? 0
                                      : heap_users(shape) * sizeof(table::Participant<std::atomic>);
     },
     .alignment = 4096,
     .has_address = false},
    {.name = "who uses the lists of the heap (list/layout.hpp)",
     .bytes = [](const Shape& shape) -> std::uint64_t {
         return shape.heap_bytes == 0
                    ? 0
                    : heap_users(shape) * sizeof(list::ListParticipant<std::atomic>);
     },
     .alignment = 4096,
     .has_address = false},
    {.name = "who uses the vectors and deques of the heap (sequence/layout.hpp)",
     .bytes = [](const Shape& shape) -> std::uint64_t {
         return shape.heap_bytes == 0
                    ? 0
                    : heap_users(shape) * sizeof(sequence::SequenceUser<std::atomic>);
     },
     .alignment = 4096,
     .has_address = false},
}};

namespace detail {

[[nodiscard]] constexpr std::uint64_t claims_end(const Shape& shape, std::uint32_t count) noexcept {
    std::uint64_t end = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint64_t alignment = claimed_ranges[i].alignment;
        end = (end + alignment - 1) / alignment * alignment + claimed_ranges[i].bytes(shape);
    }
    return end;
}

}  // namespace detail

[[nodiscard]] constexpr std::uint64_t claim_bytes(Claim claim, const Shape& shape) noexcept {
    return claimed_ranges[static_cast<std::uint32_t>(claim)].bytes(shape);
}

// The offset of a range in the memory claimed for a process.
[[nodiscard]] constexpr std::uint64_t claim_offset(Claim claim, const Shape& shape) noexcept {
    return detail::claims_end(shape, static_cast<std::uint32_t>(claim) + 1) -
           claim_bytes(claim, shape);
}

// The bytes of all ranges of one process.
[[nodiscard]] constexpr std::uint64_t claimed_bytes(const Shape& shape) noexcept {
    return detail::claims_end(shape, claimed_ranges.size());
}

// The bytes of the ranges that have an address.
[[nodiscard]] constexpr std::uint64_t addressed_bytes(const Shape& shape) noexcept {
    std::uint32_t count = 0;
    while (count < claimed_ranges.size() && claimed_ranges[count].has_address) ++count;
    return detail::claims_end(shape, count);
}

// The bytes of all ranges of the gateway.
[[nodiscard]] constexpr std::uint64_t gateway_claimed_bytes(const Shape& shape) noexcept {
    std::uint32_t count = 0;
    while (count < claimed_ranges.size() && claimed_ranges[count].has_gateway_one) ++count;
    return detail::claims_end(shape, count);
}

}  // namespace acp::node
