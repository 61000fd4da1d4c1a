// SPDX-License-Identifier: BSD-3-Clause
// The translation table: for every process of a node one row of granules_per_process entries in the
// node segment, by slot. The row's owner writes it; all processes of the node read it without
// waiting. An entry is immutable while live; `bytes` is its publication word, stored last and
// cleared first. The hazard line (memory/hazard.hpp), not the table, protects a reader while it
// uses the memory. Knows no process and no mapping: for shared segments `base` is relative to the
// reader's mapping of the node segment.
// Tests: a_wild_address_is_refused, a_stale_address_is_refused, one_past_the_end_is_refused,
// sizes_that_wrap_are_refused, spans_granules.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "memory/ga_layout.hpp"

namespace acp::memory {

// The kind of memory of a segment, which decides which processes can reach it, and how.
enum class MemoryKind : std::uint64_t {
    // private to the owner's process; other processes reach it through the kernel, or by a message
    // to the owner
    private_pages,
    shared,  // in the node segment, which every process of the node has mapped
    // pages to which the kernel gives no other process access (memfd_secret): only the owner
    // reaches them
    hidden,
    // memory of a device of the owner: no load or store reaches it, the owner's too; its address is
    // one of the device, and the owner has the device's engine copy
    device
};

// The number that an entry of the registers of a process's devices has in place of a device's:
// words whose atomics the owner carries out as requests (mailbox/device_host.hpp).
inline constexpr std::uint64_t device_registers = 0xffff;

// One granule of one segment. Writer: the process that owns the row. Readers: every process of the
// node. A zero entry is free.
struct alignas(64) TableEntry {
    // size if loads and stores reach the memory, else 0; stored with release
    std::atomic<std::uint64_t> direct_bytes;
    std::atomic<std::uint64_t> start;  // address of the segment's byte 0, colour 0
    // position of its byte 0 relative to the node segment's mapping (may wrap)
    std::atomic<std::uint64_t> base;
    // size of the segment, 0 = free or revoked; stored with release
    std::atomic<std::uint64_t> bytes;
    // address of its byte 0 in the owner's address space, or in the device's
    std::atomic<std::uint64_t> owner_address;
    std::atomic<MemoryKind> kind;
    // memory of a device: the number of the device in its process, or device_registers; else 0
    std::atomic<std::uint64_t> device;
};

static_assert(sizeof(TableEntry) == 64 && std::is_standard_layout_v<TableEntry>);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Whether an access lies inside a segment. One comparison checks bounds, process, granule and
// generation at once, since an address of another generation gives a far larger offset. No sum that
// could wrap is formed: never offset + access_bytes.
//   offset  the colourless address minus the segment's start
[[nodiscard, gnu::always_inline]] inline bool is_within(std::uint64_t offset,
                                                        std::uint64_t segment_bytes,
                                                        std::uint64_t access_bytes) noexcept {
    return access_bytes <= segment_bytes && offset <= segment_bytes - access_bytes;
}

}  // namespace acp::memory
