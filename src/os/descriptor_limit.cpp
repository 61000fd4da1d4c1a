// SPDX-License-Identifier: BSD-3-Clause
// Reads and sets RLIMIT_NOFILE.
#include "os/descriptor_limit.hpp"

#include <algorithm>
#include <sys/resource.h>

namespace acp::os {

DescriptorLimit raise_descriptor_limit(std::uint64_t wanted) noexcept {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
    const std::uint64_t before = limit.rlim_cur;
    if (before >= wanted) return {before, before};
    limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return {before, before};
    return {before, limit.rlim_cur};
}

}  // namespace acp::os
