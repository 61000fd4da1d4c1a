// SPDX-License-Identifier: BSD-3-Clause
// Values of ACP_FAULT that are accepted and refused. One thread.
#include "base/fault_plan.hpp"

#include <gtest/gtest.h>
#include <string>

namespace acp::base {
namespace {

TEST(FaultPlan, every_word_is_read) {
    const auto plan = parse_fault_plan(
        "loss=0.01,dup=0.02,corrupt=0.001,burst=4,reorder=16,delay=1ms,blackhole=2s..3.5s,seed=7");
    ASSERT_TRUE(plan.has_value());
    EXPECT_DOUBLE_EQ(plan->loss, 0.01);
    EXPECT_DOUBLE_EQ(plan->duplicate, 0.02);
    EXPECT_DOUBLE_EQ(plan->corrupt, 0.001);
    EXPECT_EQ(plan->burst, 4U);
    EXPECT_EQ(plan->reorder, 16U);
    EXPECT_EQ(plan->delay_ns, 1'000'000U);
    ASSERT_EQ(plan->blackholes.size(), 1U);
    EXPECT_EQ(plan->blackholes[0].begin_ns, 2'000'000'000U);
    EXPECT_EQ(plan->blackholes[0].end_ns, 3'500'000'000U);
    EXPECT_EQ(plan->seed, 7U);
    EXPECT_FALSE(plan->is_harmless());
}

TEST(FaultPlan, nothing_asked_is_nothing_done) {
    const auto plan = parse_fault_plan("");
    ASSERT_TRUE(plan.has_value());
    EXPECT_TRUE(plan->is_harmless());
    EXPECT_TRUE(parse_fault_plan("seed=9")->is_harmless());
}

TEST(FaultPlan, faults_may_be_those_of_one_rail) {
    const auto plan = parse_fault_plan("loss=0.5,rail=2");
    ASSERT_TRUE(plan.has_value());
    EXPECT_TRUE(plan->of_rail(0).is_harmless());
    EXPECT_TRUE(plan->of_rail(3).is_harmless());
    EXPECT_DOUBLE_EQ(plan->of_rail(2).loss, 0.5);
    EXPECT_DOUBLE_EQ(parse_fault_plan("loss=0.5")->of_rail(3).loss, 0.5);
    EXPECT_FALSE(parse_fault_plan("rail=4").has_value());
}

TEST(FaultPlan, times_have_units_and_are_seconds_without) {
    EXPECT_EQ(parse_fault_plan("delay=20us")->delay_ns, 20'000U);
    EXPECT_EQ(parse_fault_plan("delay=0.5ms")->delay_ns, 500'000U);
    EXPECT_EQ(parse_fault_plan("delay=0.25s")->delay_ns, 250'000'000U);
    EXPECT_EQ(parse_fault_plan("delay=700ns")->delay_ns, 700U);
}

TEST(FaultPlan, several_blackholes_may_be_given_up_to_a_limit) {
    std::string text = "blackhole=1s..2s";
    for (std::size_t i = 1; i < fault_blackholes_max; ++i) text += ",blackhole=1s..2s";
    EXPECT_EQ(parse_fault_plan(text)->blackholes.size(), fault_blackholes_max);
    EXPECT_FALSE(parse_fault_plan(text + ",blackhole=1s..2s").has_value());
}

TEST(FaultPlan, what_does_not_fit_is_refused) {
    for (const char* text : {"loss",
                             "loss=",
                             "loss=1.1",
                             "loss=-0.1",
                             "loss=1%",
                             "lose=0.1",
                             "loss=0.1,loss=0.2",
                             "loss=0.1,",
                             ",loss=0.1",
                             "reorder=257",
                             "burst=0",
                             "burst=10001",
                             "delay=ms",
                             "delay=1h",
                             "delay=1",
                             "blackhole=1..2",
                             "blackhole=2s",
                             "blackhole=3s..2s",
                             "seed=x",
                             "loss=0.1 dup=0.1"}) {
        EXPECT_FALSE(parse_fault_plan(text).has_value()) << text;
    }
}

}  // namespace
}  // namespace acp::base
