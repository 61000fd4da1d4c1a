// SPDX-License-Identifier: BSD-3-Clause
// What this process asks of valgrind's memcheck, where that runs the program. Elsewhere the calls take a few cycles and do nothing.
// Any thread. Tests: tests/tools/observed_program_test.py.
#pragma once

#include <cstdint>

namespace acp::os {

// Whether a tool of valgrind runs the program.
[[nodiscard]] bool is_under_valgrind() noexcept;

// The leak check does not read the range: a check of reserved memory takes for ever, and makes the pages resident. memcheck then
// takes the range for memory that may not be accessed; it reports no access by the program, and each by a system call. It holds until
// rights of the range change.
void leave_out_of_leak_checks(const void* address, std::uint64_t bytes) noexcept;

// memcheck reports accesses to the range again. Where it does not at the end of the process, it prints a warning.
void end_leaving_out(const void* address, std::uint64_t bytes) noexcept;

}  // namespace acp::os
