// SPDX-License-Identifier: BSD-3-Clause
// All schedulers by name.
#include "exchange_study/scheduler_table.hpp"

#include <gtest/gtest.h>
#include <set>

#include "exchange_study/paper_patterns.hpp"

namespace acp::exchange_study {
namespace {

TEST(SchedulerTable, has_each_name_once_and_plans_with_each) {
    const exchange::NodeProblem problem = paper_problem(PaperPattern::eight, 218);
    const double bound = exchange::quick_bounds(problem).split_us;
    std::set<std::string_view> names;
    for (const SchedulerEntry& entry : scheduler_table()) {
        EXPECT_TRUE(names.insert(entry.name).second);
        EXPECT_EQ(scheduler_named(entry.name), &entry);
        const ScheduledExchange one = entry.schedule(problem);
        ASSERT_FALSE(one.phases.empty());
        if (one.phases.size() == 1) {
            const exchange::ExchangePlan plan =
                exchange::plan_of(problem, one.phases[0].queues, {});
            EXPECT_NEAR(plan.predicted_us + 1.23 * static_cast<double>(one.more_commands),
                        one.exchange, 1e-9);
            EXPECT_GE(one.exchange, bound) << entry.name;
        }
    }
    EXPECT_EQ(scheduler_named("best"), nullptr);
}

TEST(SchedulerTable, has_the_times_of_the_paper) {
    const exchange::NodeProblem problem = paper_problem(PaperPattern::four, 872);
    EXPECT_NEAR(scheduler_named("BL4")->schedule(problem).exchange, 86, 0.1);
    EXPECT_NEAR(scheduler_named("orig")->schedule(problem).exchange, 172, 1);
    EXPECT_NEAR(scheduler_named("RR4")->schedule(problem).exchange, 121, 0.1);
}

}  // namespace
}  // namespace acp::exchange_study
