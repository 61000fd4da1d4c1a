// SPDX-License-Identifier: BSD-3-Clause
// How acpinfo's data looks: text for people, JSON for programs. Knows nothing of where it comes
// from or goes to; reads no terminal. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/config.hpp"

#include "common/json.hpp"
#include "report.hpp"

namespace acp::acpinfo {

struct TextStyle {
    std::size_t columns = 100;  // lines longer than this are broken where they can be
    bool has_colors = false;
};

// Sections with a mark before each fact that has a verdict: + good, ! could be better, x broken.
[[nodiscard]] std::string report_text(const Report& report, const TextStyle& style);

// {"machine": {"CPUs": {"value": ..., "text": "...", "verdict": "good", "remedies": [...]}, ...},
// ...}
[[nodiscard]] tool::Json report_json(const Report& report);

// One line for each variable; where that does not fit into style.columns the meaning gets its own
// line.
[[nodiscard]] std::string variables_text(const std::vector<base::VariableState>& variables,
                                         const TextStyle& style);

[[nodiscard]] tool::Json variables_json(const std::vector<base::VariableState>& variables);

}  // namespace acp::acpinfo
