// SPDX-License-Identifier: BSD-3-Clause
// What a descriptor is to a person: whether somebody looks at it, and how wide. Knows no colours. Any
// thread.
#pragma once

#include <cstddef>

namespace acp::os {

[[nodiscard]] bool is_terminal(int fd) noexcept;

// Columns of the terminal behind fd; 0 when there is none or it does not tell.
[[nodiscard]] std::size_t terminal_columns(int fd) noexcept;

}  // namespace acp::os
