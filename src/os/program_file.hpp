// SPDX-License-Identifier: BSD-3-Clause
// Programs as files: what a path names, and where the running one lies. Knows nothing of search paths.
// Any thread.
#pragma once

#include <string>

namespace acp::os {

enum class FileKind { missing, directory, not_executable, program };

// What lies at a path, as seen by this user. A directory that may not be searched makes it missing.
[[nodiscard]] FileKind file_kind(const std::string& path);

// The directory of the running program, without a slash at its end; "" when neither /proc nor the name
// it was started by tells.
[[nodiscard]] std::string executable_directory();

// Whether the running program was linked statically. Libraries that it loads then have a C library of their own, which has
// never been started: libcrypto crashes in it.
[[nodiscard]] bool is_program_static() noexcept;

}  // namespace acp::os
