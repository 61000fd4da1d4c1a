// SPDX-License-Identifier: BSD-3-Clause
// Gateways in threads of their own, as agents run them: commands, datagrams, meetings and deaths
// wake them, and without any of these they sleep.
#include <gtest/gtest.h>

#include "node/loss.hpp"
#include "os/futex.hpp"

#include "unit/gateway/test_job.hpp"

namespace acp::gateway::test {
namespace {

// Longer than a gateway takes to fall asleep.
constexpr std::int64_t long_enough_ns = 200'000'000;

// Gives the gateways time to fall asleep.
void rest() {
    static const std::atomic<std::uint32_t> never_changes{0};
    os::futex_wait(never_changes, 0, long_enough_ns);  // lint: sleep is the subject
}

JobOptions two_nodes() {
    JobOptions options;
    options.counts = {2, 2};
    return options;
}

TEST(GatewayRun, commands_wake_gateways_that_sleep) {
    Job job(two_nodes());
    job.start_threads();
    for (int round = 0; round < 3; ++round) {
        rest();
        job.fill(job.memory(0, true).bytes, 10'000);
        ASSERT_EQ(job.copy(0, job.memory(3, true).address, job.memory(0, true).address, 10'000),
                  Code::ok);
        EXPECT_EQ(std::memcmp(job.memory(3, true).bytes, job.memory(0, true).bytes, 10'000), 0);
        ASSERT_EQ(job.copy(1, job.memory(1, false).address, job.memory(2, false).address, 8),
                  Code::ok);
    }
}

TEST(GatewayRun, a_meeting_wakes_gateways_that_sleep) {
    Job job(two_nodes());
    job.start_threads();
    for (std::uint32_t number = 1; number <= 3; ++number) {
        rest();
        for (const std::uint32_t node : {0U, 1U}) {
            job.segment(node).control().meeting_asked.exchange(number, std::memory_order_seq_cst);
            job.segment(node).wake_gateway();
        }
        job.poll_until([&] {
            const auto& first = job.segment(0).control().barrier_released;
            const auto& second = job.segment(1).control().barrier_released;
            return first.reached(first.load(), number) && second.reached(second.load(), number);
        });
    }
}

TEST(GatewayRun, a_death_wakes_gateways_that_sleep) {
    Job job(two_nodes());
    job.start_threads();
    ASSERT_EQ(job.copy(0, job.memory(3, false).address, job.memory(0, false).address, 8), Code::ok);
    rest();
    job.kill(3);
    job.poll_until([&] { return node::is_lost(job.segment(0), 3); });
}

TEST(GatewayRun, an_idle_gateway_does_nothing) {
    Job job(two_nodes());
    job.start_threads();
    ASSERT_EQ(job.copy(0, job.memory(3, false).address, job.memory(0, false).address, 8), Code::ok);
    rest();
    const gateway::StatsValues before = job.stats(0);
    for (int i = 0; i < 5; ++i) rest();
    const gateway::StatsValues after = job.stats(0);
    // A wakeup takes some microseconds: 0.2 % of a second are hundreds.
    EXPECT_LE(after.sleeps - before.sleeps, 20U);
    EXPECT_LE(after.turns - before.turns, 20'000U) << "it polls before it sleeps, but seldom";
}

TEST(GatewayRun, many_threads_of_work_end_alike) {
    Job job(two_nodes());
    job.start_threads();
    constexpr std::uint32_t count = 500;
    for (std::uint32_t i = 0; i < count; ++i) {
        for (std::uint32_t p = 0; p < 4; ++p) {
            job.submit(p, {Operation::add, 8, job.memory(p, false).address + 64,
                           job.memory((p + 2) % 4, i % 2 != 0).address + 128, 8, 1, 0});
        }
    }
    for (std::uint32_t p = 0; p < 4; ++p) {
        job.poll_until([&] { return job.process(p).ended.size() == count; });
        for (const Ended& one : job.process(p).ended) EXPECT_EQ(one.code, Code::ok);
    }
    // Each word was added to by another process.
    for (std::uint32_t p = 0; p < 4; ++p) {
        std::uint64_t shared = 0;
        std::uint64_t own = 0;
        std::memcpy(&shared, job.memory(p, false).bytes + 128, 8);
        std::memcpy(&own, job.memory(p, true).bytes + 128, 8);
        EXPECT_EQ(shared + own, count);
    }
}

}  // namespace
}  // namespace acp::gateway::test
