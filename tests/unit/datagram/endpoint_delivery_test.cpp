// SPDX-License-Identifier: BSD-3-Clause
// Frames arrive exactly once and unchanged, over networks with few, many and very many faults.
#include <gtest/gtest.h>
#include <string>

#include "datagram/probe_timer.hpp"

#include "support/effort.hpp"
#include "unit/datagram/test_net.hpp"

namespace acp::datagram::testing {
namespace {

void expect_each_once(const Host& host, std::uint64_t first, std::uint64_t count) {
    EXPECT_FALSE(host.has_damage);
    EXPECT_EQ(host.arrived.size(), count);
    for (std::uint64_t name = first; name < first + count; ++name) {
        const auto found = host.arrived.find(name);
        ASSERT_NE(found, host.arrived.end()) << "frame " << name << " never came";
        EXPECT_EQ(found->second, 1) << "frame " << name;
    }
}

// Sends `count` frames from one node to another as room allows.
void pump(Net& net, NodeId from, NodeId to, std::uint64_t count, std::uint32_t bytes) {
    Host& host = net.hosts[from];
    std::uint64_t next = 0;
    const bool is_done = net.run_until(net.now + 600 * s, [&] {
        while (next < count && host.send(to, next, bytes)) ++next;
        net.flush(from);
        return next == count && host.endpoint->is_quiet();
    });
    EXPECT_TRUE(is_done) << next << " of " << count << " sent, " << net.hosts[to].arrived.size()
                         << " arrived";
}

TEST(EndpointDelivery, connects_at_the_first_frame_and_delivers_it) {
    Net net(2, 1);
    ASSERT_TRUE(net.hosts[0].send(1, 5, 100));
    EXPECT_FALSE(net[0].is_quiet());
    ASSERT_TRUE(net.settle(1 * s));
    expect_each_once(net.hosts[1], 5, 1);
    EXPECT_EQ(net[0].counters().connections, 1U);
    EXPECT_EQ(net[1].counters().connections, 1U);
    EXPECT_EQ(net[0].counters().retransmitted, 0U);
}

// At each security level and on each network, long frames and short ones, some with tails in other
// memory.
TEST(EndpointDelivery, delivers_frames_whose_tails_lie_elsewhere) {
    for (const base::Security security :
         {base::Security::encrypt, base::Security::authenticate, base::Security::off}) {
        Settings settings;
        settings.security = security;
        Net net(2, 7, settings);
        net.faults.loss = 1000;
        net.faults.doubled = 500;
        base::Random random(11);
        constexpr std::uint64_t count = 600;
        std::uint64_t next = 0;
        // The other side sends too, so that acknowledgements share datagrams with tails.
        std::uint64_t back = 10'000;
        EXPECT_TRUE(net.run_until(net.now + 600 * s, [&] {
            Host& host = net.hosts[0];
            while (next < count) {
                const auto bytes = static_cast<std::uint32_t>(random.below(1300) + 40);
                const bool is_sent =
                    next % 3 == 0 ? host.send(1, next, bytes) : host.send_with_tail(1, next, bytes);
                if (!is_sent) break;
                ++next;
            }
            while (back < 10'000 + next / 4 && net.hosts[1].send_with_tail(0, back, 900)) ++back;
            net.flush(0);
            net.flush(1);
            return next == count && net[0].is_quiet() && net[1].is_quiet();
        }));
        expect_each_once(net.hosts[1], 0, count);
        EXPECT_FALSE(net.hosts[0].has_damage);
        EXPECT_GT(net[0].counters().retransmitted, 10U);
    }
}

TEST(EndpointDelivery, a_round_trip_takes_no_longer_than_the_network) {
    Net net(2, 1);
    net.faults.jitter = 0;
    net.hosts[1].on_frame = [&](NodeId from, std::uint64_t name) {
        net.hosts[1].send(from, name + 1);
    };
    net.hosts[0].send(1, 10);
    ASSERT_TRUE(net.run_until(net.now + s, [&] { return net.hosts[0].arrived.contains(11); }));
    for (std::uint64_t i = 20; i < 40; i += 2) {
        const Time begin = net.now;
        net.hosts[0].send(1, i);
        ASSERT_TRUE(
            net.run_until(net.now + s, [&] { return net.hosts[0].arrived.contains(i + 1); }));
        EXPECT_EQ(net.now - begin, 2 * net.faults.delay);
    }
}

TEST(EndpointDelivery, many_frames_share_a_datagram) {
    Net net(2, 1);
    for (std::uint64_t name = 0; name < 400; ++name) ASSERT_TRUE(net.hosts[0].send(1, name, 30));
    ASSERT_TRUE(net.settle(1 * s));
    expect_each_once(net.hosts[1], 0, 400);
    EXPECT_LE(net[1].counters().delivered, 400U * 30 / 1400 + 2);
}

TEST(EndpointDelivery, both_ways_at_once) {
    Net net(2, 1);
    for (std::uint64_t name = 0; name < 1000; ++name) {
        net.hosts[0].send(1, name, 1000);
        net.hosts[1].send(0, name, 1000);
        if (name % 10 == 0) net.run_for(20 * us);
    }
    ASSERT_TRUE(net.settle(10 * s));
    EXPECT_GT(net.hosts[0].arrived.size(), 500U);
    EXPECT_EQ(net.hosts[0].severed.size(), 0U);
}

TEST(EndpointDelivery, a_long_stream_arrives_over_a_good_network_without_retransmission) {
    Net net(2, 1);
    net.faults.jitter = 0;  // else more than three datagrams overtake some of them
    pump(net, 0, 1, 20'000, 1400);
    expect_each_once(net.hosts[1], 0, 20'000);
    EXPECT_EQ(net[0].counters().retransmitted, 0U);
}

struct Weather {
    const char* name;
    Faults faults;
    std::uint64_t frames;
};

class EndpointWeather : public ::testing::TestWithParam<Weather> {};

// WIRE-45 WIRE-46
TEST_P(EndpointWeather, delivers_each_frame_once) {
    const Weather& weather = GetParam();
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Settings settings;
        settings.first_dsn = 0U - 100U;
        settings.key_packets_log2 = 7;
        settings.peer_timeout_ns = 60 * s;
        settings.connect_timeout_ns = 60 * s;
        settings.idle_fold_ns = 2 * s;
        Net net(2, seed, settings);
        net.faults = weather.faults;
        pump(net, 0, 1, weather.frames, 700);
        expect_each_once(net.hosts[1], 0, weather.frames);
        EXPECT_TRUE(net.hosts[0].severed.empty() && net.hosts[1].severed.empty());
        if (::testing::Test::HasFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Weathers,
    EndpointWeather,
    ::testing::Values(Weather{"Fair", {}, 2000},
                      Weather{"Loss1", {.loss = 100}, 2000},
                      Weather{"Loss10", {.loss = 1000}, 1000},
                      Weather{"Loss30", {.loss = 3000}, 500},
                      Weather{"Loss50", {.loss = 5000}, 200},
                      Weather{"Doubled50", {.doubled = 5000}, 1000},
                      Weather{"Damaged10", {.damaged = 1000}, 1000},
                      Weather{"Reordered", {.jitter = 500 * us}, 1000},
                      Weather{"Everything",
                              {.loss = 1000, .doubled = 2000, .damaged = 500, .jitter = 300 * us},
                              500}),
    [](const auto& tested) { return tested.param.name; });

TEST(EndpointDelivery, half_of_the_datagrams_lost_and_still_soon_there) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Net net(2, seed);
        net.hosts[0].send(1, 1);
        ASSERT_TRUE(net.settle(5 * s));
        net.faults.loss = 5000;
        const Time begin = net.now;
        for (std::uint64_t name = 2; name < 12; ++name) net.hosts[0].send(1, name, 1400);
        ASSERT_TRUE(net.settle(10 * s));
        EXPECT_LT(net.now - begin, 3 * s);
        expect_each_once(net.hosts[1], 1, 11);
    }
}

// WIRE-55
TEST(EndpointDelivery, a_receiver_with_a_small_buffer_is_never_overrun) {
    Settings settings;
    settings.receive_bytes = 65536 * 4;
    settings.datagram_bytes_max = settings.datagram_bytes;
    Net net(9, 1, settings);
    net.faults.jitter = 0;   // a datagram that is sent twice takes room twice
    std::uint64_t most = 0;  // datagrams in flight to node 0
    for (NodeId node = 1; node < 9; ++node) {
        net.hosts[node].on_room_for = [](NodeId) {};
    }
    std::vector<std::uint64_t> next(9);
    const bool is_done = net.run_until(net.now + 60 * s, [&] {
        bool all = true;
        for (NodeId node = 1; node < 9; ++node) {
            while (next[node] < 300 && net.hosts[node].send(0, node * 1000 + next[node], 1400))
                ++next[node];
            net.flush(node);
            all = all && next[node] == 300 && net[node].is_quiet();
        }
        most = std::max(most, net.under_way[0]);
        return all;
    });
    EXPECT_TRUE(is_done);
    EXPECT_EQ(net.hosts[0].arrived.size(), 8U * 300);
    // In the kernel's accounting a datagram of this size takes 2304 bytes.
    EXPECT_LE(most * 2304, settings.receive_bytes);
}

// The window must grow to the path's capacity, though batches of 64 KiB cause delay.
TEST(EndpointDelivery, a_stream_fills_a_fast_path) {
    constexpr std::uint64_t frames = test::effort(20'000, 5'000);
    for (const double bytes_per_ns : {0.125, 1.25, 3.0}) {
        SCOPED_TRACE(bytes_per_ns);
        Settings settings;
        settings.datagram_bytes_max = settings.datagram_bytes;
        Net net(2, 1, settings);
        net.faults.jitter = 0;
        net.faults.delay = 15 * us;
        net.faults.bytes_per_ns = bytes_per_ns;
        pump(net, 0, 1, 1000, 1432);
        const Time begin = net.now;
        net.hosts[1].arrived.clear();
        pump(net, 0, 1, frames, 1432);
        const double rate =
            static_cast<double>(frames) * 1472 / static_cast<double>(net.now - begin);
        EXPECT_GT(rate, 0.85 * bytes_per_ns);
        EXPECT_EQ(net[0].counters().retransmitted, 0U);
    }
}

// The time that 64 KiB take on the path must not count as congestion.
struct LossyPath {
    std::string name;
    double bytes_per_ns;
    Time delay;
    std::uint32_t datagram_bytes_max;
};

class EndpointLoss : public ::testing::TestWithParam<LossyPath> {};

TEST_P(EndpointLoss, costs_little_of_the_rate) {
    constexpr std::uint64_t frames = test::effort(20'000, 4'000);
    Settings settings;
    settings.datagram_bytes_max = GetParam().datagram_bytes_max;
    double clean = 0;
    for (const std::uint64_t loss : {0U, 10U, 100U}) {
        SCOPED_TRACE(loss);
        Net net(2, 1, settings);
        net.faults.jitter = 0;
        net.faults.delay = GetParam().delay;
        net.faults.bytes_per_ns = GetParam().bytes_per_ns;
        net.faults.loss = loss;
        const Time begin = net.now;
        pump(net, 0, 1, frames, 1432);
        const double rate =
            static_cast<double>(frames) * 1432 / static_cast<double>(net.now - begin);
        if (loss == 0) clean = rate;
        EXPECT_GT(rate, clean * (loss <= 10 ? 0.8 : 0.5));
    }
}

INSTANTIATE_TEST_SUITE_P(
    Paths,
    EndpointLoss,
    ::testing::Values(LossyPath{"gigabit", 0.125, 50 * us, 1472},
                      LossyPath{"ten_gigabit", 1.25, 20 * us, 1472},
                      LossyPath{"ten_gigabit_long_datagrams", 1.25, 20 * us, 8972},
                      LossyPath{"hundred_gigabit_long_datagrams", 12.5, 10 * us, 8972},
                      LossyPath{"loopback", 3.0, 10 * us, 1472},
                      LossyPath{"loopback_long_datagrams", 3.0, 10 * us, 8972}),
    [](const auto& tested) { return tested.param.name; });

// WIRE-52: two datagrams at most are in flight after silence, and half of all tries would fail:
// eight do not.
TEST(EndpointDelivery, a_timeout_takes_new_content_along_when_little_is_in_flight) {
    Net net(2, 1);
    net.hosts[0].send(1, 1);
    ASSERT_TRUE(net.settle(s));
    net.cut = {{0, 1}};
    ASSERT_TRUE(net.hosts[0].send(1, 2, 1400));
    net.run_for(3 * s);  // many timeouts in a row
    for (std::uint64_t name = 3; name < 10; ++name) ASSERT_TRUE(net.hosts[0].send(1, name, 1400));
    net.run_for(2 * s);
    EXPECT_EQ(net.hosts[1].arrived.size(), 1U);
    net.cut = {{1, 0}};  // it arrives now, but its acknowledgement is lost
    net.run_for(s);
    EXPECT_EQ(net.hosts[1].arrived.size(), 9U);
}

// WIRE-88
TEST(EndpointDelivery, what_an_acknowledgement_covers_is_not_sent_again) {
    Net net(2, 1);
    net.faults.jitter = 0;  // so that no reordering counts as loss
    net.hosts[0].send(1, 1);
    ASSERT_TRUE(net.settle(s));
    // All datagrams arrive; the acknowledgements return only after all of them were declared lost.
    net.cut = {{1, 0}};
    for (std::uint64_t name = 2; name < 100; ++name) ASSERT_TRUE(net.hosts[0].send(1, name, 1400));
    net.run_for(2 * s);
    const std::uint64_t before = net[0].counters().retransmitted;
    net.cut.clear();
    ASSERT_TRUE(net.settle(2 * s));
    EXPECT_LE(net[0].counters().retransmitted - before, ProbeTimer::probes_max);
    EXPECT_EQ(net.hosts[1].arrived.size(), 99U);
}

}  // namespace
}  // namespace acp::datagram::testing
