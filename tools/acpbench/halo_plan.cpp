// SPDX-License-Identifier: BSD-3-Clause
// Experiment `halo-plan`: all 55 exchanges of paper 003 (its Table 1: 11 grids in 5 patterns)
// planned by every scheduler there is, and the time of each plan by the simulator, beside what the
// paper states and a bound that no plan beats. Measures nothing: the network is the paper's, with
// the rates that were fitted to it (docs/guide/exchange.md). One process without ranks.
#include <string>

#include "exchange/lower_bounds.hpp"

#include "exchange_study/scheduler_table.hpp"
#include "experiment.hpp"
#include "halo_instance.hpp"
#include "output.hpp"
#include "paper.hpp"

namespace acp::bench {

namespace {

Row plan_row(const HaloInstance& instance,
             const exchange_study::SchedulerEntry& scheduler,
             double bound_us) {
    const exchange::NodeProblem problem = instance.problem();
    const double time = scheduler.schedule(problem).exchange;
    Row row;
    row.experiment = "halo-plan";
    row.name = instance.name();
    row.mode = scheduler.name;
    for (const exchange::ProblemMessage& message : problem.messages())
        row.bytes += static_cast<std::uint64_t>(message.bytes);
    row.iterations = 1;
    row.latency_us = {time, time, time, time, 1};
    row.bandwidth_mb_per_s = static_cast<double>(row.bytes) / time;
    row.yardstick = Yardstick{"bound", bound_us, "us"};
    row.ratio = time / bound_us;
    if (!instance.has_stairs)
        row.paper = paper_003_at(name_of(instance.pattern), scheduler.name, instance.grid_size);
    row.extra.emplace_back("k", instance.grid_size);
    return row;
}

void add_rows(const HaloInstance& instance, std::vector<Row>& rows) {
    const double bound_us = exchange::all_bounds(instance.problem()).most_us();
    for (const exchange_study::SchedulerEntry& scheduler : exchange_study::scheduler_table())
        rows.push_back(plan_row(instance, scheduler, bound_us));
}

}  // namespace

int run_halo_plan(const Call& call) {
    std::vector<Row> rows;
    const std::span<const std::uint32_t> all = exchange_study::paper_grid_sizes;
    Progress progress("halo-plan", static_cast<int>(exchange_study::paper_patterns.size() + 1));
    for (const exchange_study::PaperPattern pattern : exchange_study::paper_patterns) {
        for (const std::uint32_t size : all) {
            if (call.options.is_quick && size != all.front() && size != all.back()) continue;
            add_rows({pattern, size, false}, rows);
        }
        progress.step(directions_of(pattern));
    }
    for (const std::uint32_t size : all.first(halo_stair_sizes))
        add_rows({exchange_study::PaperPattern::diagonal, size, true}, rows);
    progress.step("short messages");
    return finish(call.options, rows);
}

}  // namespace acp::bench
