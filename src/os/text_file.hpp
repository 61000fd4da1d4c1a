// SPDX-License-Identifier: BSD-3-Clause
// Reads the small text files in which the kernel reports its state, and reads and writes files that
// a user names. Any thread; control paths only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace acp::os {

inline constexpr std::uint64_t named_file_bytes_max = 16ULL << 20U;

// Reads the whole file; nullopt when it cannot be opened or read.
[[nodiscard]] std::optional<std::string> read_text_file(const std::string& path);

// Reads a whole file that a user named. Errors: system (the message has the file and the kernel's
// reason), limit (it has more than bytes_max bytes).
base::Result<std::string> read_whole_file(const std::string& path,
                                          std::uint64_t bytes_max = named_file_bytes_max);

// Makes a file that a user named, or replaces its content. Errors: system.
base::Status write_whole_file(const std::string& path, std::string_view text);

// The number at the beginning of a text, after blanks; nullopt when there is none ("max") or it
// overflows.
[[nodiscard]] std::optional<std::uint64_t> leading_number(std::string_view text) noexcept;

// The number after the first line that begins with `key`: key "MemFree" in "MemFree:   12 kB", key
// "cache" in "cache 12". nullopt when there is no such line.
[[nodiscard]] std::optional<std::uint64_t> number_after(std::string_view text,
                                                        std::string_view key) noexcept;

}  // namespace acp::os
