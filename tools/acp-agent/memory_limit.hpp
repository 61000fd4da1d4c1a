// SPDX-License-Identifier: BSD-3-Clause
// What bounds the agent's own memory, for messages that tell of too little. Knows nothing of what is needed. Any thread.
#pragma once

#include <string>

#include "base/format.hpp"
#include "os/limits.hpp"

namespace acp::agent {

// "; the address space of a process is limited to 30 MiB (ulimit -v)", "" where it is not.
inline std::string memory_limit_text() {
    const std::uint64_t limit = os::resource_limits().address_space_bytes;
    if (limit == os::unlimited) return "";
    return "; the address space of a process is limited to " + base::human_size(limit) +
           " (ulimit -v)";
}

}  // namespace acp::agent
