// SPDX-License-Identifier: BSD-3-Clause
// Sets RLIMIT_CORE.
#include "os/core_limit.hpp"

#include <algorithm>
#include <sys/resource.h>

namespace acp::os {

namespace {

// Less than a page, so no file is written; unlike 0, the kernel also honours 1 where core_pattern
// names a program.
constexpr rlim_t no_dump_bytes = 1;

}  // namespace

std::uint64_t forbid_core_dumps() noexcept {
    rlimit limit{};
    if (getrlimit(RLIMIT_CORE, &limit) != 0) return RLIM_INFINITY;
    const std::uint64_t before = limit.rlim_cur;
    limit.rlim_cur = std::min(no_dump_bytes, limit.rlim_max);
    setrlimit(RLIMIT_CORE, &limit);  // lower than the hard limit: cannot fail
    return before;
}

}  // namespace acp::os
