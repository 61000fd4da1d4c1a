// SPDX-License-Identifier: BSD-3-Clause
// The tokens of the agent's poll set: a rank's number, or one of these. Constants only.
#pragma once

#include <cstdint>

namespace acp::agent {

inline constexpr std::uint64_t token_command = 1ULL << 32U;
inline constexpr std::uint64_t token_signal = token_command + 1;
inline constexpr std::uint64_t token_stdout = token_command + 2;
inline constexpr std::uint64_t token_stderr = token_command + 3;
inline constexpr std::uint64_t token_terminal = token_command + 4;
inline constexpr std::uint64_t token_rank_0_input = token_command + 5;
inline constexpr std::uint64_t token_life = token_command + 6;
inline constexpr std::uint64_t token_file_request = token_command + 7;

}  // namespace acp::agent
