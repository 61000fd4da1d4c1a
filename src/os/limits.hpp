// SPDX-License-Identifier: BSD-3-Clause
// What the system grants this process: memory by cgroup and machine, and resource limits. Only reads;
// knows nothing of what is needed. Any thread; each question reads files, for control paths.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace acp::os {

inline constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

struct MemoryLimits {
    std::uint64_t cgroup_limit_bytes = unlimited;  // the tightest of the cgroup and its ancestors
    std::uint64_t cgroup_usage_bytes = 0;          // of that cgroup, without droppable file pages
    std::uint64_t machine_available_bytes = unlimited;  // MemAvailable + SwapFree

    // What can still be had: the lesser of the machine's and the cgroup's rest.
    [[nodiscard]] std::uint64_t available_bytes() const noexcept;
};

[[nodiscard]] MemoryLimits memory_limits();

struct ResourceLimits {
    std::uint64_t address_space_bytes = unlimited;  // RLIMIT_AS
    std::uint64_t data_bytes = unlimited;           // RLIMIT_DATA
    std::uint64_t file_bytes = unlimited;           // RLIMIT_FSIZE
    std::uint64_t descriptors = unlimited;          // RLIMIT_NOFILE
    std::uint64_t processes = unlimited;            // RLIMIT_NPROC
};

// The soft limits.
[[nodiscard]] ResourceLimits resource_limits() noexcept;

using MemoryLimitText = std::array<char, 256>;

// What bounds the memory of this process, for the end of a message that tells of refused memory: "; private memory allowed
// (RLIMIT_DATA, ulimit -d): 1024000 bytes", the like of RLIMIT_AS, and where neither is set the cgroup's limit; "" where
// nothing is. Ends with a zero byte. Allocates nothing where RLIMIT_DATA or RLIMIT_AS is set.
[[nodiscard]] MemoryLimitText memory_limit_text() noexcept;

}  // namespace acp::os
