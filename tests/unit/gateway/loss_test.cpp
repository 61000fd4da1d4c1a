// SPDX-License-Identifier: BSD-3-Clause
// Commands under injected faults over real sockets: every byte arrives, every atomic runs once,
// every command ends; and without faults the kernel drops no datagram for lack of a receive buffer.
// One thread polls all gateways and ranks. This is the short form of the tests with real processes
// (tests/nodes).
#include <gtest/gtest.h>

#include "unit/gateway/test_job.hpp"

namespace acp::gateway::test {
namespace {

constexpr std::uint64_t mebibyte = 1024 * 1024;

struct Plan {
    const char* name;
    const char* fault;
};

constexpr Plan all_plans[] = {
    {"one_percent", "loss=0.01,seed=1"},
    {"ten_percent", "loss=0.1,seed=2"},
    {"thirty_percent", "loss=0.3,seed=3"},
    {"bursts", "loss=0.05,burst=20,seed=4"},
    {"doubles", "dup=0.3,seed=5"},
    {"disorder", "reorder=64,seed=6"},
    {"damage", "corrupt=0.05,seed=7"},
    {"delay", "delay=2ms,seed=8"},
    {"blackhole", "blackhole=1ms..400ms,seed=9"},
    {"everything", "loss=0.05,dup=0.05,reorder=16,corrupt=0.01,burst=3,seed=10"},
};

void PrintTo(const Plan& plan, std::ostream* out) {
    *out << plan.name;
}

JobOptions options_of(const Plan& plan) {
    JobOptions options;
    options.counts = {2, 1, 1};
    options.is_own = true;
    options.config.fault = plan.fault;
    return options;
}

class LossTest : public testing::TestWithParam<Plan> {
protected:
    LossTest() : job_(options_of(GetParam())) {}

    Job job_;
};

TEST_P(LossTest, every_byte_arrives_and_every_atomic_runs_once) {
    const std::uint32_t last = job_.procs() - 1;
    const Memory target = job_.memory(last, false);
    const Memory back = job_.memory(last - 1, true);
    constexpr std::uint64_t bytes = 300'000;
    std::uint64_t additions = 0;
    for (std::uint32_t p = 0; p < 2; ++p) {
        job_.fill(job_.memory(p, true).bytes, bytes);
        // Long copies, third-party copies, and short ones between them.
        job_.submit(p, {Operation::copy, 0, target.address + p * mebibyte,
                        job_.memory(p, true).address, bytes, 0, 0});
        for (std::uint32_t i = 0; i < 100; ++i) {
            job_.submit(p, {Operation::copy, 0, back.address + p * 4096 + i * 8ULL,
                            job_.memory(p, true).address + i * 8ULL, 8, 0, 0});
            job_.submit(p, {Operation::add, 8, job_.memory(p, false).address + 64,
                            target.address + 3 * mebibyte, 8, 1 + i, 0});
            additions += 1 + i;
        }
    }
    for (std::uint32_t p = 0; p < 2; ++p) {
        job_.poll_until([&] { return job_.process(p).ended.size() == 201; });
        for (const Ended& one : job_.process(p).ended) EXPECT_EQ(one.code, Code::ok);
        job_.process(p).ended.clear();
        EXPECT_EQ(std::memcmp(target.bytes + p * mebibyte, job_.memory(p, true).bytes, bytes), 0);
        EXPECT_EQ(std::memcmp(back.bytes + p * 4096, job_.memory(p, true).bytes, 800), 0);
    }
    std::uint64_t sum = 0;
    std::memcpy(&sum, target.bytes + 3 * mebibyte, 8);
    EXPECT_EQ(sum, additions);
    const Ended third =
        job_.run(0, {Operation::copy, 0, back.address + mebibyte, target.address, bytes, 0, 0});
    EXPECT_EQ(third.code, Code::ok);
    EXPECT_EQ(std::memcmp(back.bytes + mebibyte, target.bytes, bytes), 0);
    const gateway::StatsValues values = job_.stats(0);
    EXPECT_GT(values.tables.faults[0], 0U) << "no datagram went through the injector";
}

std::string name_of(const testing::TestParamInfo<Plan>& info) {
    return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(under, LossTest, testing::ValuesIn(all_plans), name_of);

// Five nodes send as fast as they can to one whose socket has a small buffer.
TEST(CleanRun, no_datagram_is_dropped_for_want_of_a_receive_buffer) {
    JobOptions options;
    options.counts = {1, 1, 1, 1, 1, 1};
    options.is_own = true;
    options.config.socket_bytes = 2 * 1024 * 1024;
    Job job(options);
    constexpr std::uint64_t bytes = 600'000;
    constexpr std::uint32_t rounds = 5;
    for (std::uint32_t p = 1; p < job.procs(); ++p) {
        job.fill(job.memory(p, false).bytes, bytes);
        for (std::uint32_t i = 0; i < rounds; ++i) {
            job.submit(p, {Operation::copy, 0, job.memory(0, false).address + p * 640 * 1024,
                           job.memory(p, false).address, bytes, 0, 0});
        }
    }
    for (std::uint32_t p = 1; p < job.procs(); ++p) {
        job.poll_until([&] { return job.process(p).ended.size() == rounds; });
        EXPECT_EQ(std::memcmp(job.memory(0, false).bytes + p * 640 * 1024,
                              job.memory(p, false).bytes, bytes),
                  0);
    }
    for (std::uint32_t node = 0; node < job.procs(); ++node) {
        const gateway::StatsValues values = job.stats(node);
        EXPECT_EQ(values.receive_drops, 0U) << "node " << node;
    }
}

}  // namespace
}  // namespace acp::gateway::test
