// SPDX-License-Identifier: BSD-3-Clause
// The number of descriptors that this process may open, raised as far as the system allows. Call
// from one thread.
#pragma once

#include <cstdint>

namespace acp::os {

struct DescriptorLimit {
    std::uint64_t before = 0;  // the soft limit before the call
    std::uint64_t now = 0;     // the soft limit in force
};

// Raises the soft RLIMIT_NOFILE to at least `wanted`, or as near as the hard limit allows.
DescriptorLimit raise_descriptor_limit(std::uint64_t wanted) noexcept;

}  // namespace acp::os
