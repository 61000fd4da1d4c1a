// SPDX-License-Identifier: BSD-3-Clause
// Long datagrams: found where the path carries them, given up where it stops to, and nothing lost
// on the way.
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
    net.faults.jitter = 0;
    stream(net, 0, 200);
    EXPECT_EQ(net[0].frame_bytes_max(1), 8972 - overhead_bytes);
    EXPECT_EQ(net[0].counters().path_probes, 1U);
}

// WIRE-76
TEST(EndpointMtu, probes_lost_by_chance_do_not_keep_a_path_short) {
    Net net(2, 1);
    std::uint32_t lost = 0;
    net.drops = [&](NodeId, NodeId, Bytes bytes) {
        if (bytes.size() <= 1472 || lost == 6) return false;
        ++lost;
        return true;
    };
    std::uint64_t name = 0;
    for (; name < 30'000 && net[0].frame_bytes_max(1) < 8000; name += 20) {
        stream(net, name, 20);
        net.run_for(10 * ms);
    }
    EXPECT_EQ(lost, 6U);
    EXPECT_EQ(net[0].frame_bytes_max(1), 8972 - overhead_bytes);
    EXPECT_LT(net.now, 5 * s);
}

// WIRE-79
TEST(EndpointMtu, what_was_promised_for_short_datagrams_is_not_used_for_long_ones) {
    Net net(2, 1);
    net.faults.jitter = 0;
    std::uint64_t long_ones = 0;
    net.drops = [&](NodeId, NodeId, Bytes bytes) {
        // Once the path is short no more, much has been promised.
        const bool is_probe = bytes.size() > 1472;
        long_ones += is_probe ? 1U : 0U;
        return is_probe && net.hosts[1].arrived.size() < 700;
    };
    stream(net, 0, 700);
    std::uint64_t name = 700;
    PeerStats stats;
    while (net[0].stats(1, stats) && stats.datagram_bytes == 1472 && name < 1500) {
        stream(net, name++, 1);
        net.run_for(10 * ms);
    }
    ASSERT_EQ(stats.datagram_bytes, 8972U);
    ASSERT_GT(stats.credit, 1000U);
    EXPECT_EQ(net[0].frame_bytes_max(1), 1472 - overhead_bytes);
    const std::uint64_t probes = long_ones;
    stream(net, name, stats.credit);
    EXPECT_EQ(long_ones, probes) << "all this was promised for short ones";
    stream(net, name + stats.credit, 200);
    EXPECT_GT(long_ones, probes + 100);
}

// WIRE-78
TEST(EndpointMtu, a_receiver_without_room_for_long_datagrams_lets_no_path_become_longer) {
    Settings settings;
    settings.receive_bytes = 200'000;
    Net net(4, 1, settings);
    for (std::uint64_t i = 0; i < 60; ++i) {
        stream(net, i * 20, 20);
        net.run_for(10 * ms);
    }
    EXPECT_EQ(net[0].frame_bytes_max(1), 4058 - overhead_bytes);
    EXPECT_GT(net[1].counters().too_long, 0U);
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
    for (std::uint64_t i = 0; i < 90; ++i) {
        stream(net, i * 20, 20);
        net.run_for(10 * ms);
    }
    EXPECT_EQ(net[0].frame_bytes_max(1), 1472 - overhead_bytes);
    EXPECT_EQ(net[0].counters().path_probes, 6U);
    EXPECT_EQ(net[0].counters().retransmitted, 0U) << "a lost probe is not a lost datagram";
}

// WIRE-75 WIRE-76
TEST(EndpointMtu, what_an_ethernet_or_a_tunnel_carries_is_found_from_what_every_path_carries) {
    struct Case {
        std::uint32_t most;
        std::uint32_t mtu;
        std::uint32_t found;
    };

    for (const Case& given :
         {Case{1472, 1472, 1472}, Case{1472, 1392, 1372}, Case{1472, 1250, 1200},
          Case{8972, 1472, 1452}, Case{8972, 1392, 1372}}) {
        Settings settings;
        settings.datagram_bytes = 1200;
        settings.datagram_bytes_max = given.most;
        Net net(2, 1, settings);
        net.faults.mtu = given.mtu;
        for (std::uint64_t i = 0; i < 120; ++i) {
            stream(net, i * 20, 20);
            net.run_for(10 * ms);
        }
        EXPECT_EQ(net[0].frame_bytes_max(1), given.found - overhead_bytes) << "MTU " << given.mtu;
    }
}

// WIRE-79
TEST(EndpointMtu, a_longer_path_that_takes_no_more_room_is_used_at_once) {
    Settings settings;
    settings.datagram_bytes = 1200;
    settings.datagram_bytes_max = 1472;
    Net net(2, 1, settings);
    net.faults.jitter = 0;
    std::uint64_t name = 0;
    PeerStats stats;
    while (name < 500 && !(net[0].stats(1, stats) && stats.datagram_bytes == 1472)) {
        stream(net, name++, 1);
    }
    ASSERT_EQ(stats.datagram_bytes, 1472U);
    ASSERT_GT(stats.credit, 16U) << "the credit beyond the allowance was granted earlier";
    EXPECT_EQ(net[0].frame_bytes_max(1), 1472 - overhead_bytes);
}

// WIRE-76
TEST(EndpointMtu, the_shorter_of_two_lengths_is_found) {
    Net net(2, 1);
    net.faults.mtu = 4100;
    for (std::uint64_t i = 0; i < 40; ++i) {
        stream(net, i * 20, 20);
        net.run_for(10 * ms);
    }
    EXPECT_EQ(net[0].frame_bytes_max(1), 4058 - overhead_bytes);
}

// WIRE-77
TEST(EndpointMtu, a_path_that_becomes_shorter_is_noticed_and_nothing_is_lost) {
    Net net(2, 1);
    net.faults.jitter = 0;
    stream(net, 0, 200);
    ASSERT_EQ(net[0].frame_bytes_max(1), 8972 - overhead_bytes);
    net.faults.mtu = 1472;
    stream(net, 200, 200);
    EXPECT_EQ(net[0].frame_bytes_max(1), 1472 - overhead_bytes);
    EXPECT_EQ(net[0].counters().path_fallbacks, 1U);
    EXPECT_TRUE(net.hosts[0].severed.empty());
}

// WIRE-77
TEST(EndpointMtu,
     what_is_too_long_for_a_path_that_carries_no_fragments_either_is_given_up_in_time) {
    Net net(2, 1);
    net.faults.jitter = 0;
    stream(net, 0, 200);
    ASSERT_EQ(net[0].frame_bytes_max(1), 8972 - overhead_bytes);
    net.drops = [](NodeId, NodeId, Bytes bytes) { return bytes.size() > 1472; };
    const Time cut = net.now;
    for (std::uint64_t name = 200; name < 220; ++name) {
        ASSERT_TRUE(net.hosts[0].send(1, name, name % 2 == 0 ? 5000 : 100));
        net.flush(0);
    }
    EXPECT_FALSE(net.run_until(cut + 9 * s, [&] { return !net.hosts[0].severed.empty(); }));
    EXPECT_TRUE(net.run_until(cut + 13 * s, [&] { return !net.hosts[0].severed.empty(); }));
    ASSERT_EQ(net.hosts[0].severed.size(), 1U);
    EXPECT_EQ(net.hosts[0].severed[0], std::pair(NodeId{1}, SeverReason::stalled));
}

// WIRE-98: from the first datagram on, while pings arrive all the time.
TEST(EndpointMtu, a_path_too_short_for_what_it_should_carry_ends_the_connection_in_time) {
    Net net(2, 1);
    net.drops = [](NodeId, NodeId, Bytes bytes) { return bytes.size() > 1000; };
    const Time begin = net.now;
    ASSERT_TRUE(net.hosts[0].send(1, 7, 1200));
    EXPECT_FALSE(net.run_until(begin + 9 * s, [&] { return !net.hosts[0].severed.empty(); }));
    ASSERT_TRUE(net.run_until(begin + 13 * s, [&] { return !net.hosts[0].severed.empty(); }));
    EXPECT_EQ(net.hosts[0].severed[0], std::pair(NodeId{1}, SeverReason::stalled));
    EXPECT_EQ(net[0].stalled_bytes(), 1200 + overhead_bytes);
    EXPECT_LT(net[0].counters().datagrams_sent, 20'000U) << "it does not send all the time";
}

// WIRE-98: other content that arrives does not restart the timeout, since one frame could then wait
// without end.
TEST(EndpointMtu, shorter_content_that_arrives_does_not_hide_that_a_longer_one_does_not) {
    Net net(2, 1);
    net.drops = [](NodeId, NodeId, Bytes bytes) { return bytes.size() > 1000; };
    std::uint64_t name = 0;
    ASSERT_TRUE(net.hosts[0].send(1, name, 100));
    ASSERT_TRUE(net.settle(1 * s));
    const Time begin = net.now;
    ASSERT_TRUE(net.hosts[0].send(1, 1'000'000, 1200));
    net.flush(0);
    EXPECT_TRUE(net.run_until(begin + 13 * s, [&] {
        if (net.hosts[1].arrived.contains(name)) net.hosts[0].send(1, ++name, 100);
        return !net.hosts[0].severed.empty();
    }));
    EXPECT_GT(net.now, begin + 9 * s);
    EXPECT_GT(net.hosts[1].arrived.size(), 10U);
}

// WIRE-98
TEST(EndpointMtu, a_peer_that_did_not_run_for_a_while_has_all_the_time_again) {
    Net net(2, 1);
    net.hosts[0].is_patient = true;
    for (const Time silence : {4 * s, 9 * s, 25 * s, 99 * s}) {
        net.hosts[0].send(1, silence, 1200);
        net.flush(0);
        net.stopped.insert(1);
        net.run_for(silence);
        net.stopped.clear();
        ASSERT_TRUE(net.settle(9 * s));
        EXPECT_TRUE(net.hosts[0].severed.empty()) << silence;
    }
}

// WIRE-98: as long as no answer has arrived, content waits for the connection, and the timeout of
// the path has not begun.
TEST(EndpointMtu, a_connection_that_took_long_has_all_the_time_for_its_content) {
    Settings settings;
    settings.connect_timeout_ns = 60 * s;
    Net net(2, 1, settings);
    bool is_cut = true;
    net.drops = [&](NodeId from, NodeId, Bytes) { return is_cut && from == 1; };
    ASSERT_TRUE(net.hosts[0].send(1, 7, 1200));
    net.flush(0);
    net.run_for(15 * s);
    is_cut = false;
    ASSERT_TRUE(net.settle(9 * s));
    EXPECT_TRUE(net.hosts[0].severed.empty());
    EXPECT_EQ(net.hosts[1].arrived[7], 1);
}

// WIRE-75 WIRE-76 WIRE-77: IPv4 paths that are narrow from the start or become so.
TEST(EndpointMtu, paths_of_packets_down_to_576_bytes_are_used_whole) {
    struct Case {
        std::uint32_t mtu;
        std::uint32_t found;
    };

    for (const Case& given : {Case{1472, 1472}, Case{1272, 1200}, Case{1100, 972}, Case{972, 972},
                              Case{800, 740}, Case{548, 548}}) {
        Settings settings;
        settings.datagram_bytes = 548;
        settings.datagram_bytes_max = 1472;
        Net net(2, 1, settings);
        net.faults.mtu = given.mtu;
        for (std::uint64_t i = 0; i < 200; ++i) {
            stream(net, i * 20, 20);
            net.run_for(10 * ms);
        }
        EXPECT_EQ(net[0].frame_bytes_max(1), given.found - overhead_bytes) << "MTU " << given.mtu;
    }
}

// WIRE-77
TEST(EndpointMtu, a_path_that_becomes_shorter_than_most_are_is_noticed_and_nothing_is_lost) {
    for (const std::uint32_t narrow : {972U, 548U}) {
        Settings settings;
        settings.datagram_bytes = 548;
        settings.datagram_bytes_max = 1472;
        Net net(2, 1, settings);
        net.faults.mtu = 1272;
        net.faults.jitter = 0;
        stream(net, 0, 200);
        ASSERT_EQ(net[0].frame_bytes_max(1), 1200 - overhead_bytes);
        net.faults.mtu = narrow;
        stream(net, 200, 2000);
        EXPECT_EQ(net[0].frame_bytes_max(1), narrow - overhead_bytes);
        EXPECT_TRUE(net.hosts[0].severed.empty());
        EXPECT_LT(net.now, 6 * s);
    }
}

// WIRE-77
TEST(EndpointMtu, a_peer_that_was_silent_for_a_while_does_not_make_a_path_short) {
    Net net(2, 1);
    net.faults.jitter = 0;
    stream(net, 0, 200);
    ASSERT_EQ(net[0].frame_bytes_max(1), 8972 - overhead_bytes);
    std::uint64_t name = 200;
    for (const Time silence : {5 * ms, 50 * ms, 1 * s, 5 * s}) {
        for (int i = 0; i < 40; ++i) net.hosts[0].send(1, name++, 8000);
        net.cut = {{0, 1}, {1, 0}};
        net.run_for(silence);
        net.cut.clear();
        ASSERT_TRUE(net.settle(5 * s));
        EXPECT_EQ(net[0].counters().path_fallbacks, 0U) << silence;
    }
}

// WIRE-77
TEST(EndpointMtu, a_hole_for_long_datagrams_among_short_ones_is_noticed) {
    Net net(2, 1);
    net.faults.jitter = 0;
    stream(net, 0, 200);
    net.faults.mtu = 1472;
    // Short frames are sent all the time, so that no probe timeout occurs.
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
