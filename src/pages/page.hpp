// SPDX-License-Identifier: BSD-3-Clause
// The unit of shared pages: 4 KiB in 64 lines of 64 bytes, and its number in the window of a job.
// Knows no address and no node. Constants; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace acp::pages {

inline constexpr std::size_t page_bytes = 4096;
inline constexpr std::size_t line_bytes = 64;
inline constexpr std::size_t page_lines = page_bytes / line_bytes;

static_assert(line_bytes == 64 && page_lines == 64, "masks of lines and of bytes are words");

// The place of a page in the window, the same on all nodes.
using PageNumber = std::uint64_t;

// The place of a node in the job.
using NodeNumber = std::uint32_t;

using PageView = std::span<const std::byte, page_bytes>;
using PageSpan = std::span<std::byte, page_bytes>;

}  // namespace acp::pages
