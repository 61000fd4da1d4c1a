// SPDX-License-Identifier: BSD-3-Clause
// Congestion control beside TCP CUBIC on one link, and alone on a queue that holds a few packets.
// One thread.
#include <gtest/gtest.h>
#include <vector>

#include "sim/link_model.hpp"

#include "support/effort.hpp"

namespace acp::sim {
namespace {

struct Path {
    const char* name;
    double bytes_per_ns;
    Time base_rtt_ns;
    Time settle_ns;
    Time measure_ns;
};

std::ostream& operator<<(std::ostream& out, const Path& path) {
    return out << path.name;
}

LinkSettings settings_of(const Path& path) {
    LinkSettings settings;
    settings.bytes_per_ns = path.bytes_per_ns;
    settings.base_rtt_ns = path.base_rtt_ns;
    settings.credit_datagrams = 1U << 20;
    return settings;
}

class RivalTest : public testing::TestWithParam<Path> {};

void expect_a_fair_share(const Path& path,
                         base::CongestionAlgorithm control,
                         const std::vector<double>& depths) {
    for (const double depth : depths) {
        for (const Time begin : {Time{0}, path.settle_ns / 2}) {
            LinkSettings settings = settings_of(path);
            settings.control = control;
            settings.rivals = 1;
            settings.flows_begin_ns = begin;
            settings.queue_bytes = static_cast<std::uint64_t>(
                depth * path.bytes_per_ns * static_cast<double>(path.base_rtt_ns));
            LinkModel link(settings);
            link.run_until(begin + path.settle_ns);
            link.measure_from_here();
            link.run_until(begin + path.settle_ns + path.measure_ns);
            EXPECT_GE(link.share_beside_rivals(), 0.5) << depth << " begins at " << begin;
            EXPECT_LE(link.share_beside_rivals(), 2.0) << depth << " begins at " << begin;
            EXPECT_GE(link.utilisation(), 0.85) << depth << " begins at " << begin;
        }
    }
}

// The algorithms of ACP_CONGESTION for links shared with TCP.
TEST_P(RivalTest,
       gets_half_to_twice_what_tcp_cubic_gets_on_queues_of_a_quarter_to_four_times_the_path) {
    expect_a_fair_share(GetParam(), base::CongestionAlgorithm::cubic, {0.25, 1.0, 4.0});
}

// On a short queue, which overflows before its delay makes a flow back off, and on long ones, where
// backing off does not shorten the queue.
TEST_P(RivalTest, the_default_gets_half_to_twice_what_tcp_cubic_gets_as_well) {
    expect_a_fair_share(GetParam(), base::CongestionAlgorithm::delay, {0.25, 1.0, 4.0});
}

TEST_P(RivalTest, loses_at_most_two_in_a_hundred_alone_on_a_queue_of_four_packets) {
    const Path& path = GetParam();
    LinkSettings settings = settings_of(path);
    settings.queue_bytes = 4 * settings.datagram_bytes;
    LinkModel link(settings);
    link.run_until(path.settle_ns + path.measure_ns);
    EXPECT_LE(link.loss(), 0.02);
    EXPECT_GT(link.utilisation(), 0.3);
}

// Under a sanitizer only the slowest path.
std::vector<Path> paths() {
    std::vector<Path> all{{"100_megabit_10_ms", 0.0125, 10 * ms, 30 * s, 60 * s}};
    if (test::is_sanitized) return all;
    all.push_back({"gigabit_1_ms", 0.125, 1 * ms, 4 * s, 16 * s});
    all.push_back({"10_gigabit_100_us", 1.25, 100 * us, 100 * ms, 200 * ms});
    return all;
}

INSTANTIATE_TEST_SUITE_P(Paths, RivalTest, testing::ValuesIn(paths()), [](const auto& parameter) {
    return parameter.param.name;
});

// namespace acp::sim
}  // namespace
}  // namespace acp::sim
