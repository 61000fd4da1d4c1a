// SPDX-License-Identifier: BSD-3-Clause
// The limits of this process: memory of its cgroup and machine, and resource limits. Only reads.
// Any thread; each call reads files, so use them on control paths only.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>

namespace acp::os {

inline constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

struct MemoryLimits {
    // the tightest limit of the cgroup and its ancestors
    std::uint64_t cgroup_limit_bytes = unlimited;
    // used in that cgroup, without droppable file pages
    std::uint64_t cgroup_usage_bytes = 0;
    std::uint64_t machine_available_bytes = unlimited;  // MemAvailable + SwapFree

    // Memory that can still be allocated: the lesser of what the machine and the cgroup have left.
    [[nodiscard]] std::uint64_t available_bytes() const noexcept;
};

[[nodiscard]] MemoryLimits memory_limits();

struct ResourceLimits {
    std::uint64_t address_space_bytes = unlimited;  // RLIMIT_AS
    std::uint64_t data_bytes = unlimited;           // RLIMIT_DATA
    std::uint64_t file_bytes = unlimited;           // RLIMIT_FSIZE
    std::uint64_t locked_bytes = unlimited;         // RLIMIT_MEMLOCK
    std::uint64_t descriptors = unlimited;          // RLIMIT_NOFILE
    std::uint64_t processes = unlimited;            // RLIMIT_NPROC
};

// The soft limits.
[[nodiscard]] ResourceLimits resource_limits() noexcept;

using MemoryLimitText = std::array<char, 320>;

// The limits on this process's memory, for the end of a message about a failed allocation: ";
// private memory allowed (RLIMIT_DATA, ulimit -d): 1024000 bytes, of which 917504 are in use", in
// the same form RLIMIT_AS, and the cgroup's limit if neither is set; "" without any limit. Ends with a zero byte. Allocates
// nothing if RLIMIT_DATA or RLIMIT_AS is set.
[[nodiscard]] MemoryLimitText memory_limit_text() noexcept;

// "address space allowed (RLIMIT_AS, ulimit -v): 204800000 bytes, of which 61440000 are in use and 8388608 more are needed", for messages of
// a call that the limit may have refused; "unlimited" instead of the numbers without a limit.
//   needed_bytes  0: not known
[[nodiscard]] std::string address_space_text(std::uint64_t needed_bytes);

// "file size allowed (RLIMIT_FSIZE, ulimit -f): 102400 bytes", for messages of a call that failed with EFBIG.
[[nodiscard]] std::string file_size_limit_text();

}  // namespace acp::os
