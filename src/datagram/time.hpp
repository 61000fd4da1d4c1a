// SPDX-License-Identifier: BSD-3-Clause
// The number types that all parts of the protocol share: time, packet numbers, serial numbers of
// content. There is no clock: callers pass the time. Values; any thread.
#pragma once

#include <cstdint>

namespace acp::datagram {

using Time = std::uint64_t;  // nanoseconds from an arbitrary origin, monotonic
// One sequence per peer and direction; every transmission, also of content sent before, takes a new
// number.
using PacketNumber = std::uint64_t;
// Serial number of content (one datagram of frames): a retransmission keeps it. It wraps around at
// 2^32.
using Dsn = std::uint32_t;

inline constexpr Time never = ~0ULL;

}  // namespace acp::datagram
