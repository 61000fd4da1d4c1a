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

HeapSize heap_size_for(const base::Config& config,
                       std::uint32_t procs,
                       std::uint32_t machine_procs,
                       const HeapRoom& room) {
    if (config.heap_bytes != base::heap_automatic) {
        return {(config.heap_bytes + heap_step_bytes - 1) / heap_step_bytes * heap_step_bytes,
                HeapBound::configured};
    }
    HeapSize size{std::min(addressable_bytes(procs), heap_bytes_max), HeapBound::addresses};
    // Each process of a node maps all its heaps.
    const auto bound_by = [&](std::uint64_t shared, HeapBound bound) {
        if (shared / machine_procs < size.bytes) size = {shared / machine_procs, bound};
    };
    bound_by(room.memory_bytes / 2, HeapBound::memory);
    bound_by(room.address_space_bytes / 4, HeapBound::address_space);
    bound_by(room.file_bytes / 2, HeapBound::file_size);
    size.bytes = size.bytes / heap_step_bytes * heap_step_bytes;
    return size;
}

std::string text_of(HeapBound bound) {
    switch (bound) {
        case HeapBound::configured:
            return "ACP_HEAP_SIZE or acprun --heap-size has set their size";
        case HeapBound::memory:
            return "the memory that was free when the job started decided their size: free some, "
                   "or set it by ACP_HEAP_SIZE or acprun --heap-size";
        case HeapBound::address_space:
            return "the limit on address space (RLIMIT_AS, ulimit -v) under which the job started "
                   "decided their size: raise it";
        case HeapBound::file_size:
            return "the limit on the size of files (RLIMIT_FSIZE, ulimit -f) under which the job "
                   "started decided their size: raise it";
        case HeapBound::addresses:
            return "they have the largest size for this number of ranks";
    }
    return "";
}

}  // namespace acp::node
