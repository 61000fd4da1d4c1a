// SPDX-License-Identifier: BSD-3-Clause
// The name of a command for messages. The text is made only when it is needed. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "sim/program.hpp"

namespace acp::sim {

struct CommandName {
    const Workplan* work;
    std::uint32_t process;  // the process that issued it
    std::uint32_t index;    // its step in that process's program

    // "copy 3 of process 1 (64 B, process 1+0 to process 2+128)"
    [[nodiscard]] std::string text() const;
};

}  // namespace acp::sim
