// SPDX-License-Identifier: BSD-3-Clause
// The size limit of each rank's heap. A heap's address space is reserved, and its memory taken as
// it is used; so the limit only keeps the ranks of a machine from exhausting its memory together.
// All nodes of a job have the same limit, because each computes addresses in the heaps of the
// others. Any thread.
// Tests: tests/unit/node/heap_limit_test.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "base/config.hpp"
#include "node/control.hpp"
#include "os/limits.hpp"

namespace acp::node {

inline constexpr std::uint64_t heap_bytes_max = 1ULL << 40;
// The size of a heap is a multiple of this (heap::area_bytes).
inline constexpr std::uint64_t heap_step_bytes = std::uint64_t{1} << 20;

// Limits of the system that matter to heaps.
struct HeapRoom {
    std::uint64_t memory_bytes = 0;         // still free on the machine, or in the cgroup
    std::uint64_t address_space_bytes = 0;  // per process; os::unlimited
    std::uint64_t file_bytes = 0;           // the limit of a node's segment; os::unlimited
};

// The limits of this process now.
[[nodiscard]] HeapRoom heap_room();

// The size of each heap of a job, and what has decided it.
struct HeapSize {
    std::uint64_t bytes = 0;
    HeapBound bound = HeapBound::configured;
};

// The configured size, rounded up to whole areas; or else half of the machine's free memory,
// divided among its processes, within the limits of the system and of the job's address layout.
//   procs          of the job: 1 or more
//   machine_procs  the most of them on one machine
[[nodiscard]] HeapSize heap_size_for(const base::Config& config,
                                     std::uint32_t procs,
                                     std::uint32_t machine_procs,
                                     const HeapRoom& room = heap_room());

[[nodiscard]] inline std::uint64_t heap_bytes_for(const base::Config& config,
                                                  std::uint32_t procs,
                                                  std::uint32_t machine_procs,
                                                  const HeapRoom& room = heap_room()) {
    return heap_size_for(config, procs, machine_procs, room).bytes;
}

// What decided the size of a job's heaps, and the remedy, for messages about heaps that are too
// small: "the limit on the size of files (RLIMIT_FSIZE, ulimit -f) of acprun decided their size:
// raise it".
[[nodiscard]] std::string text_of(HeapBound bound);

}  // namespace acp::node
