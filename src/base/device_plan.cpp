// SPDX-License-Identifier: BSD-3-Clause
// Splits the list at its commas, and each device at its colons.
#include "base/device_plan.hpp"

#include "base/config.hpp"
#include "base/parse.hpp"

namespace acp::base {

namespace {

constexpr std::uint64_t bytes_least = 4096;
constexpr std::uint64_t bytes_most = std::uint64_t{1} << 40U;
constexpr std::string_view kind = "far:";
constexpr std::string_view failing = "fail=";

std::optional<DevicePlan> parse_device(std::string_view text) {
    if (!text.starts_with(kind)) return std::nullopt;
    text.remove_prefix(kind.size());
    const std::size_t colon = text.find(':');
    DevicePlan plan;
    const std::optional<std::uint64_t> bytes = parse_size(text.substr(0, colon));
    if (!bytes || *bytes < bytes_least || *bytes > bytes_most) return std::nullopt;
    plan.bytes = *bytes;
    if (colon == std::string_view::npos) return plan;
    text.remove_prefix(colon + 1);
    if (!text.starts_with(failing)) return std::nullopt;
    const std::optional<std::uint64_t> step = parse_unsigned(text.substr(failing.size()));
    if (!step || *step == 0) return std::nullopt;
    plan.fails_at = *step;
    return plan;
}

}  // namespace

std::optional<std::vector<DevicePlan>> parse_device_plan(std::string_view text) {
    std::vector<DevicePlan> plans;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        const auto plan = parse_device(text.substr(0, comma));
        if (!plan || plans.size() == planned_devices_max) return std::nullopt;
        plans.push_back(*plan);
        if (comma == std::string_view::npos) return plans;
        text.remove_prefix(comma + 1);
        if (text.empty()) return std::nullopt;  // nothing behind the last comma
    }
    return plans;
}

}  // namespace acp::base
