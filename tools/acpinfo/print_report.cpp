// SPDX-License-Identifier: BSD-3-Clause
// The report as text and as JSON.
#include <algorithm>
#include <array>

#include "base/format.hpp"

#include "print.hpp"

namespace acp::acpinfo {

namespace {

constexpr std::size_t value_columns_min = 30;
constexpr const char* color_end = "\033[0m";
constexpr const char* bold = "\033[1m";

struct VerdictStyle {
    const char* name;
    const char* mark;
    const char* color;
};

const VerdictStyle& style_of(Verdict verdict) {
    static constexpr std::array<VerdictStyle, 4> styles{{{"plain", " ", ""},
                                                         {"good", "+", "\033[32m"},
                                                         {"costly", "!", "\033[33m"},
                                                         {"broken", "x", "\033[31m"}}};
    return styles[static_cast<std::size_t>(verdict)];
}

std::string painted(const std::string& text, const char* color, const TextStyle& style) {
    return style.has_colors && *color != '\0' ? color + text + color_end : text;
}

bool is_command(const std::string& remedy) {
    return remedy.starts_with("$ ");
}

// The lines of the value's column: the text of the fact, then its remedies.
std::vector<std::string> value_lines(const Fact& fact, std::size_t columns) {
    std::vector<std::string> lines = base::wrap(fact.text, columns);
    for (const std::string& remedy : fact.remedies) {
        if (is_command(remedy)) {
            // a command stays on one line, so that the user can copy it
            lines.push_back(std::string("  ").append(remedy));
            continue;
        }
        for (const std::string& line : base::wrap(remedy, columns)) lines.push_back(line);
    }
    return lines;
}

std::size_t widest_name(const Report& report) {
    std::size_t width = 0;
    for (const Section& section : report) {
        for (const Fact& fact : section.facts)
            width = std::max(width, base::display_width(fact.name));
    }
    return width;
}

}  // namespace

std::string report_text(const Report& report, const TextStyle& style) {
    const std::size_t name_columns = widest_name(report);
    const std::size_t before_value = 2 + 2 + name_columns + 2;  // indent, mark, name, gap
    const std::size_t value_columns =
        std::max(value_columns_min, style.columns - std::min(style.columns, before_value));
    std::string text;
    bool has_marks = false;
    for (const Section& section : report) {
        if (!text.empty()) text += '\n';
        text += painted(section.title, bold, style) + "\n";
        for (const Fact& fact : section.facts) {
            const VerdictStyle& verdict = style_of(fact.verdict);
            has_marks = has_marks || fact.verdict != Verdict::plain;
            std::string margin(2, ' ');
            margin += painted(verdict.mark, verdict.color, style);
            margin += " " + fact.name;
            margin.append(name_columns - base::display_width(fact.name) + 2, ' ');
            for (const std::string& line : value_lines(fact, value_columns)) {
                text += margin + line + "\n";
                margin.assign(before_value, ' ');
            }
        }
    }
    if (has_marks) text += "\n+ fine   ! could be better   x does not work\n";
    return text;
}

tool::Json report_json(const Report& report) {
    tool::Json sections = tool::Json::object();
    for (const Section& section : report) {
        tool::Json& facts = sections[section.key] = tool::Json::object();
        for (const Fact& fact : section.facts) {
            facts[fact.name] = {
                {"value", fact.value.is_null() ? tool::Json(fact.text) : fact.value},
                {"text", fact.text},
                {"verdict", style_of(fact.verdict).name},
                {"remedies", fact.remedies}};
        }
    }
    return sections;
}

}  // namespace acp::acpinfo
