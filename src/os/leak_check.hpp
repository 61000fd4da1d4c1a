// SPDX-License-Identifier: BSD-3-Clause
// Requests to valgrind's memcheck. If the program runs without valgrind, the calls take a few
// cycles and have no effect. Any thread.
// Tests: tests/tools/observed_program_test.py.
#pragma once

#include <cstdint>

namespace acp::os {

// Whether a tool of valgrind runs the program.
[[nodiscard]] bool is_under_valgrind() noexcept;

// Excludes a range from the leak check, because reading reserved memory takes very long and makes
// the pages resident. memcheck then takes the range for inaccessible memory: it reports no access
// by the program, but each access by a system call. Holds until the access rights of the range
// change.
void leave_out_of_leak_checks(const void* address, std::uint64_t bytes) noexcept;

// Ends leave_out_of_leak_checks(). memcheck prints a warning for each range for which this was not
// called before the process ends.
void end_leaving_out(const void* address, std::uint64_t bytes) noexcept;

}  // namespace acp::os
