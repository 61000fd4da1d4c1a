// SPDX-License-Identifier: BSD-3-Clause
// Random bytes from the kernel, fit for keys. Any thread.
#pragma once

#include <cstddef>
#include <span>

namespace acp::os {

// Fills from getrandom, or from /dev/urandom where a sandbox refuses that. If both fail, prints the
// reason and ends the process by SIGABRT: the library must not continue with keys that can be
// guessed. Blocks only early after boot, while the machine has not gathered randomness yet.
void fill_random(std::span<std::byte> out) noexcept;

}  // namespace acp::os
