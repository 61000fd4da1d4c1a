// SPDX-License-Identifier: BSD-3-Clause
// Several rails between the gateways of a job, over real sockets: the bytes of every colour are
// right, also under faults; each colour has its own rail, as cutting one shows; and a node that is
// lost on one rail is lost on all. One thread polls all gateways and ranks.
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "unit/gateway/test_job.hpp"

namespace acp::gateway::test {
namespace {

constexpr std::uint32_t rails = 4;
constexpr std::uint64_t mebibyte = 1024 * 1024;

JobOptions options_of(const std::string& fault, bool is_own) {
    JobOptions options;
    options.counts =
        is_own ? std::vector<std::uint32_t>{1, 1, 1} : std::vector<std::uint32_t>{2, 1, 1};
    options.is_own = is_own;
    options.config.rails = rails;
    options.config.fault = fault;
    return options;
}

class RailsTest : public testing::TestWithParam<bool> {
protected:
    static local::GlobalAddress colored(Job& job,
                                        local::GlobalAddress address,
                                        std::uint32_t color) {
        return job.process(0).rank->space.layout().colored(address, color);
    }

    // Copies of all lengths and routes in all colours, and atomics, all in flight at once.
    static void expect_all_right(Job& job) {
        const std::uint32_t last = job.procs() - 1;
        const Memory source = job.memory(0, true);
        const Memory target = job.memory(last, false);
        const Memory third = job.memory(last - 1, true);
        constexpr std::uint64_t bytes = 200'000;
        constexpr std::uint64_t stride = mebibyte / 2;
        job.fill(source.bytes, bytes);
        for (std::uint32_t color = 0; color < rails; ++color) {
            const auto at = [&](const Memory& memory, std::uint64_t offset) {
                return colored(job, memory.address + offset, color);
            };
            job.submit(
                0, {Operation::copy, 0, at(target, color * stride), source.address, bytes, 0, 0});
            for (std::uint64_t i = 0; i < 50; ++i) {
                job.submit(0, {Operation::copy, 0, at(third, color * stride + i * 8),
                               source.address + i * 8, 8, 0, 0});
                job.submit(0, {Operation::add, 8, job.memory(0, false).address + 64,
                               at(target, 3 * mebibyte), 8, 1, 0});
            }
        }
        job.poll_until([&] { return job.process(0).ended.size() == rails * 101; });
        for (const Ended& one : job.process(0).ended) EXPECT_EQ(one.code, Code::ok);
        job.process(0).ended.clear();
        for (std::uint32_t color = 0; color < rails; ++color) {
            EXPECT_EQ(std::memcmp(target.bytes + color * stride, source.bytes, bytes), 0) << color;
            EXPECT_EQ(std::memcmp(third.bytes + color * stride, source.bytes, 400), 0) << color;
        }
        std::uint64_t sum = 0;
        std::memcpy(&sum, target.bytes + 3 * mebibyte, 8);
        EXPECT_EQ(sum, rails * 50);
        for (std::uint32_t color = 0; color < rails; ++color) {
            const Memory own = job.memory(0, false);
            // A get takes the source's colour, and a third-party copy the target's.
            EXPECT_EQ(job.copy(0, own.address + stride, colored(job, target.address, color), bytes),
                      Code::ok);
            EXPECT_EQ(std::memcmp(own.bytes + stride, source.bytes, bytes), 0) << color;
            EXPECT_EQ(job.copy(0, colored(job, third.address + 2 * mebibyte, color), target.address,
                               bytes),
                      Code::ok);
            EXPECT_EQ(std::memcmp(third.bytes + 2 * mebibyte, source.bytes, bytes), 0) << color;
            std::memset(own.bytes + stride, 0, bytes);
            std::memset(third.bytes + 2 * mebibyte, 0, bytes);
        }
    }
};

TEST_P(RailsTest, carry_every_colour) {
    Job job(options_of("", GetParam()));
    expect_all_right(job);
}

TEST_P(RailsTest, carry_every_colour_under_faults) {
    Job job(options_of("loss=0.1,dup=0.05,reorder=8,seed=3", GetParam()));
    expect_all_right(job);
    EXPECT_GT(job.stats(0).tables.faults[0], 0U) << "no datagram went through the injector";
}

// No rail replaces another one: commands that need the cut rail fail, and its node is lost from
// then on.
TEST_P(RailsTest, a_cut_rail_is_felt_by_its_colour_alone_until_its_node_is_given_up) {
    JobOptions options = options_of("blackhole=0s..1000s,rail=2", GetParam());
    options.connect_timeout_ns = 300'000'000;
    options.config.peer_timeout_ns = 300'000'000;
    Job job(options);
    const std::uint32_t last = job.procs() - 1;
    const Memory source = job.memory(0, false);
    const Memory target = job.memory(last, false);
    for (const std::uint32_t color : {0U, 1U, 3U}) {
        EXPECT_EQ(job.copy(0, colored(job, target.address, color), source.address, 100'000),
                  Code::ok);
        EXPECT_EQ(job.copy(0, source.address, colored(job, target.address, color), 8), Code::ok);
    }
    const std::uint64_t began_ns = os::now_ns();
    const Ended cut =
        job.run(0, {Operation::copy, 0, colored(job, target.address, 2), source.address, 8, 0, 0});
    EXPECT_EQ(cut.code, Code::peer);
    EXPECT_GT(os::now_ns() - began_ns, 250'000'000U) << "it was given up before its time";
    const std::string told = node::fate_of_process(job.segment(0), last, cut.loss);
    EXPECT_NE(told.find("could not be reached on rail 2 within "), std::string::npos) << told;
    for (std::uint32_t color = 0; color < rails; ++color) {
        EXPECT_EQ(job.copy(0, colored(job, target.address, color), source.address, 8), Code::peer);
    }
    EXPECT_EQ(job.copy(0, job.memory(last - 1, false).address, source.address, 8), Code::ok)
        << "another node was given up too";
}

TEST_P(RailsTest, a_node_that_falls_silent_is_lost_on_all) {
    JobOptions options = options_of("", GetParam());
    options.config.peer_timeout_ns = 300'000'000;
    Job job(options);
    const std::uint32_t last = job.procs() - 1;
    const Memory source = job.memory(0, false);
    const Memory target = job.memory(last, false);
    for (std::uint32_t color = 0; color < rails; ++color) {
        EXPECT_EQ(job.copy(0, colored(job, target.address, color), source.address, 8), Code::ok);
    }
    job.stop_node(job.process(last).node);
    for (std::uint32_t color = 0; color < rails; ++color) {
        job.submit(0, {Operation::copy, 0, colored(job, target.address, color), source.address,
                       100'000, 0, 0});
    }
    job.poll_until([&] { return job.process(0).ended.size() == rails; });
    for (const Ended& one : job.process(0).ended) EXPECT_EQ(one.code, Code::peer);
    job.process(0).ended.clear();
    EXPECT_EQ(job.copy(0, job.memory(last - 1, false).address, source.address, 8), Code::ok);
}

TEST(RailsSettings, a_gateway_with_fewer_addresses_than_rails_is_refused) {
    JobOptions options;
    const node::Segment segment = make_segment(options, 0);
    GatewaySettings settings;
    settings.nodes = 2;
    settings.first_process = {0, 1, 2};
    settings.bind = {engine::emulated_address(0)};
    settings.config.rails = 2;
    const auto made = Gateway::open(segment, settings);
    ASSERT_FALSE(made.is_ok());
    EXPECT_EQ(made.failure().code(), Code::argument);
    EXPECT_NE(made.failure().message().find("2 rails"), std::string::npos)
        << made.failure().message();
}

INSTANTIATE_TEST_SUITE_P(gateways, RailsTest, testing::Bool(), [](const auto& each) {
    return each.param ? "of_ranks" : "of_agents";
});

}  // namespace
}  // namespace acp::gateway::test
