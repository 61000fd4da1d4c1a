// SPDX-License-Identifier: BSD-3-Clause
// The table behind base/config.hpp: one row per ACP_* variable, with the functions that convert its
// value from text into Config and back. Reads no environment. To add a variable, add a field to
// Config and a row here; parsing, defaults, `acpinfo -c` and the tests follow. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"

namespace acp::base {

struct Variable {
    std::string_view name;
    std::string_view type;     // allowed values, as shown to the user: "on|off|1|0", "size 0..1G"
    std::string_view meaning;  // one line
    // false: the value is invalid, config unchanged
    bool (*parse)(std::string_view text, Config& config);
    std::string (*show)(const Config& config);  // text that parse reads back
    std::string_view whole_type = {};  // a longer type where there is room for it; "": type is used
};

// A variable that the launcher, not the user, sets for the processes it starts.
struct LauncherVariable {
    std::string_view name;
    std::string_view type;
    std::string_view meaning;
    // of one that users may set: whether the value is valid; nullptr: the reader of the variable
    // checks it
    bool (*fits)(std::string_view text) = nullptr;
    std::string_view default_value = {};  // of one that users may set; "": none
};

// In the order of Config's fields.
[[nodiscard]] const std::vector<Variable>& variables();

[[nodiscard]] const std::vector<LauncherVariable>& launcher_variables();

// Whether a variable has one value in the whole job, which the launcher fixes before a process
// reads it.
[[nodiscard]] bool is_of_job(std::string_view name);

}  // namespace acp::base
