// SPDX-License-Identifier: BSD-3-Clause
// How a process ended, as its node reports it to the other nodes (docs/spec/frames.md, WIRE-113).
// The values are for messages: a node that gets a wrong one shows a wrong text and does nothing
// else.
#pragma once

#include <cstdint>

namespace acp::base {

struct ProcessEnd {
    std::uint32_t wait_status = 0;  // waitpid's value, or a constant of node/death.hpp
    // its number in its own pid namespace, 1 .. process_number_max; 0: unknown
    std::uint32_t process_number = 0;
    // node::SlotState before its end, < states_at_end; dead: unknown
    std::uint8_t state = 3;

    static constexpr std::uint32_t process_number_max = 1U << 22U;  // the limit of 64-bit kernels
    static constexpr std::uint8_t states_at_end = 4;

    friend bool operator==(const ProcessEnd&, const ProcessEnd&) = default;
};

}  // namespace acp::base
