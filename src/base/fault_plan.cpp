// SPDX-License-Identifier: BSD-3-Clause
// The words of a fault plan and the values they take.
#include "base/fault_plan.hpp"

#include <array>
#include <utility>

#include "base/config.hpp"
#include "base/parse.hpp"

namespace acp::base {

namespace {

// Removes and returns the front of a list up to a mark; removes the mark too.
std::string_view take_until(std::string_view& rest, std::string_view mark) {
    const std::size_t at = rest.find(mark);
    const std::string_view part = rest.substr(0, at);
    rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + mark.size());
    return part;
}

bool parse_share(std::string_view text, double& share) {
    // a share has at most nine decimal digits, which parse_seconds() reads
    const std::optional<std::uint64_t> billionths = parse_seconds(text);
    if (!billionths || *billionths > nanoseconds_per_second) return false;
    share = static_cast<double>(*billionths) / static_cast<double>(nanoseconds_per_second);
    return true;
}

// "1ms", "20us", "0.5s". A unit is required: seconds and milliseconds are too easily mistaken for
// each other.
bool parse_time(std::string_view text, std::uint64_t& time_ns) {
    constexpr std::array<std::pair<std::string_view, std::uint64_t>, 4> units{
        {{"ms", 1'000}, {"us", 1'000'000}, {"ns", nanoseconds_per_second}, {"s", 1}}};
    std::uint64_t per_second = 0;
    for (const auto& [unit, count] : units) {
        if (text.ends_with(unit)) {
            text.remove_suffix(unit.size());
            per_second = count;
            break;
        }
    }
    const std::optional<std::uint64_t> scaled_ns = parse_seconds(text);
    if (!scaled_ns || per_second == 0) return false;
    time_ns = *scaled_ns / per_second;
    return true;
}

bool parse_count(std::string_view text,
                 std::uint64_t least,
                 std::uint64_t most,
                 std::uint32_t& count) {
    const std::optional<std::uint64_t> value = parse_unsigned(text);
    if (!value || *value < least || *value > most) return false;
    count = static_cast<std::uint32_t>(*value);
    return true;
}

bool parse_seed(std::string_view text, FaultPlan& plan) {
    const std::optional<std::uint64_t> value = parse_unsigned(text);
    if (value) plan.seed = *value;
    return value.has_value();
}

bool parse_blackhole(std::string_view text, FaultPlan& plan) {
    std::string_view end = text;
    const std::string_view begin = take_until(end, "..");
    FaultPlan::Blackhole hole;
    if (!parse_time(begin, hole.begin_ns) || !parse_time(end, hole.end_ns) ||
        hole.end_ns <= hole.begin_ns || plan.blackholes.size() == fault_blackholes_max) {
        return false;
    }
    plan.blackholes.push_back(hole);
    return true;
}

bool parse_rail(std::string_view text, FaultPlan& plan) {
    return parse_count(text, 0, fault_rail_max, plan.rail.emplace());
}

using Take = bool (*)(std::string_view text, FaultPlan& plan);

constexpr std::array<std::pair<std::string_view, Take>, 9> words{
    {{"loss", [](std::string_view text, FaultPlan& plan) { return parse_share(text, plan.loss); }},
     {"dup",
      [](std::string_view text, FaultPlan& plan) { return parse_share(text, plan.duplicate); }},
     {"corrupt",
      [](std::string_view text, FaultPlan& plan) { return parse_share(text, plan.corrupt); }},
     {"burst", [](std::string_view text,
                  FaultPlan& plan) { return parse_count(text, 1, fault_burst_max, plan.burst); }},
     {"reorder",
      [](std::string_view text, FaultPlan& plan) {
          return parse_count(text, 0, fault_reorder_max, plan.reorder);
      }},
     {"delay",
      [](std::string_view text, FaultPlan& plan) { return parse_time(text, plan.delay_ns); }},
     {"seed", parse_seed},
     {"rail", parse_rail},
     {"blackhole", parse_blackhole}}};

}  // namespace

std::optional<FaultPlan> parse_fault_plan(std::string_view text) {
    FaultPlan plan;
    std::uint32_t seen = 0;
    if (text.ends_with(',')) return std::nullopt;
    while (!text.empty()) {
        std::string_view value = take_until(text, ",");
        const std::string_view name = take_until(value, "=");
        bool is_taken = false;
        for (std::size_t i = 0; i < words.size(); ++i) {
            const auto& [word, take] = words[i];
            const bool is_repeated = (seen >> i & 1U) != 0 && word != "blackhole";
            if (name == word && !is_repeated) {
                is_taken = take(value, plan);
                seen |= 1U << i;
            }
        }
        if (!is_taken) return std::nullopt;
    }
    return plan;
}

}  // namespace acp::base
