// SPDX-License-Identifier: BSD-3-Clause
// How a job protects the datagrams between its nodes and chooses their rate: what variables ask for, and what datagram/
// obeys. Knows nothing of how either is done. Values; any thread.
#pragma once

#include <cstdint>

namespace acp::base {

// ACP_SECURITY=encrypt|auth|off. Gateways tell each other its number (docs/spec/wire.md, Features): it never changes.
enum class Security : std::uint8_t { encrypt, authenticate, off };

// ACP_CONGESTION=delay|cubic|newreno
enum class CongestionAlgorithm : std::uint8_t { delay, cubic, new_reno };

}  // namespace acp::base
