// SPDX-License-Identifier: BSD-3-Clause
// The simulator of a whole network.
#include "exchange_study/fluid.hpp"

#include <gtest/gtest.h>

#include "exchange/network_presets.hpp"

namespace acp::exchange_study {
namespace {

using base::Code;

// Three nodes in a row of one link each way, with engines of 10, links of 12, 25 into and out of a
// node.
exchange::NetworkModel row() {
    exchange::NetworkModel model;
    model.nodes = 3;
    model.links = {{0, 1, 12}, {1, 0, 12}, {1, 2, 12}, {2, 1, 12}};
    model.node = {4, 10, 25, 25, 5, 1, 0, 0};
    return model;
}

FluidTimes run(const exchange::NetworkModel& model, const std::vector<FluidQueue>& queues) {
    FluidSimulation simulation(model);
    auto times = simulation.run(queues);
    EXPECT_TRUE(times.is_ok());
    return std::move(times).value();
}

TEST(FluidSimulation, sends_the_commands_of_a_queue_one_after_the_other) {
    const auto times = run(row(), {{0, 0, 0, {{1, 0, 100}, {1, 0, 50}}}});
    EXPECT_DOUBLE_EQ(times.command_end_us[0][0], 10);
    EXPECT_DOUBLE_EQ(times.command_end_us[0][1], 15);
    EXPECT_DOUBLE_EQ(times.transfer_us, 15);
    EXPECT_DOUBLE_EQ(times.total_us, 15 + 5 + 2);
}

TEST(FluidSimulation, shares_a_link_between_engines) {
    const auto times = run(row(), {{0, 0, 0, {{1, 0, 60}}}, {0, 1, 0, {{1, 1, 120}}}});
    EXPECT_DOUBLE_EQ(times.command_end_us[0][0], 10);  // 6 each
    EXPECT_DOUBLE_EQ(times.command_end_us[1][0], 16);  // 60 more at 10
}

TEST(FluidSimulation, shares_a_receive_engine_that_two_nodes_send_to) {
    const auto together = run(row(), {{0, 0, 0, {{1, 0, 100}}}, {2, 0, 0, {{1, 0, 100}}}});
    EXPECT_DOUBLE_EQ(together.transfer_us, 20);
    const auto apart = run(row(), {{0, 0, 0, {{1, 0, 100}}}, {2, 0, 0, {{1, 3, 100}}}});
    EXPECT_DOUBLE_EQ(apart.transfer_us, 10);
    const auto any = run(row(), {{0, 0, 0, {{1, any_receive_engine, 100}}},
                                 {2, 0, 0, {{1, any_receive_engine, 100}}}});
    EXPECT_DOUBLE_EQ(any.transfer_us, 10);
}

TEST(FluidSimulation, limits_what_a_node_receives) {
    exchange::NetworkModel model = row();
    model.node.reception_rate = 16;
    const auto times = run(model, {{0, 0, 0, {{1, 0, 80}}}, {2, 0, 0, {{1, 1, 80}}}});
    EXPECT_DOUBLE_EQ(times.transfer_us, 10);
}

TEST(FluidSimulation, loads_every_link_of_a_route) {
    // 0 -> 2 and 1 -> 2 share the second link.
    const auto times = run(row(), {{0, 0, 0, {{2, 0, 60}}}, {1, 0, 0, {{2, 1, 60}}}});
    EXPECT_DOUBLE_EQ(times.transfer_us, 10);
}

TEST(FluidSimulation, begins_engines_one_stair_after_the_other) {
    exchange::NetworkModel model = row();
    model.node.stair_us = 2;
    const auto times = run(model, {{0, 3, 1, {{1, 0, 10}}}, {0, 0, 0, {}}});
    EXPECT_DOUBLE_EQ(times.command_end_us[0][0], 1 + 6 + 1);
    EXPECT_DOUBLE_EQ(times.node_end_us[0], 8);
    EXPECT_DOUBLE_EQ(times.node_end_us[1], 0);
}

TEST(FluidSimulation, refuses_queues_for_what_is_not_there) {
    const exchange::NetworkModel model = row();
    FluidSimulation simulation(model);
    EXPECT_EQ(simulation.run({{3, 0, 0, {}}}).failure().code(), Code::argument);
    EXPECT_EQ(simulation.run({{0, 4, 0, {}}}).failure().code(), Code::argument);
    EXPECT_EQ(simulation.run({{0, 0, 0, {}}, {0, 0, 0, {}}}).failure().code(), Code::argument);
    EXPECT_EQ(simulation.run({{0, 0, 0, {{9, 0, 1}}}}).failure().code(), Code::argument);
    EXPECT_EQ(simulation.run({{0, 0, 0, {{1, 4, 1}}}}).failure().code(), Code::argument);
}

}  // namespace
}  // namespace acp::exchange_study
