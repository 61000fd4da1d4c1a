// SPDX-License-Identifier: BSD-3-Clause
// System calls of the own kernel by their numbers, and the signals that they raise. Knows no call.
// Any thread; allocates nothing, and may be used in a signal handler.
#pragma once

#include <array>
#include <cstdint>

namespace acp::os {

// Returns what the kernel returns: the result, or a negative errno. errno is unchanged.
std::int64_t system_call(std::int64_t number, const std::array<std::uint64_t, 6>& words) noexcept;

// Takes a SIGPIPE or SIGXFSZ that is pending for the calling thread, which has blocked both. Returns
// the number of the signal; 0: none is pending. Does not block.
[[nodiscard]] int take_write_signal() noexcept;

// Sends a signal to the calling thread. errno is unchanged.
void send_signal_to_this_thread(int signal) noexcept;

}  // namespace acp::os
