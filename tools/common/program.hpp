// SPDX-License-Identifier: BSD-3-Clause
// Finds the program that a user named, as a shell does, and explains why it cannot be run. Starts
// nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace acp::tool {

struct Program {
    std::string path;     // path of the program; "" when it was not found
    int exit_code = 0;    // 126 or 127 when path is ""
    std::string problem;  // why path is ""
    std::string hint;     // the remedy; may be empty
};

//   name         as given; a name with a slash is a path, others are searched for
//   search_path  directories between colons, "" = the current one; the form of PATH
[[nodiscard]] Program find_program(const std::string& name, std::string_view search_path);

// A variable of this process's environment.
[[nodiscard]] std::optional<std::string> variable(const std::string& name);

// PATH, or what stands in its place.
[[nodiscard]] std::string program_path();

}  // namespace acp::tool
