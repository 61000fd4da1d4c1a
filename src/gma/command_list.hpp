// SPDX-License-Identifier: BSD-3-Clause
// Commands in the order in which they were put in, linked through their records, so that putting
// one in takes no memory. A command is in one list at most. Changed by CommandQueue alone
// (gma/command_queue.hpp), under its lock.
#pragma once

#include <cstdint>

namespace acp::gma {

struct CommandList {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t count = 0;
    bool is_run = true;  // each number is the one before plus 2: no link need be read

    [[nodiscard]] bool is_empty() const noexcept { return count == 0; }
};

}  // namespace acp::gma
