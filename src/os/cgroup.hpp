// SPDX-License-Identifier: BSD-3-Clause
// Finds where the limits of this process's cgroup can be read: v2, v1, or both at once, in a
// container or not. Knows only the two limits that ACP needs. Any thread; control paths only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace acp::os {

// A directory of the cgroup file system in which a controller's files may lie.
struct CgroupDirectory {
    std::string path;
    bool is_v2 = false;
};

// The directories that limit this process for a controller ("cpu", "memory"): its own cgroup first,
// then its ancestors up to the mount point. Empty when no cgroup file system is mounted.
[[nodiscard]] std::vector<CgroupDirectory> cgroup_directories(std::string_view controller);

// cgroup_directories() from given texts of /proc/self/cgroup and /proc/self/mountinfo.
[[nodiscard]] std::vector<CgroupDirectory> cgroup_directories_from(std::string_view controller,
                                                                   std::string_view cgroup,
                                                                   std::string_view mountinfo);

// The number of CPUs' worth of time that a directory grants: cpu.max, or cpu.cfs_quota_us over
// cpu.cfs_period_us. nullopt when it sets no limit.
[[nodiscard]] std::optional<double> cpu_quota_of(const CgroupDirectory& directory);

struct CgroupMemory {
    std::uint64_t limit_bytes;
    std::uint64_t usage_bytes;  // without file pages that the kernel drops when memory is short
};

// The memory limit that a directory sets, and how much of it is in use; nullopt when it sets none.
[[nodiscard]] std::optional<CgroupMemory> memory_limit_of(const CgroupDirectory& directory);

}  // namespace acp::os
