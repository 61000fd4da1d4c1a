// SPDX-License-Identifier: BSD-3-Clause
// A reader of the memory file of a gateway's counters finds them whole and of this build, or gets
// an error.
#include "unit/gateway/test_job.hpp"

namespace acp::gateway::test {
namespace {

std::unique_ptr<gateway::StatsBlock> written_block() {
    auto block = std::make_unique<gateway::StatsBlock>();
    block->magic = gateway::stats_magic;
    block->version = gateway::stats_version;
    block->values_bytes = sizeof(gateway::StatsValues);
    block->sequence.store(2, std::memory_order_relaxed);
    block->values.turns = 17;
    return block;
}

TEST(Stats, what_was_written_whole_is_read) {
    const auto values = std::make_unique<gateway::StatsValues>();
    ASSERT_TRUE(gateway::read_stats(*written_block(), *values));
    EXPECT_EQ(values->turns, 17U);
}

TEST(Stats, what_was_never_written_or_is_of_another_build_is_not_read) {
    const auto values = std::make_unique<gateway::StatsValues>();
    const auto refuses = [&](auto change) {
        const auto block = written_block();
        change(*block);
        return !gateway::read_stats(*block, *values);
    };
    EXPECT_TRUE(refuses([](gateway::StatsBlock& block) { block.magic = 0; }));
    EXPECT_TRUE(refuses([](gateway::StatsBlock& block) { ++block.version; }));
    EXPECT_TRUE(refuses([](gateway::StatsBlock& block) { block.values_bytes += 8; }));
    EXPECT_TRUE(refuses([](gateway::StatsBlock& block) { block.sequence = 0; }));
    EXPECT_TRUE(refuses([](gateway::StatsBlock& block) { block.sequence = 3; }))
        << "its writer died within";
    EXPECT_EQ(values->turns, 0U);
}

TEST(Stats, a_gateway_publishes_its_node_and_counts_its_turns) {
    JobOptions options;
    options.counts = {2, 1};
    Job job(options);
    const gateway::StatsValues first = job.stats(1);
    EXPECT_EQ(first.node, 1U);
    EXPECT_EQ(first.nodes, 2U);
    EXPECT_EQ(first.local_procs, 1U);
    EXPECT_GT(first.receive_bytes, 0U);
    EXPECT_LE(first.started_ns, first.updated_ns);
    const gateway::StatsValues second = job.stats(1);
    EXPECT_GT(second.turns, first.turns);
    EXPECT_GT(second.updated_ns, first.updated_ns);
    EXPECT_EQ(job.stats(0).local_procs, 2U);
}

TEST(Stats, are_due_after_a_change_in_time_or_on_request) {
    auto made = gateway::StatsPublisher::create(0, 2, 0, 1, gateway::StatsPublisher::Owner::agent);
    ASSERT_TRUE(made.is_ok()) << made.failure().message();
    gateway::StatsPublisher& publisher = made.value();
    EXPECT_TRUE(publisher.is_due(publisher.next_ns(), true));
    EXPECT_FALSE(publisher.is_due(publisher.next_ns(), false)) << "an idle gateway writes nothing";
    publisher.ask();
    EXPECT_TRUE(publisher.is_due(0, false));
}

}  // namespace
}  // namespace acp::gateway::test
