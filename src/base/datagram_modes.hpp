// SPDX-License-Identifier: BSD-3-Clause
// How a job protects the datagrams between its nodes and controls their rate: the values of the
// variables, which datagram/ obeys. Knows nothing of how either is done. Values only.
#pragma once

#include <cstdint>

namespace acp::base {

// ACP_SECURITY=encrypt|auth|off. Gateways send each other these numbers (docs/spec/wire.md,
// Features): they never change.
enum class Security : std::uint8_t { encrypt, authenticate, off };

// ACP_CONGESTION=delay|cubic|newreno
enum class CongestionAlgorithm : std::uint8_t { delay, cubic, new_reno };

}  // namespace acp::base
