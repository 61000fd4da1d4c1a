// SPDX-License-Identifier: BSD-3-Clause
// The programs that experiments start: this same program under a first argument that people do not
// type. They do nothing but what is measured. Main thread only.
#pragma once

#include <string_view>

namespace acp::bench {

// Computes until its standard input ends.
inline constexpr std::string_view child_hog = "child-hog";
// Joins and leaves; with a second argument "without", does neither.
inline constexpr std::string_view child_start = "child-start";
// Joins, prints its pid, waits until rank 0's standard input ends, leaves. With "without" it does
// not join.
inline constexpr std::string_view child_resident = "child-resident";

[[nodiscard]] bool is_child_name(std::string_view argument);

// The exit code.
int run_child(int argc, char** argv);

}  // namespace acp::bench
