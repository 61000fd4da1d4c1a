// SPDX-License-Identifier: BSD-3-Clause
// The numbers that all parts of the protocol speak of: time, packet numbers, serial numbers of content. Knows no
// clock: time is told. Values; any thread.
#pragma once

#include <cstdint>

namespace acp::datagram {

using Time = std::uint64_t;  // nanoseconds, monotonic, from any origin
using PacketNumber =
    std::uint64_t;          // new for every transmission, one sequence per peer and direction
using Dsn = std::uint32_t;  // serial number of content, stable over retransmission; wraps around

inline constexpr Time never = ~0ULL;

}  // namespace acp::datagram
