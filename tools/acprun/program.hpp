// SPDX-License-Identifier: BSD-3-Clause
// Finding the program a user named, as a shell does, and saying why it cannot be run. Starts nothing.
#pragma once

#include <string>
#include <string_view>

namespace acp::run {

struct Program {
    std::string path;     // to be run; "" when there is none
    int exit_code = 0;    // 126 or 127 when there is none
    std::string problem;  // why there is none
    std::string hint;     // what to do, may be empty
};

//   name         as given; with a slash it is a path, else it is looked up
//   search_path  directories between colons, "" = the current one; as in PATH
[[nodiscard]] Program find_program(const std::string& name, std::string_view search_path);

}  // namespace acp::run
