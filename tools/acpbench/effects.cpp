// SPDX-License-Identifier: BSD-3-Clause
// Looking rows up and dividing them. Pure; any thread.
#include "effects.hpp"

#include <algorithm>

#include "base/format.hpp"

#include "number.hpp"
#include "paper.hpp"
#include "verdict.hpp"

namespace acp::bench {

namespace {

constexpr double same = 0.1;  // what the paper calls "about equal" differs by less than that
// the rounding error of the paper's figures, which have two digits
constexpr double rounding = 0.02;

// The sizes there are, for one case and mode.
std::vector<std::uint64_t> sizes_of(const std::vector<Row>& rows,
                                    const std::string& name,
                                    const std::string& mode) {
    std::vector<std::uint64_t> sizes;
    for (const Row& row : rows) {
        if (row.experiment == "copy" && row.name == name && row.mode == mode)
            sizes.push_back(row.bytes);
    }
    std::sort(sizes.begin(), sizes.end());
    return sizes;
}

// The row that the paper's latency compares with: the smallest copy.
const Row* latency_row(const std::vector<Row>& rows,
                       const std::string& name,
                       const std::string& mode) {
    const std::vector<std::uint64_t> sizes = sizes_of(rows, name, mode);
    return sizes.empty() ? nullptr : find_copy(rows, name, mode, sizes.front());
}

// The row that the paper's bandwidth compares with: the largest copy, for local-to-local 512 KiB
// where it was measured.
const Row* bandwidth_row(const std::vector<Row>& rows,
                         const std::string& name,
                         const std::string& mode,
                         bool is_local) {
    const std::vector<std::uint64_t> sizes = sizes_of(rows, name, mode);
    if (sizes.empty()) return nullptr;
    const std::uint64_t most =
        is_local ? std::min<std::uint64_t>(512 << 10, sizes.back()) : sizes.back();
    const Row* row = find_copy(rows, name, mode, most);
    return row != nullptr ? row : find_copy(rows, name, mode, sizes.back());
}

// Whether the two rows cannot be set against each other: one is not believed, or only one's ranks
// shared a core.
bool are_disturbed(const Row* before, const Row* after) {
    if (before == nullptr || after == nullptr) return false;
    const bool is_one_shared =
        (before->distance == Distance::shared) != (after->distance == Distance::shared);
    return is_one_shared || judge(*before).verdict == Verdict::disturbed ||
           judge(*after).verdict == Verdict::disturbed;
}

void add_pair(std::vector<Effect>& effects,
              const std::vector<Row>& rows,
              const std::string& direction,
              const std::string& memory,
              const std::string& before,
              const std::string& after) {
    const Paper000* paper_before = paper_000_for(direction, before);
    const Paper000* paper_after = paper_000_for(direction, after);
    if (paper_before == nullptr || paper_after == nullptr) return;
    const std::string name = direction + " " + memory;
    const std::string which = ", " + after + " / " + before;
    const bool is_local = direction == "local-to-local";
    const auto add = [&](const std::string& what, const Row* ours_before, const Row* ours_after,
                         double Paper000::*figure, const char* unit, auto value_of) {
        Effect effect{
            direction + what + which, paper_before->*figure, paper_after->*figure, {}, {}, unit};
        if (ours_before != nullptr) effect.ours_before = value_of(*ours_before);
        if (ours_after != nullptr) effect.ours_after = value_of(*ours_after);
        effect.is_disturbed = are_disturbed(ours_before, ours_after);
        effects.push_back(std::move(effect));
    };
    add(" latency", latency_row(rows, name, before), latency_row(rows, name, after),
        &Paper000::latency_us, "us", [](const Row& row) { return row.latency_us.median; });
    add(" bandwidth", bandwidth_row(rows, name, before, is_local),
        bandwidth_row(rows, name, after, is_local), &Paper000::bandwidth_mb_per_s, "MB/s",
        [](const Row& row) { return row.bandwidth_mb_per_s; });
}

}  // namespace

std::optional<double> Effect::our_ratio() const {
    if (!ours_before || !ours_after || *ours_before <= 0) return {};
    return *ours_after / *ours_before;
}

Outcome Effect::outcome() const {
    const std::optional<double> ours = our_ratio();
    if (!ours || is_disturbed) return Outcome::unknown;
    // As gains: above 1 is better, for times too.
    const double paper_gain = unit == "us" ? 1 / paper_ratio() : paper_ratio();
    const double gain = unit == "us" ? 1 / *ours : *ours;
    if (paper_gain < 1 - same) return gain < 1 - same ? Outcome::cost : Outcome::no_cost;
    const double least = paper_gain < 1 + same ? 1 - same : paper_gain * (1 - rounding);
    return gain >= least ? Outcome::reached : Outcome::missed;
}

const char* name_of(Outcome outcome) {
    switch (outcome) {
        case Outcome::reached:
            return "reached";
        case Outcome::missed:
            return "not reached";
        case Outcome::cost:
            return "costs too";
        case Outcome::no_cost:
            return "costs nothing";
        case Outcome::unknown:
            break;
    }
    return "";
}

const Row* find_copy(const std::vector<Row>& rows,
                     const std::string& name,
                     const std::string& mode,
                     std::uint64_t bytes) {
    for (const Row& row : rows) {
        if (row.experiment == "copy" && row.name == name && row.mode == mode && row.bytes == bytes)
            return &row;
    }
    return nullptr;
}

std::vector<Effect> effects_of(const std::vector<Row>& rows, const std::string& memory) {
    std::vector<Effect> effects;
    for (const char* direction :
         {"remote-to-remote", "remote-to-local", "local-to-remote", "local-to-local"}) {
        add_pair(effects, rows, direction, memory, "old", "new");
    }
    add_pair(effects, rows, "local-to-local", memory, "new", "new+bypass");
    add_pair(effects, rows, "local-to-local", memory, "old", "new+bypass");
    return effects;
}

std::string effects_table(const std::vector<Row>& rows, const std::string& memory) {
    using Align = base::Table::Align;
    base::Table table({{"effect", Align::left},
                       {"paper", Align::right},
                       {"ratio", Align::right},
                       {"here", Align::right},
                       {"ratio", Align::right},
                       {"", Align::left}});
    for (const Effect& effect : effects_of(rows, memory)) {
        const auto pair = [&](double before, double after) {
            const int digits = effect.unit != "us" ? 0 : std::min(before, after) < 0.1 ? 4 : 2;
            return number(before, digits) + " -> " + number(after, digits) + " " + effect.unit;
        };
        const auto ratio = [](double value) { return number(value, value < 0.1 ? 4 : 2); };
        const std::optional<double> ours = effect.our_ratio();
        table.add_row({effect.what, pair(effect.paper_before, effect.paper_after),
                       ratio(effect.paper_ratio()),
                       ours ? pair(*effect.ours_before, *effect.ours_after) : "not run",
                       ours ? ratio(*ours) : "",
                       effect.is_disturbed ? "disturbed" : name_of(effect.outcome())});
    }
    return table.text(2);
}

}  // namespace acp::bench
