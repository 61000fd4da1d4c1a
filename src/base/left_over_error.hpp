// SPDX-License-Identifier: BSD-3-Clause
// Which errors of a UDP send may be left over from an earlier datagram. The kernel keeps the error
// of an ICMP message, which any host may have sent, in a connected socket and reports it instead of
// sending the next datagram; the kernel has not sent that datagram, and the caller can send it
// again at once. Knows no socket. Pure; any thread. Tests:
// tests/unit/base/left_over_error_test.cpp.
#pragma once

namespace acp::base {

// How often a call that fails with such an error is repeated before the error is attributed to the
// call itself: a forger may have another ICMP message ready, but not eight within the microseconds
// that eight calls take.
inline constexpr int left_over_tries_max = 8;

// False for errors of the call itself: no room, a bad argument, a bad descriptor.
[[nodiscard]] bool may_be_left_over(int error) noexcept;

}  // namespace acp::base
