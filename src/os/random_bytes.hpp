// SPDX-License-Identifier: BSD-3-Clause
// Random bytes from the kernel, fit for keys. Knows nothing of what they are for. Any thread.
#pragma once

#include <cstddef>
#include <span>

namespace acp::os {

// From getrandom, or from /dev/urandom where a sandbox refuses that. Without either the process ends by SIGABRT, after it
// said so: nothing may go on with keys that can be guessed. Blocks only while the machine has gathered no randomness yet, early in its start.
void fill_random(std::span<std::byte> out) noexcept;

}  // namespace acp::os
