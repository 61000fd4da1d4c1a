// SPDX-License-Identifier: BSD-3-Clause
// The values that the forwarder's parts exchange: how a command ended, how an access to memory ended, and the limits that bound
// their work. No part is known here.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"

namespace acp::local {

inline constexpr std::uint32_t commands_in_flight_max =
    64;  // forwarded by one process to one other
inline constexpr std::uint32_t messages_per_poll_max = 64;
inline constexpr std::uint32_t pieces_per_poll_max = 16;         // pieces of copies to one receiver
inline constexpr std::uint64_t move_bytes_max = 1024ULL * 1024;  // bytes moved in one go
// for a process (the gateway) that outlives the ranks' epochs
inline constexpr std::uint32_t any_epoch = 0;

// How a forwarded command ended.
struct ForwardedEnd {
    std::uint64_t token = 0;
    base::Code code = base::Code::ok;
    std::string message;      // set when not ok; "" if there was no memory for it
    std::uint64_t value = 0;  // the old value, for submit_for_value()
};

// Which address of a command is to blame for a refused access. A message of kind `end` carries it.
enum class Blame : std::uint8_t { nothing, target, source };

// The result of a command's access to memory.
struct AccessVerdict {
    base::Code code = base::Code::ok;
    Blame blame = Blame::nothing;
    std::uint64_t operand = 0;  // an atomic's old value; with Code::peer the dead process's slot

    [[nodiscard]] bool is_ok() const noexcept { return code == base::Code::ok; }
};

}  // namespace acp::local
