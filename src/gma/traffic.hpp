// SPDX-License-Identifier: BSD-3-Clause
// Counts the commands of a process and their bytes by path.
#pragma once

#include <cstdint>

namespace acp::gma {

// Bytes and commands by path since the epoch began, for the report.
struct Traffic {
    std::uint64_t direct_commands = 0;
    std::uint64_t direct_bytes = 0;
    std::uint64_t attach_commands = 0;
    std::uint64_t attach_bytes = 0;
    std::uint64_t forwarded_commands = 0;
    std::uint64_t forwarded_bytes = 0;
    std::uint64_t remote_commands = 0;
    std::uint64_t remote_bytes = 0;
};

}  // namespace acp::gma
