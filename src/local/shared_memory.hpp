// SPDX-License-Identifier: BSD-3-Clause
// Memory that all processes of a node have mapped, which is the node segment: whether a buffer lies
// there, and the names of this memory that mean the same in two processes. A place, in bytes from
// the start of the segment, names any of it; a global address names starter memory of a process,
// and ranges that layers claim. Pure; any thread.
// Tests: tests/unit/local/shared_memory_test.cpp.
#pragma once

#include <cstdint>

#include "local/space.hpp"
#include "memory/address_table.hpp"
#include "node/segment.hpp"

namespace acp::local {

// A range of memory as this process has it mapped.
struct SharedRange {
    char* start = nullptr;
    std::uint64_t bytes = 0;

    // Whether a buffer lies in the range. An empty buffer may begin at its end.
    [[nodiscard]] bool has(const void* buffer, std::uint64_t buffer_bytes) const noexcept {
        return has_place(
            reinterpret_cast<std::uintptr_t>(buffer) - reinterpret_cast<std::uintptr_t>(start),
            buffer_bytes);
    }

    // Whether `buffer_bytes` bytes from a place on lie in the range. Call before using a place that
    // another process has written.
    [[nodiscard]] bool has_place(std::uint64_t place, std::uint64_t buffer_bytes) const noexcept {
        return memory::is_within(place, bytes, buffer_bytes);
    }

    // The place of a byte of the range.
    [[nodiscard]] std::uint64_t place_of(const void* it) const noexcept {
        return static_cast<std::uint64_t>(static_cast<const char*>(it) - start);
    }

    [[nodiscard]] char* at(std::uint64_t place) const noexcept { return start + place; }
};

// The whole node segment.
[[nodiscard]] inline SharedRange node_memory(const node::Segment& segment) noexcept {
    return {segment.base(), segment.layout().total};
}

[[nodiscard]] inline SharedRange starter_memory(const node::Segment& segment,
                                                std::uint32_t slot) noexcept {
    return {segment.starter(slot), segment.shape().starter_bytes};
}

// The blocks of the heap of a process.
[[nodiscard]] inline SharedRange heap_memory(const node::Segment& segment,
                                             std::uint32_t slot) noexcept {
    return {segment.claimed(slot, node::heap_blocks), segment.shape().heap_bytes};
}

// The global address of a buffer in the caller's starter memory or heap; 0: it is other memory.
[[nodiscard]] inline GlobalAddress shared_address(const Space& space,
                                                  const char* memory,
                                                  std::uint64_t bytes) noexcept {
    const SharedRange starter = starter_memory(space.segment(), space.slot());
    if (starter.has(memory, bytes))
        return space.starter_address(space.process()) + starter.place_of(memory);
    const SharedRange heap = heap_memory(space.segment(), space.slot());
    if (!heap.has(memory, bytes)) return 0;
    return space.claimed_address(space.process(), node::heap_blocks) + heap.place_of(memory);
}

// The pointer by which this process reaches memory of a process of this node.
//   address  in its starter memory, or in a range that a layer claims
[[nodiscard]] inline char* shared_pointer(const Space& space,
                                          std::uint32_t process,
                                          GlobalAddress address) noexcept {
    const node::Segment& segment = space.segment();
    const std::uint32_t slot = space.slot_of(process);
    const std::uint64_t in_starter = address - space.starter_address(process);
    if (in_starter < segment.shape().starter_bytes) return segment.starter(slot) + in_starter;
    return segment.claimed(slot) + (address - space.claimed_start(process));
}

}  // namespace acp::local
