// SPDX-License-Identifier: BSD-3-Clause
// Memory that all processes of a node have mapped, all of it in the node segment: which buffers lie there, and by what two processes name
// it to each other. A place, in bytes from the start of the segment, names any of it; a global address names starter memory, and what
// layers claim, of a process. Pure; any thread. Tests: tests/unit/local/shared_memory_test.cpp.
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

    // Whether a buffer lies there. One of no bytes may begin at the end.
    [[nodiscard]] bool has(const void* buffer, std::uint64_t buffer_bytes) const noexcept {
        return has_place(
            reinterpret_cast<std::uintptr_t>(buffer) - reinterpret_cast<std::uintptr_t>(start),
            buffer_bytes);
    }

    // Whether so many bytes from a place on do. Places that another process has written are asked for before they are used.
    [[nodiscard]] bool has_place(std::uint64_t place, std::uint64_t buffer_bytes) const noexcept {
        return memory::is_within(place, bytes, buffer_bytes);
    }

    // Of what lies there.
    [[nodiscard]] std::uint64_t place_of(const void* it) const noexcept {
        return static_cast<std::uint64_t>(static_cast<const char*>(it) - start);
    }

    [[nodiscard]] char* at(std::uint64_t place) const noexcept { return start + place; }
};

// All of it.
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
    return {segment.claimed(slot, node::Claim::heap_blocks), segment.shape().heap_bytes};
}

// The global address of starter memory of the caller, or of what lies in its heap; 0: it is other memory.
[[nodiscard]] inline GlobalAddress shared_address(const Space& space,
                                                  const char* memory,
                                                  std::uint64_t bytes) noexcept {
    const SharedRange starter = starter_memory(space.segment(), space.slot());
    if (starter.has(memory, bytes))
        return space.starter_address(space.process()) + starter.place_of(memory);
    const SharedRange heap = heap_memory(space.segment(), space.slot());
    if (!heap.has(memory, bytes)) return 0;
    return space.claimed_address(space.process(), node::Claim::heap_blocks) + heap.place_of(memory);
}

// Where memory of a process of this node lies here.
//   address  in its starter memory, or in what layers claim
[[nodiscard]] inline char* shared_pointer(const Space& space,
                                          std::uint32_t process,
                                          GlobalAddress address) noexcept {
    const node::Segment& segment = space.segment();
    const std::uint32_t slot = space.slot_of(process);
    const std::uint64_t in_starter = address - space.starter_address(process);
    if (in_starter < segment.shape().starter_bytes) return segment.starter(slot) + in_starter;
    return segment.claimed(slot) +
           (address - space.claimed_address(process, static_cast<node::Claim>(0)));
}

}  // namespace acp::local
