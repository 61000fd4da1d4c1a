// SPDX-License-Identifier: BSD-3-Clause
// How large the heap of each rank may become. The address space of the heap is reserved, and its memory taken as it is used; so the
// limit only has to keep the ranks of a machine from using up its memory together. All nodes of a job have the same one, for
// each computes the addresses of the others. Any thread.
// Tests: tests/unit/node/heap_limit_test.cpp.
#pragma once

#include <cstdint>

#include "base/config.hpp"
#include "os/limits.hpp"

namespace acp::node {

inline constexpr std::uint64_t heap_bytes_max = 1ULL << 40;

// What the system grants, as far as it matters to heaps.
struct HeapRoom {
    std::uint64_t memory_bytes = 0;         // still free on the machine, or in the cgroup
    std::uint64_t address_space_bytes = 0;  // of a process; os::unlimited
    std::uint64_t file_bytes = 0;           // of the segment of a node; os::unlimited
};

// What this process is granted now.
[[nodiscard]] HeapRoom heap_room();

// What the configuration says, rounded up to whole areas; or else half of the machine's free memory, divided among its
// processes, as far as the limits of the system and the address layout of the job have room for it.
//   procs          of the job: 1 or more
//   machine_procs  of those, on one machine at most
[[nodiscard]] std::uint64_t heap_bytes_for(const base::Config& config,
                                           std::uint32_t procs,
                                           std::uint32_t machine_procs,
                                           const HeapRoom& room = heap_room());

}  // namespace acp::node
