// SPDX-License-Identifier: BSD-3-Clause
// Congestion control with loss detection and pacing on a modelled link: the link is used, windows
// become equal, the queue stays short, and scattered loss is not taken for congestion. One thread.
#include <gtest/gtest.h>
#include <vector>

#include "sim/link_model.hpp"

#include "support/effort.hpp"

namespace acp::sim {
namespace {

constexpr double gigabit = 0.125;  // bytes per ns

struct Path {
    const char* name;
    double bytes_per_ns;
    Time base_rtt_ns;
    double sender_bytes_per_ns;
    std::uint32_t ack_every;
};

std::ostream& operator<<(std::ostream& out, const Path& path) {
    return out << path.name;
}

LinkSettings settings_of(const Path& path) {
    LinkSettings settings;
    settings.bytes_per_ns = path.bytes_per_ns;
    settings.base_rtt_ns = path.base_rtt_ns;
    settings.sender_bytes_per_ns = path.sender_bytes_per_ns;
    settings.ack_every = path.ack_every;
    settings.queue_bytes = 5'300'000;  // the bytes for which a receive buffer of 8 MiB has room
    return settings;
}

class LinkTest : public testing::TestWithParam<Path> {};

TEST_P(LinkTest, one_flow_uses_the_link_with_a_short_queue) {
    LinkModel link(settings_of(GetParam()));
    link.run_until(100 * ms);
    link.measure_from_here();
    link.run_until(600 * ms);
    EXPECT_GE(link.utilisation(), 0.95);
    EXPECT_EQ(link.dropped(), 0U);
    EXPECT_LE(static_cast<double>(link.queue_max()) / GetParam().bytes_per_ns, 900'000.0);
}

TEST_P(LinkTest, one_loss_in_a_thousand_leaves_80_per_cent_and_one_in_a_hundred_half) {
    for (const double loss : {0.001, 0.01}) {
        LinkSettings settings = settings_of(GetParam());
        settings.loss = loss;
        LinkModel link(settings);
        link.run_until(100 * ms);
        link.measure_from_here();
        link.run_until(600 * ms);
        EXPECT_GE(link.utilisation(), loss < 0.005 ? 0.8 : 0.5) << loss;
    }
}

TEST_P(LinkTest, sixteen_flows_share_equally_with_a_bounded_queue) {
    for (const double loss : {0.0, 0.01}) {
        LinkSettings settings = settings_of(GetParam());
        settings.flows = 16;
        settings.credit_datagrams = 220;
        settings.loss = loss;
        LinkModel link(settings);
        link.run_until(2'000 * ms);
        link.measure_from_here();
        link.run_until(2'500 * ms);
        EXPECT_GE(link.utilisation(), 0.95) << loss;
        EXPECT_GE(link.fairness(), 0.9) << loss;
        EXPECT_EQ(link.dropped(), 0U) << loss;
        EXPECT_LE(static_cast<double>(link.queue_max()) / GetParam().bytes_per_ns, 2'500'000.0);
    }
}

TEST_P(LinkTest, flows_that_come_later_neither_starve_nor_are_starved) {
    LinkSettings settings = settings_of(GetParam());
    settings.flows = 16;
    settings.credit_datagrams = 220;
    settings.stagger_ns = 20 * ms;
    LinkModel link(settings);
    link.run_until(3'000 * ms);
    link.measure_from_here();
    link.run_until(3'500 * ms);
    EXPECT_GE(link.utilisation(), 0.95);
    EXPECT_GE(link.fairness(), 0.9);
}

// Under a sanitizer only the slowest path: fast ones take many more datagrams.
std::vector<Path> paths() {
    std::vector<Path> all{{"gigabit", gigabit, 100'000, 1e9, 8}};
    if (test::is_sanitized) return all;
    all.push_back({"10_gigabit", 10 * gigabit, 50'000, 1e9, 8});
    all.push_back({"25_gigabit", 25 * gigabit, 30'000, 1e9, 8});
    // both ends handle batches of 64 KiB at about 3 GB/s
    all.push_back({"loopback", 3.0, 30'000, 4.0, 44});
    return all;
}

INSTANTIATE_TEST_SUITE_P(Paths, LinkTest, testing::ValuesIn(paths()), [](const auto& parameter) {
    return parameter.param.name;
});

TEST(CongestionLink, the_window_on_loopback_grows_to_a_megabyte) {
    LinkModel link(settings_of({"loopback", 3.0, 30'000, 4.0, 44}));
    link.run_until(200 * ms);
    EXPECT_GE(link.window(), 1U << 20);
}

TEST(CongestionLink, a_hundred_flows_into_one_link_share_it_without_loss) {
    LinkSettings settings;
    settings.flows = 100;
    settings.credit_datagrams = 32;
    LinkModel link(settings);
    link.run_until(2'000 * ms);
    link.measure_from_here();
    link.run_until(2'500 * ms);
    EXPECT_GE(link.utilisation(), 0.95);
    EXPECT_GE(link.fairness(), 0.9);
    EXPECT_EQ(link.dropped(), 0U);
}

TEST(CongestionLink, windows_do_not_creep_up_in_half_a_minute) {
    LinkSettings settings;
    settings.flows = 16;
    const Time end = test::effort<Time>(30'000, 4'000) * ms;
    LinkModel link(settings);
    link.run_until(3'000 * ms);
    link.measure_from_here();
    link.run_until(3'500 * ms);
    const std::uint64_t soon = link.queue_max();
    link.run_until(end);
    link.measure_from_here();
    link.run_until(end + 500 * ms);
    EXPECT_LE(static_cast<double>(link.queue_max()), 1.2 * static_cast<double>(soon));
    EXPECT_GE(link.fairness(), 0.95);
}

TEST(CongestionLink, a_shallow_queue_is_used_without_losing_more_than_a_few_per_cent) {
    LinkSettings settings;
    settings.bytes_per_ns = test::effort(25, 10) * gigabit;
    settings.queue_bytes = 200'000;
    LinkModel link(settings);
    link.run_until(500 * ms);
    link.measure_from_here();
    link.run_until(1'000 * ms);
    EXPECT_GE(link.utilisation(), 0.95);
    const double sent = 500e6 * settings.bytes_per_ns / settings.datagram_bytes;
    EXPECT_LE(static_cast<double>(link.dropped()), 0.03 * sent);
}

TEST(CongestionLink, marks_keep_the_queue_near_where_they_begin) {
    LinkSettings settings;
    settings.bytes_per_ns = 25 * gigabit;
    settings.mark_above_bytes = 200'000;
    LinkModel link(settings);
    link.run_until(500 * ms);
    link.measure_from_here();
    link.run_until(1'000 * ms);
    EXPECT_GE(link.utilisation(), 0.9);
    EXPECT_LE(link.queue_max(), 400'000U);
    EXPECT_EQ(link.dropped(), 0U);
}

TEST(CongestionLink, the_control_without_delay_fills_the_queue_and_suffers_from_scattered_loss) {
    LinkSettings settings;
    settings.control = base::CongestionAlgorithm::new_reno;
    LinkModel clean(settings);
    clean.run_until(1'000 * ms);
    EXPECT_GE(clean.utilisation(), 0.95);
    EXPECT_GE(clean.queue_max(), settings.queue_bytes / 2) << "that is why there is another";
    settings.loss = 0.01;
    LinkModel lossy(settings);
    lossy.run_until(1'000 * ms);
    EXPECT_LE(lossy.utilisation(), 0.8);
}

TEST(CongestionLink, half_of_all_lost_ends_in_progress_all_the_same) {
    LinkSettings settings;
    settings.loss = 0.5;
    LinkModel link(settings);
    link.run_until(1'000 * ms);
    link.measure_from_here();
    link.run_until(2'000 * ms);
    EXPECT_GE(link.utilisation() * settings.bytes_per_ns * 1e9 / settings.datagram_bytes, 1000.0)
        << "datagrams in a second";
    link.set_loss(0);
    link.run_until(2'200 * ms);
    link.measure_from_here();
    link.run_until(2'500 * ms);
    EXPECT_GE(link.utilisation(), 0.95) << "and it recovers when the path does";
}

// namespace acp::sim
}  // namespace
}  // namespace acp::sim
