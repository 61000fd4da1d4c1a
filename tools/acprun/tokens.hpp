// SPDX-License-Identifier: BSD-3-Clause
// The tokens of acprun's poll set: a node's number, or one of these. Constants only.
#pragma once

#include <cstdint>

namespace acp::run {

inline constexpr std::uint64_t token_signal = 1ULL << 32U;
inline constexpr std::uint64_t token_output = token_signal + 1;

}  // namespace acp::run
