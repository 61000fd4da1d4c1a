// SPDX-License-Identifier: BSD-3-Clause
// A command's name in a message, put together only when it is told. Knows the program that the command is of. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "sim/program.hpp"

namespace acp::sim {

struct CommandName {
    const Workplan* work;
    std::uint32_t process;  // whose command it is
    std::uint32_t index;    // in its program

    // "copy 3 of process 1 (64 B, process 1+0 to process 2+128)"
    [[nodiscard]] std::string text() const;
};

}  // namespace acp::sim
