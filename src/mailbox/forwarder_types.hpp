// SPDX-License-Identifier: BSD-3-Clause
// The values that the forwarder's parts exchange: the completion of a command, the result of an
// access to memory, and the limits of their work. Knows none of the parts.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"

namespace acp::mailbox {

// most commands in flight from one process to another one
inline constexpr std::uint32_t commands_in_flight_max = 64;
inline constexpr std::uint32_t messages_per_poll_max = 64;
inline constexpr std::uint32_t pieces_per_poll_max = 16;         // pieces of copies to one receiver
inline constexpr std::uint64_t move_bytes_max = 1024ULL * 1024;  // bytes moved in one step
// the epoch of the gateway, a process that outlives the ranks' epochs
inline constexpr std::uint32_t any_epoch = 0;

// The completion of a forwarded command.
struct ForwardedEnd {
    std::uint64_t token = 0;
    base::Code code = base::Code::ok;
    std::string message;      // set when not ok; "" if there was no memory for it
    std::uint64_t value = 0;  // the old value, for submit_for_value()
};

// The address of a command that caused a refused access. A message of kind `end` carries it.
enum class Blame : std::uint8_t { nothing, target, source };

// The result of a command's access to memory.
struct AccessVerdict {
    base::Code code = base::Code::ok;
    Blame blame = Blame::nothing;
    std::uint64_t operand = 0;  // an atomic's old value; with Code::peer the dead process's slot

    [[nodiscard]] bool is_ok() const noexcept { return code == base::Code::ok; }
};

}  // namespace acp::mailbox
