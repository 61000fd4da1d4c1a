// SPDX-License-Identifier: BSD-3-Clause
// How many descriptors this process may open, and raising it as far as the system lets it. Knows nothing
// of who needs them. Call from one thread.
#pragma once

#include <cstdint>

namespace acp::os {

struct DescriptorLimit {
    std::uint64_t before = 0;  // the soft limit found
    std::uint64_t now = 0;     // the soft limit in force
};

// Raises the soft RLIMIT_NOFILE to at least wanted, or as near as the hard limit lets it.
DescriptorLimit raise_descriptor_limit(std::uint64_t wanted) noexcept;

}  // namespace acp::os
