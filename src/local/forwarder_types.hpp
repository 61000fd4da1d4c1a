// SPDX-License-Identifier: BSD-3-Clause
// What the forwarder's parts say to one another: how a command ended, how an access to memory came out, and the limits
// that bound their work. Values only; no part is known here.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"

namespace acp::local {

inline constexpr std::uint32_t commands_in_flight_max =
    64;  // forwarded by one process to one other
inline constexpr std::uint32_t messages_per_turn_max = 64;
inline constexpr std::uint32_t pieces_per_turn_max = 16;         // of copies, to one receiver
inline constexpr std::uint64_t move_bytes_max = 1024ULL * 1024;  // moved in one go
inline constexpr std::uint32_t any_epoch = 0;  // of a process that outlives the ranks' epochs

// How a forwarded command ended.
struct ForwardedEnd {
    std::uint64_t token = 0;
    base::Code code = base::Code::ok;
    std::string message;      // when not ok; "" when there was no memory for it
    std::uint64_t value = 0;  // of submit_for_value(): the old one
};

// Which address of a command is to blame when an access is refused. A message of kind end carries it.
enum class Blame : std::uint8_t { nothing, target, source };

// How the access of a command to its memory came out.
struct AccessVerdict {
    base::Code code = base::Code::ok;
    Blame blame = Blame::nothing;
    std::uint64_t operand = 0;  // an atomic's old value; the dead process's slot with Code::peer

    [[nodiscard]] bool is_ok() const noexcept { return code == base::Code::ok; }
};

}  // namespace acp::local
