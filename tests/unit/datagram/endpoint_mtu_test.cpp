// SPDX-License-Identifier: BSD-3-Clause
// Long datagrams: found where the path carries them, given up where it stops to, and nothing lost on the way.
#include <gtest/gtest.h>
#include <string>

#include "unit/datagram/test_net.hpp"

namespace acp::datagram::testing {
namespace {

// Sends frames as long as the path allows at the time, until `count` have gone.
void stream(Net& net, std::uint64_t first, std::uint64_t count) {
    Host& host = net.hosts[0];
    std::uint64_t next = first;
    ASSERT_TRUE(net.run_until(net.now + 100 * s, [&] {
        while (next < first + count && host.send(1, next, net[0].frame_bytes_max(1))) ++next;
        net.flush(0);
        return next == first + count && net[0].is_quiet();
    }));
    for (std::uint64_t name = first; name < first + count; ++name) {
        ASSERT_EQ(net.hosts[1].arrived[name], 1) << "frame " << name;
    }
    EXPECT_FALSE(net.hosts[1].has_damage);
}

// WIRE-24 WIRE-75
TEST(EndpointMtu, a_longer_path_is_found_while_it_is_used) {
    Net net(2, 1);
    stream(net, 0, 200);
    EXPECT_EQ(net[0].frame_bytes_max(1), 8972 - overhead_bytes);
    EXPECT_EQ(net[0].counters().path_probes, 1U);
}

// WIRE-75
TEST(EndpointMtu, an_idle_path_is_not_probed) {
    Net net(2, 1);
    net[0].watch(1);
    net.run_for(10 * s);
    EXPECT_EQ(net[0].counters().path_probes, 0U);
}

// WIRE-76
TEST(EndpointMtu, a_path_that_carries_no_more_is_left_as_it_is) {
    Net net(2, 1);
    net.faults.mtu = 1472;
    net.faults.jitter = 0;
    stream(net, 0, 2000);
    stream(net, 2000, 2000);
    EXPECT_EQ(net[0].frame_bytes_max(1), 1472 - overhead_bytes);
    EXPECT_EQ(net[0].counters().path_probes, 6U);
    EXPECT_EQ(net[0].counters().retransmitted, 0U) << "a lost probe is not a lost datagram";
}

// WIRE-76
TEST(EndpointMtu, the_shorter_of_two_lengths_is_found) {
    Net net(2, 1);
    net.faults.mtu = 4100;
    stream(net, 0, 3000);
    EXPECT_EQ(net[0].frame_bytes_max(1), MtuProber::jumbo_half - overhead_bytes);
}

// WIRE-77
TEST(EndpointMtu, a_path_that_becomes_shorter_is_noticed_and_nothing_is_lost) {
    Net net(2, 1);
    stream(net, 0, 200);
    ASSERT_EQ(net[0].frame_bytes_max(1), 8972 - overhead_bytes);
    net.faults.mtu = 1472;
    stream(net, 200, 200);
    EXPECT_EQ(net[0].frame_bytes_max(1), 1472 - overhead_bytes);
    EXPECT_EQ(net[0].counters().path_fallbacks, 1U);
    EXPECT_TRUE(net.hosts[0].severed.empty());
}

// WIRE-77
TEST(EndpointMtu, a_hole_for_long_datagrams_among_short_ones_is_noticed) {
    Net net(2, 1);
    stream(net, 0, 200);
    net.faults.mtu = 1472;
    // Short ones flow all the time, so that no probe timeout ever comes.
    std::uint64_t name = 1000;
    for (; name < 1040; ++name) {
        ASSERT_TRUE(net.hosts[0].send(1, name, 8000));
        net.flush(0);
    }
    ASSERT_TRUE(net.run_until(net.now + 20 * s, [&] {
        net.hosts[0].send(1, name++, 20);
        net.flush(0);
        return net[0].counters().path_fallbacks != 0 && net.hosts[1].arrived.contains(1039);
    }));
    EXPECT_TRUE(net.settle(5 * s));
    for (std::uint64_t each = 1000; each < 1040; ++each) EXPECT_EQ(net.hosts[1].arrived[each], 1);
}

TEST(EndpointMtu, datagrams_may_be_as_long_as_udp_allows) {
    Settings settings;
    settings.datagram_bytes = settings.datagram_bytes_max = 65507;
    settings.receive_bytes = 1U << 26;
    Net net(2, 1, settings);
    stream(net, 0, 300);
    EXPECT_EQ(net[1].counters().delivered, 300U);
}

// WIRE-89
TEST(EndpointMtu, the_longest_datagrams_leave_room_for_no_acknowledgement) {
    Settings settings;
    settings.datagram_bytes = settings.datagram_bytes_max = 65507;
    settings.receive_bytes = 1U << 26;
    Net net(2, 1, settings);
    for (std::uint64_t name = 0; name < 100; ++name) {
        net.hosts[0].send(1, name, 65507 - overhead_bytes);
        net.hosts[1].send(0, name, 65507 - overhead_bytes);
        net.run_for(100 * us);
    }
    ASSERT_TRUE(net.settle(10 * s));
    EXPECT_EQ(net.hosts[0].arrived.size(), 100U);
    EXPECT_EQ(net.hosts[1].arrived.size(), 100U);
}

}  // namespace
}  // namespace acp::datagram::testing
