// SPDX-License-Identifier: BSD-3-Clause
// The translation table: for every process of a node one row of granules_per_process entries in the node
// segment, by slot, written by the row's owner, read by all processes of the node without waiting for anybody. An entry
// is immutable while live; `bytes` is its publication word, stored last and cleared first. What protects a
// reader inside the memory is the hazard (memory/hazard.hpp), not the table. Knows no process and no
// mapping: `base` is relative to the reader's mapping of the node segment for shared segments.
// Tests: a_wild_address_is_refused, a_stale_address_is_refused, one_past_the_end_is_refused,
// sizes_that_wrap_are_refused, spans_granules.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "memory/ga_layout.hpp"

namespace acp::memory {

// What memory a segment is, and so who can reach it. Memory of a device would be a kind of its own.
enum class MemoryKind : std::uint64_t {
    private_pages,  // of the owner's process; others reach it through the kernel, or the owner
    shared,         // in the node segment, which every process of the node has mapped
    hidden  // pages that the kernel hands to no other process (memfd_secret): only the owner reaches them
};

// One granule of one segment. Writer: the process that owns the row. Readers: every process of the node.
// A zero entry is free.
struct alignas(64) TableEntry {
    std::atomic<std::uint64_t>
        direct_bytes;                  // size when loads and stores reach it here, else 0; release
    std::atomic<std::uint64_t> start;  // address of the segment's byte 0, colour 0
    std::atomic<std::uint64_t>
        base;  // its byte 0, relative to the node segment's mapping (may wrap)
    std::atomic<std::uint64_t> bytes;          // size of the segment, 0 = free or dead; release
    std::atomic<std::uint64_t> owner_address;  // its byte 0 in the owner's address space
    std::atomic<MemoryKind> kind;
    std::atomic<std::uint64_t>
        device;  // which one of the node, of memory of a device; 0 of all other memory
};

static_assert(sizeof(TableEntry) == 64 && std::is_standard_layout_v<TableEntry>);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Whether an access lies inside a segment: one check for bounds, process, granule and generation at once, for an
// address of another generation is far off.   offset  the colourless address minus the segment's start
// Written so that nothing wraps: never offset + access_bytes.
[[nodiscard]] inline bool is_within(std::uint64_t offset,
                                    std::uint64_t segment_bytes,
                                    std::uint64_t access_bytes) noexcept {
    return access_bytes <= segment_bytes && offset <= segment_bytes - access_bytes;
}

}  // namespace acp::memory
