// SPDX-License-Identifier: BSD-3-Clause
// Whether a descriptor is a terminal, and how wide it is. Knows no colours. Any thread.
#pragma once

#include <cstddef>

namespace acp::os {

[[nodiscard]] bool is_terminal(int fd) noexcept;

// Columns of the terminal behind fd; 0 when there is none or it does not report them.
[[nodiscard]] std::size_t terminal_columns(int fd) noexcept;

}  // namespace acp::os
