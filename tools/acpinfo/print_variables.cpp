// SPDX-License-Identifier: BSD-3-Clause
// The ACP_* variables as a table and as JSON.
#include "base/format.hpp"

#include "print.hpp"

namespace acp::acpinfo {

namespace {

using base::Table;

std::string or_dash(const std::string& text) {
    return text.empty() ? "-" : text;
}

}  // namespace

std::string variables_text(const std::vector<base::VariableState>& variables,
                           const TextStyle& style) {
    const std::vector<Table::Column> short_columns{
        {"VARIABLE"}, {"VALUE"}, {"DEFAULT"}, {"ORIGIN"}, {"TYPE"}};
    std::vector<Table::Column> long_columns = short_columns;
    long_columns.push_back({"MEANING"});
    Table one_line_each(long_columns);
    Table two_lines_each(short_columns);
    for (const base::VariableState& variable : variables) {
        std::vector<std::string> cells{variable.name, or_dash(base::printable(variable.value)),
                                       or_dash(variable.default_value), variable.origin,
                                       variable.type};
        two_lines_each.add_row(cells);
        for (const std::string& line : base::wrap(variable.meaning, style.columns)) {
            two_lines_each.add_line(std::string("    ").append(line));
        }
        cells.push_back(variable.meaning);
        one_line_each.add_row(cells);
    }
    return (one_line_each.width() <= style.columns ? one_line_each : two_lines_each).text();
}

tool::Json variables_json(const std::vector<base::VariableState>& variables) {
    tool::Json rows = tool::Json::array();
    for (const base::VariableState& variable : variables) {
        rows.push_back({{"name", variable.name},
                        {"type", variable.type},
                        {"value", variable.value},
                        {"default", variable.default_value},
                        {"origin", variable.origin},
                        {"meaning", variable.meaning}});
    }
    return rows;
}

}  // namespace acp::acpinfo
