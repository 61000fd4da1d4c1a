// SPDX-License-Identifier: BSD-3-Clause
// Which errors of a UDP send may be left over from an earlier datagram. The kernel keeps what an ICMP message told it
// in a connected socket, whoever sent that message, and reports it instead of sending the next datagram; that one was
// not tried and can be sent again at once. Knows no socket. Pure; any thread. Tests:
// tests/unit/base/left_over_error_test.cpp.
#pragma once

namespace acp::base {

// How often a call is repeated that fails for such a reason, before the reason is taken for its own: a forger may
// have another message ready, but not eight within the microseconds that eight calls take.
inline constexpr int left_over_tries_max = 8;

// False for what tells of this very call: no room, a bad argument, a bad descriptor.
[[nodiscard]] bool may_be_left_over(int error) noexcept;

}  // namespace acp::base
