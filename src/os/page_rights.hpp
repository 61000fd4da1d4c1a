// SPDX-License-Identifier: BSD-3-Clause
// The rights of this process to pages of a mapping, for memory whose faults os/fault_handler.hpp
// repairs where userfaultfd is refused (os/page_faults.hpp). Knows no fault. Any thread.
// Tests: tests/unit/os/page_rights_test.cpp.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "os/page_faults.hpp"

namespace acp::os {

// The accesses of a page that raise no SIGSEGV.
enum class PageRights { none, read, read_write };

// Sets the rights to whole pages. Signal handlers may call it.
// Errors: ENOMEM (the process has too many mappings: vm.max_map_count; the range may be changed in
// part), EINVAL (no page boundary).
PageOutcome set_page_rights(char* address, std::uint64_t bytes, PageRights rights) noexcept;

// Children of fork() do not inherit the whole pages of the range: an access there raises SIGSEGV.
// Errors: system.
[[nodiscard]] Status keep_from_children(char* address, std::uint64_t bytes);

}  // namespace acp::os
