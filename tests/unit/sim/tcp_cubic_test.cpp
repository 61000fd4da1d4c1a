// SPDX-License-Identifier: BSD-3-Clause
// The model of TCP with which other algorithms are compared: it fills a link, overflows its queue,
// and reduces by 0.7. One thread.
#include "sim/tcp_cubic.hpp"

#include <gtest/gtest.h>
#include <utility>
#include <vector>

#include "datagram/time.hpp"
#include "sim/link_model.hpp"

namespace acp::sim {
namespace {

// Sends the segments that the window allows, and acknowledges them a round trip later, except those
// for which lost() is true.
template <typename Lost>
void round(TcpCubic& tcp, Time& now, Time rtt, Lost lost) {
    std::vector<std::uint64_t> sent;
    for (std::uint64_t room = tcp.room(); room != 0; --room) sent.push_back(tcp.send(now));
    now += rtt;
    for (const std::uint64_t segment : sent) {
        if (!lost(segment)) tcp.on_ack(now, segment);
    }
}

constexpr auto nothing = [](std::uint64_t) { return false; };

TEST(TcpCubic, doubles_its_window_per_round_trip_until_something_is_lost) {
    TcpCubic tcp;
    Time now = s;
    for (int i = 0; i < 4; ++i) round(tcp, now, 10 * ms, nothing);
    EXPECT_EQ(tcp.window(), 16 * TcpCubic::initial_window);
    EXPECT_TRUE(tcp.is_slow_start());
    bool has_lost = false;
    round(tcp, now, 10 * ms, [&](std::uint64_t) { return !std::exchange(has_lost, true); });
    EXPECT_FALSE(tcp.is_slow_start());
    EXPECT_LT(tcp.window(), 16 * TcpCubic::initial_window);
}

TEST(TcpCubic, reduces_by_seven_tenths_once_for_all_losses_of_a_window_and_grows_back) {
    TcpCubic tcp;
    Time now = s;
    for (int i = 0; i < 4; ++i) round(tcp, now, 10 * ms, nothing);
    const double before = tcp.window();
    // The first loss is detected within the window, of which a part has doubled before.
    round(tcp, now, 10 * ms, [](std::uint64_t segment) { return segment % 20 == 10; });
    EXPECT_LT(tcp.window(), before);
    EXPECT_GE(tcp.window(), TcpCubic::beta * before);
    for (int i = 0; i < 200; ++i) round(tcp, now, 10 * ms, nothing);
    EXPECT_GT(tcp.window(), before);
}

TEST(TcpCubic, begins_with_one_segment_after_a_timeout) {
    TcpCubic tcp;
    Time now = s;
    EXPECT_EQ(tcp.deadline(), datagram::never);
    round(tcp, now, 10 * ms, [](std::uint64_t) { return true; });
    EXPECT_EQ(tcp.room(), 0U);
    EXPECT_GE(tcp.deadline(), s + TcpCubic::timeout_min_ns);
    tcp.on_timeout(tcp.deadline() - 1);
    EXPECT_EQ(tcp.room(), 0U) << "not yet";
    tcp.on_timeout(tcp.deadline());
    EXPECT_EQ(tcp.room(), 1U);
}

TEST(TcpCubic, two_of_them_fill_a_link_and_its_queue) {
    LinkSettings settings;
    settings.bytes_per_ns = 0.0125;
    settings.base_rtt_ns = 10 * ms;
    settings.queue_bytes = 125'000;
    settings.flows = 1;
    settings.flows_begin_ns = 1'000 * s;
    settings.rivals = 2;
    LinkModel link(settings);
    link.run_until(20 * s);
    link.measure_from_here();
    link.run_until(40 * s);
    EXPECT_GE(link.utilisation(), 0.95);
    EXPECT_GE(link.queue_max(), 100'000U) << "it fills the queue";
}

// namespace acp::sim
}  // namespace
}  // namespace acp::sim
