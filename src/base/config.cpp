// SPDX-License-Identifier: BSD-3-Clause
// Makes a Config from the environment: looks up every row of the registry, collects invalid values,
// and warns about unknown names. The list of variables is in base/config_registry.cpp.
#include "base/config.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "base/config_registry.hpp"
#include "base/edit_distance.hpp"
#include "base/format.hpp"

namespace acp::base {

namespace {

constexpr std::string_view prefix = "ACP_";

using Settings = std::unordered_map<std::string_view, std::string_view>;

// The ACP_* entries by name. The first of several equal names counts, as it does for getenv; an
// empty value counts as unset.
Settings collect(const Environment& environment) {
    Settings settings;
    for (const std::string_view entry : environment) {
        const std::size_t equals = entry.find('=');
        if (entry.substr(0, prefix.size()) != prefix || equals == std::string_view::npos) continue;
        settings.emplace(entry.substr(0, equals), entry.substr(equals + 1));
    }
    return settings;
}

std::string_view value_of(const Settings& settings, std::string_view name) {
    const auto found = settings.find(name);
    return found == settings.end() ? std::string_view() : found->second;
}

std::string warning_about(std::string_view unknown, const std::vector<std::string_view>& names) {
    std::string text = printable(unknown) + " is not a variable of ACP";
    std::vector<std::string_view> stems;
    stems.reserve(names.size());
    for (const std::string_view name : names) stems.push_back(name.substr(prefix.size()));
    if (const auto nearest = nearest_word(unknown.substr(prefix.size()), stems)) {
        return text + " (did you mean ACP_" + std::string(*nearest) + "?)";
    }
    return text + " and is ignored (acpinfo -c lists them all)";
}

// In the order of their names, so that the text does not depend on the environment's order.
std::vector<std::string> warnings_for(const Settings& settings) {
    std::vector<std::string_view> user_names;
    std::vector<std::string_view> known;
    for (const Variable& row : variables()) user_names.push_back(row.name);
    known = user_names;
    for (const LauncherVariable& row : launcher_variables()) known.push_back(row.name);
    std::vector<std::string_view> unknown;
    for (const auto& [name, value] : settings) {
        if (std::find(known.begin(), known.end(), name) == known.end()) unknown.push_back(name);
    }
    std::sort(unknown.begin(), unknown.end());
    std::vector<std::string> warnings;
    warnings.reserve(unknown.size());
    for (const std::string_view name : unknown) warnings.push_back(warning_about(name, user_names));
    return warnings;
}

// Adds the sentence about a value that does not fit.
void add_misfit(std::string& misfits,
                std::string_view name,
                std::string_view text,
                std::string_view type,
                std::string_view default_value) {
    misfits.append(misfits.empty() ? "" : "; ").append(name).append("=").append(printable(text));
    misfits.append(" does not fit: it takes ").append(type);
    misfits.append(" (default ").append(default_value.empty() ? "none" : default_value).append(")");
}

}  // namespace

Result<ParsedConfig> parse_config(const Environment& environment) {
    const Settings settings = collect(environment);
    ParsedConfig parsed;
    std::string misfits;
    for (const Variable& row : variables()) {
        const std::string_view text = value_of(settings, row.name);
        if (!text.empty() && !row.parse(text, parsed.config)) {
            add_misfit(misfits, row.name, text, row.whole_type.empty() ? row.type : row.whole_type,
                       row.show(Config{}));
        }
    }
    for (const LauncherVariable& row : launcher_variables()) {
        const std::string_view text = value_of(settings, row.name);
        if (!text.empty() && row.fits != nullptr && !row.fits(text)) {
            add_misfit(misfits, row.name, text, row.type, row.default_value);
        }
    }
    if (!misfits.empty()) return Status(Code::config, std::move(misfits));
    parsed.warnings = warnings_for(settings);
    return parsed;
}

std::vector<VariableState> list_variables(const Config& config, const Environment& environment) {
    const Settings settings = collect(environment);
    const Config defaults;
    std::vector<VariableState> states;
    for (const Variable& row : variables()) {
        states.push_back({std::string(row.name), std::string(row.type), row.show(config),
                          row.show(defaults),
                          value_of(settings, row.name).empty() ? "default" : "environment",
                          std::string(row.meaning)});
    }
    for (const LauncherVariable& row : launcher_variables()) {
        const std::string_view text = value_of(settings, row.name);
        states.push_back({std::string(row.name), std::string(row.type), std::string(text),
                          std::string(row.default_value), text.empty() ? "not set" : "launcher",
                          std::string(row.meaning)});
    }
    return states;
}

}  // namespace acp::base
