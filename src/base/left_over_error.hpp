// SPDX-License-Identifier: BSD-3-Clause
// Which errors of a UDP send may be left over from an earlier datagram. The kernel keeps the error of an ICMP message in a
// connected socket, whoever sent that message, and reports it instead of sending the next datagram; that datagram was not tried
// and can be sent again at once. Knows no socket. Pure; any thread. Tests: tests/unit/base/left_over_error_test.cpp.
#pragma once

namespace acp::base {

// How often a call that fails with such an error is repeated before the error is attributed to the call itself: a forger may
// have another ICMP message ready, but not eight within the microseconds that eight calls take.
inline constexpr int left_over_tries_max = 8;

// False for errors of the call itself: no room, a bad argument, a bad descriptor.
[[nodiscard]] bool may_be_left_over(int error) noexcept;

}  // namespace acp::base
