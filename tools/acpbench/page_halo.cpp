// SPDX-License-Identifier: BSD-3-Clause
// The page's section on the exchanges of paper 003: its figures 3 to 14 redrawn, the plans by the
// planner's own drawing, the curves from rows of `halo-plan`. Pure; any thread.
#include <algorithm>
#include <iterator>
#include <map>

#include "exchange/bottom_left.hpp"

#include "exchange_study/drawing.hpp"
#include "exchange_study/scheduler_table.hpp"
#include "halo_instance.hpp"
#include "number.hpp"
#include "page.hpp"
#include "plot.hpp"

namespace acp::bench {

namespace {

constexpr std::uint32_t drawn_grid_size = 872;  // the grid size of the plans that the paper draws
constexpr std::uint32_t short_grid_size = 60;

struct DrawnScheduler {
    const char* name;
    const char* css;
};

// Those of the paper, and ours.
constexpr DrawnScheduler drawn_schedulers[] = {{"RR1", "c0"},  {"RR2", "c1"},     {"RR4", "c2"},
                                               {"BL1", "c3"},  {"BL2", "c4"},     {"BL4", "c5"},
                                               {"orig", "c8"}, {"standard", "c7"}};
constexpr DrawnScheduler short_schedulers[] = {{"RR1", "c0"}, {"RR2", "c1"},    {"RR4", "c2"},
                                               {"BL4", "c5"}, {"stairs", "c6"}, {"standard", "c7"}};

struct PaperFigures {
    exchange_study::PaperPattern pattern;
    const char* title;
    bool has_library;  // the paper compares with "orig"
};

constexpr PaperFigures paper_003_figures[] = {
    {exchange_study::PaperPattern::east_west, "Figures 3 and 4: east and west", false},
    {exchange_study::PaperPattern::north_south, "Figures 5 and 6: north and south", false},
    {exchange_study::PaperPattern::four, "Figures 7 and 8: four directions", true},
    {exchange_study::PaperPattern::diagonal, "Figures 9 and 10: diagonals", false},
    {exchange_study::PaperPattern::eight, "Figures 11 and 12: all eight directions", true},
};

// One drawing per scheduler, with one scale for all.
std::string plans_html(const HaloInstance& instance, std::span<const DrawnScheduler> schedulers) {
    const exchange::NodeProblem problem = instance.problem();
    std::map<std::string, std::vector<exchange_study::DrawnPiece>> plans;
    double top_us = 0;
    for (const DrawnScheduler& its : schedulers) {
        const exchange_study::SchedulerEntry* scheduler = exchange_study::scheduler_named(its.name);
        if (scheduler == nullptr || its.name == std::string_view("orig")) continue;
        const exchange_study::ScheduledExchange made = scheduler->schedule(problem);
        plans[its.name] = exchange_study::drawn(problem, made.phases.front().queues);
        for (const exchange_study::DrawnPiece& piece : plans[its.name])
            top_us = std::max(top_us, piece.end_us);
    }
    std::string html = "<div class=\"plans\">";
    for (const DrawnScheduler& its : schedulers) {
        if (const auto plan = plans.find(its.name); plan != plans.end()) {
            html += "<figure>" +
                    exchange_study::drawing_svg(problem, plan->second, its.name, top_us) +
                    "</figure>\n";
        }
    }
    return html + "</div>\n";
}

// The schedulers' curves over the grids; marks where the paper states a time.
Plot curves_of(const std::vector<const Row*>& rows,
               const HaloInstance& instance,
               std::span<const DrawnScheduler> schedulers) {
    Plot plot;
    plot.title = instance.name() + ": time of an exchange";
    plot.x_title = "k, the points of the grid in the third dimension";
    plot.x = Axis::ranks;
    plot.is_linear = true;
    std::map<double, Mark> marks;
    Series bound{"bound", "yard", {}};
    for (const DrawnScheduler& scheduler : schedulers) {
        Series series{scheduler.name, scheduler.css, {}};
        for (const Row* row : rows) {
            const double k = extra_of(*row, "k");
            if (row->name != instance.name() || row->mode != scheduler.name) continue;
            series.points.emplace_back(k, row->latency_us.median);
            if (bound.points.empty() || bound.points.back().first < k)
                bound.points.emplace_back(k, row->yardstick->value);
            if (!row->paper) continue;
            const std::string label = "paper " + number(row->paper->value, 0) + " \u00b5s";
            marks[row->paper->value] = Mark{label, scheduler.css, k, row->paper->value, false};
        }
        plot.series.push_back(std::move(series));
    }
    plot.series.push_back(std::move(bound));
    for (auto& [us, mark] : marks) plot.marks.push_back(std::move(mark));
    return plot;
}

std::string short_messages_html(const std::vector<const Row*>& rows) {
    const HaloInstance instance{exchange_study::PaperPattern::diagonal, short_grid_size, true};
    return "<h3>Figures 13 and 14: short messages</h3><p>Each engine begins 1 \u00b5s after the "
           "one before it. A scheduler that knows this (\u201cstairs\u201d, ours) is no worse than "
           "the best number of engines at each size.</p>\n<div class=\"pair\">" +
           plans_html(instance, short_schedulers) +
           to_figure(curves_of(rows, instance, short_schedulers)) + "</div>\n";
}

constexpr const char* halo_plan_text =
    "Nothing here was measured: these are the exchanges of the paper\u2019s Table 1 on its "
    "network, by a simulator whose "
    "rates were fitted to the times that the paper states (diamonds). Plans are drawn for k = 872 "
    "as they go through that "
    "network: a column per engine, time upwards, a rectangle per message, higher where flows share "
    "a link or the "
    "injection. \u201cstandard\u201d is our planner, which cuts messages where that helps; no plan "
    "can beat the dotted bound.";

}  // namespace

std::string halo_plan_section(const std::vector<Row>& rows) {
    const std::vector<const Row*> its = rows_of(rows, "halo-plan");
    if (its.empty()) return {};
    std::string html = "<section id=\"halo-plan\"><h2>Exchanges as paper 003 planned them</h2><p>" +
                       std::string(halo_plan_text) + "</p>\n";
    for (const PaperFigures& drawn : paper_003_figures) {
        const HaloInstance instance{drawn.pattern, drawn_grid_size, false};
        std::vector<DrawnScheduler> schedulers(std::begin(drawn_schedulers),
                                               std::end(drawn_schedulers));
        if (!drawn.has_library) {
            std::erase_if(schedulers, [](const DrawnScheduler& one) {
                return one.name == std::string_view("orig");
            });
        }
        html += std::string("<h3>") + drawn.title + "</h3>\n<div class=\"pair\">" +
                plans_html(instance, schedulers) + to_figure(curves_of(its, instance, schedulers)) +
                "</div>\n";
    }
    html += short_messages_html(its);
    return html + "<details><summary>All rows</summary>" + rows_table(its) +
           "</details></section>\n";
}

}  // namespace acp::bench
