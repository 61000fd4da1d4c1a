// SPDX-License-Identifier: BSD-3-Clause
// Programs as files: what a path denotes, and where the running program lies. Knows nothing of
// search paths. Any thread.
#pragma once

#include <string>

namespace acp::os {

enum class FileKind { missing, directory, not_executable, program };

// The kind of file at a path, as this user sees it. A path through a directory that may not be
// searched counts as missing.
[[nodiscard]] FileKind file_kind(const std::string& path);

// The directory of the running program, without a trailing slash; "" if neither /proc nor the name
// that was passed to exec yields it.
[[nodiscard]] std::string executable_directory();

// Whether the running program was linked statically. Libraries that it loads would then use a
// second C library that was never initialised: libcrypto crashes in that case.
[[nodiscard]] bool is_program_static() noexcept;

}  // namespace acp::os
