// SPDX-License-Identifier: BSD-3-Clause
// Descriptors 0, 1 and 2 of this process, and files to replace them. Call from one thread, before
// others are started.
#pragma once

#include <string>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"

namespace acp::os {

using base::Result;
using base::Status;

inline constexpr int standard_input = 0;
inline constexpr int standard_output = 1;
inline constexpr int standard_error = 2;

// Opens /dev/null for each of 0, 1 and 2 that is closed, so that no other file gets its number. A
// closed standard output or error is opened read-only, so that a write to it fails with EBADF
// instead of being lost silently.
void ensure_standard_streams() noexcept;

// Puts /dev/null in place of standard input. Errors: system.
Status detach_standard_input();

// Opens /dev/null for reading and writing, close-on-exec. Errors: limit, system.
Result<FileDescriptor> open_null();

// Creates or truncates a file, opened for appending; close-on-exec.
// Errors: limit, memory (no space), system (the path and the reason in the message).
Result<FileDescriptor> open_for_writing(const std::string& path);

// open_for_writing() without truncating the file.
Result<FileDescriptor> open_for_appending(const std::string& path);

// Opens an existing file, close-on-exec. Errors: limit, system (the path and the reason in the
// message).
Result<FileDescriptor> open_for_reading(const std::string& path);

// Whether two descriptors are of the same file, terminal, pipe or socket.
[[nodiscard]] bool are_same_file(int fd, int other) noexcept;

// Whether this process may read the terminal without being stopped: its process group is the
// terminal's foreground group.
[[nodiscard]] bool is_in_foreground(int fd) noexcept;

}  // namespace acp::os
