// SPDX-License-Identifier: BSD-3-Clause
// Computes the least of several shares.
#include "node/heap_limit.hpp"

#include <algorithm>

#include "memory/ga_layout.hpp"

namespace acp::node {

namespace {

// An eighth of what a process can address at once: the rest is for other registrations.
std::uint64_t addressable_bytes(std::uint32_t procs) {
    return memory::GaLayout(procs).granule_bytes() * (memory::granules_per_process / 8);
}

}  // namespace

HeapRoom heap_room() {
    const os::ResourceLimits limits = os::resource_limits();
    return {os::memory_limits().available_bytes(), limits.address_space_bytes, limits.file_bytes};
}

std::uint64_t heap_bytes_for(const base::Config& config,
                             std::uint32_t procs,
                             std::uint32_t machine_procs,
                             const HeapRoom& room) {
    if (config.heap_bytes != base::heap_automatic) {
        return (config.heap_bytes + heap_step_bytes - 1) / heap_step_bytes * heap_step_bytes;
    }
    // Each process of a node maps all its heaps.
    const std::uint64_t shared =
        std::min({room.memory_bytes / 2, room.address_space_bytes / 4, room.file_bytes / 2});
    const std::uint64_t own =
        std::min({shared / machine_procs, addressable_bytes(procs), heap_bytes_max});
    return own / heap_step_bytes * heap_step_bytes;
}

}  // namespace acp::node
