// SPDX-License-Identifier: BSD-3-Clause
// Compares the variables that the registry marks as the job's.
#include "api/job_settings.hpp"

#include <algorithm>
#include <cctype>

#include "base/config_registry.hpp"

namespace acp::api {

namespace {

// "ACP_STARTER_SIZE" -> "--acp-starter-size"
std::string option_of(std::string_view variable) {
    std::string option = "--";
    for (const char letter : variable) {
        option += letter == '_'
                      ? '-'
                      : static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    }
    return option;
}

}  // namespace

std::vector<std::string> follow_job(base::Config& config,
                                    base::Config at_start,
                                    const node::Shape& shape,
                                    const std::vector<std::string>& arguments) {
    at_start.starter_bytes = shape.starter_bytes;
    at_start.heap_bytes = shape.heap_bytes;
    at_start.mailbox = static_cast<base::MailboxKind>(shape.mailbox_kind);
    at_start.intranode = static_cast<base::IntraNode>(shape.intranode);
    std::vector<std::string> warnings;
    for (const base::Variable& variable : base::variables()) {
        if (!base::is_of_job(variable.name)) continue;
        const std::string wanted = variable.show(config);
        const std::string value = variable.show(at_start);
        if (wanted == value) continue;
        variable.parse(value, config);
        const std::string name(variable.name);
        const bool is_argument =
            std::any_of(arguments.begin(), arguments.end(),
                        [&](const std::string& entry) { return entry.starts_with(name + "="); });
        if (!is_argument) continue;
        std::string& text = warnings.emplace_back("the argument ");
        text.append(option_of(name)).append(" ").append(wanted);
        text.append(" has no effect: acprun has fixed ").append(name).append("=").append(value);
        text.append(" for the whole job; acprun -x ").append(name).append("=").append(wanted);
        text.append(", or ").append(name).append("=").append(wanted);
        text.append(" in its environment, sets it");
    }
    return warnings;
}

}  // namespace acp::api
