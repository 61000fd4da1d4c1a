// SPDX-License-Identifier: BSD-3-Clause
// Silence, watching, severing and leaving: a waiting side is notified of the end, and a severed
// peer stays severed.
#include <gtest/gtest.h>
#include <string>

#include "datagram/close_allowance.hpp"

#include "unit/datagram/test_net.hpp"

namespace acp::datagram::testing {
namespace {

void connect(Net& net) {
    net.hosts[0].send(1, 1);
    ASSERT_TRUE(net.settle(5 * s));
    ASSERT_TRUE(net.hosts[1].arrived.contains(1));
}

TEST(EndpointLife, silence_between_idle_nodes_costs_nothing) {
    Net net(2, 1);
    connect(net);
    net.run_for(s);
    const std::uint64_t launched = net.launched;
    net.run_for(1000 * s);
    EXPECT_EQ(net.launched, launched);
    EXPECT_TRUE(net.hosts[0].severed.empty() && net.hosts[1].severed.empty());
}

// WIRE-23 WIRE-85
TEST(EndpointLife, a_watched_node_is_pinged_once_a_second) {
    Net net(2, 1);
    net[0].watch(1);
    net.run_for(s);
    const std::uint64_t pings = net[0].counters().pings;
    net.run_for(100 * s);
    EXPECT_NEAR(static_cast<double>(net[0].counters().pings - pings), 100, 2);
    EXPECT_EQ(net[1].counters().pings, 0U);
    net[0].unwatch(1);
    net.run_for(3 * s);
    const std::uint64_t launched = net.launched;
    net.run_for(50 * s);
    EXPECT_EQ(net.launched, launched);
}

// WIRE-87
TEST(EndpointLife, a_watched_node_that_vanishes_is_severed_after_the_peer_timeout) {
    Net net(2, 1);
    net[0].watch(1);
    net.run_for(3 * s);
    net.hosts[1].endpoint.reset();
    const Time begin = net.now;
    ASSERT_TRUE(net.run_until(net.now + 30 * s, [&] { return !net.hosts[0].severed.empty(); }));
    EXPECT_EQ(net.hosts[0].severed[0], std::pair(NodeId{1}, SeverReason::silent));
    EXPECT_GE(net.now - begin, 8 * s);
    EXPECT_LE(net.now - begin, 11 * s);
}

// WIRE-87
TEST(EndpointLife, a_node_that_owes_an_acknowledgement_and_vanishes_is_severed) {
    Net net(2, 1);
    connect(net);
    net.run_for(5 * s);
    net.hosts[1].endpoint.reset();
    const Time begin = net.now;
    net.hosts[0].send(1, 2);
    ASSERT_TRUE(net.run_until(net.now + 30 * s, [&] { return !net.hosts[0].severed.empty(); }));
    EXPECT_EQ(net.hosts[0].severed[0].second, SeverReason::silent);
    EXPECT_NEAR(static_cast<double>(net.now - begin), 10e9, 0.6e9);
    EXPECT_TRUE(net[0].is_quiet());
}

// Its handler knows better, and is asked again after each peer timeout.
TEST(EndpointLife, a_silent_node_is_kept_while_the_handler_excuses_it) {
    Net net(2, 1);
    connect(net);
    net.run_for(5 * s);
    net.hosts[1].endpoint.reset();
    net.hosts[0].is_patient = true;
    net.hosts[0].send(1, 2);
    net.run_for(45 * s);
    EXPECT_TRUE(net.hosts[0].severed.empty());
    EXPECT_GE(net.hosts[0].patience_asked, 3U);
    EXPECT_LE(net.hosts[0].patience_asked, 5U);
    net.hosts[0].is_patient = false;
    ASSERT_TRUE(net.run_until(net.now + 30 * s, [&] { return !net.hosts[0].severed.empty(); }));
    EXPECT_EQ(net.hosts[0].severed[0].second, SeverReason::silent);
}

TEST(EndpointLife, without_a_peer_timeout_no_node_is_severed) {
    Settings settings;
    settings.peer_timeout_ns = 0;
    Net net(2, 1, settings);
    connect(net);
    net.cut = {{1, 0}, {0, 1}};
    net.hosts[0].send(1, 2);
    net.run_for(1000 * s);
    EXPECT_TRUE(net.hosts[0].severed.empty());
    net.cut.clear();
    ASSERT_TRUE(net.settle(2 * s));
    EXPECT_EQ(net.hosts[1].arrived[2], 1);
}

TEST(EndpointLife, a_hole_of_nine_seconds_is_survived) {
    Net net(2, 1);
    connect(net);
    for (std::uint64_t name = 2; name < 50; ++name) net.hosts[0].send(1, name, 1000);
    net.cut = {{0, 1}, {1, 0}};
    net.run_for(9 * s);
    net.cut.clear();
    const Time begin = net.now;
    ASSERT_TRUE(net.settle(5 * s));
    EXPECT_LT(net.now - begin, 600 * ms);
    EXPECT_EQ(net.hosts[1].arrived.size(), 49U);
}

// WIRE-87
TEST(EndpointLife, a_gateway_that_was_stopped_does_not_blame_the_others) {
    Net net(2, 1);
    connect(net);
    net[0].watch(1);
    net[1].watch(0);
    net.run_for(s);
    net.stopped = {0};
    net.run_for(8 * s);
    net.stopped.clear();
    net.run_for(5 * s);
    net.stopped = {0, 1};
    net.run_for(60 * s);
    net.stopped = {1};
    net.run_for(5 * s);
    net.stopped.clear();
    net.run_for(5 * s);
    EXPECT_TRUE(net.hosts[0].severed.empty());
    EXPECT_TRUE(net.hosts[1].severed.empty());
}

// WIRE-83
TEST(EndpointLife, severing_is_sent_to_the_other_side_and_is_final) {
    Net net(2, 1);
    connect(net);
    net.hosts[1].send(0, 7);
    net[0].sever(1);
    EXPECT_TRUE(net[0].is_severed(1));
    EXPECT_FALSE(net.hosts[0].send(1, 8));
    net.run_for(s);
    ASSERT_EQ(net.hosts[0].severed.size(), 1U);
    EXPECT_EQ(net.hosts[0].severed[0], std::pair(NodeId{1}, SeverReason::told));
    ASSERT_EQ(net.hosts[1].severed.size(), 1U);
    EXPECT_EQ(net.hosts[1].severed[0], std::pair(NodeId{0}, SeverReason::gave_up));
    EXPECT_FALSE(net.hosts[1].send(0, 9));
    net[0].sever(1);
    net.run_for(s);
    EXPECT_EQ(net.hosts[0].severed.size(), 1U) << "once, for good";
    PeerStats stats;
    EXPECT_TRUE(net[0].stats(1, stats));
    EXPECT_TRUE(stats.is_severed);
}

// WIRE-80
TEST(EndpointLife, a_node_that_missed_the_close_gets_one_when_it_sends) {
    Net net(2, 1);
    connect(net);
    net.cut = {{0, 1}};
    net[0].sever(1);
    net.run_for(s);
    EXPECT_TRUE(net.hosts[1].severed.empty());
    net.cut.clear();
    net.hosts[1].send(0, 7);
    ASSERT_TRUE(net.run_until(net.now + s, [&] { return !net.hosts[1].severed.empty(); }));
    EXPECT_EQ(net.hosts[1].severed[0].second, SeverReason::gave_up);
}

// WIRE-80 WIRE-26
TEST(EndpointLife, a_node_that_only_watches_gets_a_close_too) {
    Net net(2, 1);
    connect(net);
    net.cut = {{0, 1}};
    net[0].sever(1);
    net.run_for(s);
    net.cut.clear();
    net[1].watch(0);
    ASSERT_TRUE(net.run_until(net.now + 3 * s, [&] { return !net.hosts[1].severed.empty(); }));
}

// WIRE-80
TEST(EndpointLife, a_node_severed_before_it_connected_gets_a_close_for_its_init) {
    Net net(2, 1);
    net[0].sever(1);
    net.hosts[1].send(0, 7);
    ASSERT_TRUE(net.run_until(net.now + s, [&] { return !net.hosts[1].severed.empty(); }));
    EXPECT_EQ(net.hosts[1].severed[0].second, SeverReason::gave_up);
    EXPECT_EQ(net[0].counters().init_severed, 1U);
}

// WIRE-80
TEST(EndpointLife, a_node_severed_during_the_handshake_gets_a_close_for_its_response) {
    Net net(2, 1);
    net.hosts[0].send(1, 7);
    net.flush(0);
    net[0].sever(1);
    ASSERT_TRUE(net.run_until(net.now + s, [&] { return !net.hosts[1].severed.empty(); }));
    EXPECT_EQ(net.hosts[1].severed[0].second, SeverReason::gave_up);
    EXPECT_EQ(net[0].counters().response_severed, 1U);
}

// WIRE-38
TEST(EndpointLife, a_receiver_that_missed_many_key_changes_still_understands) {
    Settings settings;
    settings.key_packets_log2 = 4;
    Net net(2, 1, settings);
    connect(net);
    net.cut = {{0, 1}};
    const std::uint64_t before = net[0].counters().key_changes;
    for (std::uint64_t name = 2; name < 102; ++name) {
        ASSERT_TRUE(net.hosts[0].send(1, name, 1400));
    }
    net.run_for(8 * s);
    EXPECT_GT(net[0].counters().key_changes, before + 2);
    net.cut.clear();
    ASSERT_TRUE(net.settle(2 * s));
    EXPECT_EQ(net.hosts[1].arrived.size(), 101U);
}

// WIRE-84
TEST(EndpointLife, leaving_sends_a_close_to_all_connected_nodes) {
    Net net(4, 1);
    net.hosts[0].send(1, 1);
    net.hosts[2].send(0, 2);
    ASSERT_TRUE(net.settle(s));
    net[0].close();
    net.run_for(s);
    for (const NodeId node : {NodeId{1}, NodeId{2}}) {
        ASSERT_EQ(net.hosts[node].severed.size(), 1U);
        EXPECT_EQ(net.hosts[node].severed[0].second, SeverReason::left);
    }
    EXPECT_TRUE(net.hosts[3].severed.empty());
    net.hosts[3].send(0, 3);
    net.run_for(s);
    ASSERT_EQ(net.hosts[3].severed.size(), 1U);
    EXPECT_EQ(net.hosts[3].severed[0].second, SeverReason::left);
}

// WIRE-84
TEST(EndpointLife, a_severed_node_gets_that_reason_also_from_a_gateway_that_leaves) {
    Net net(2, 1);
    connect(net);
    net.cut = {{0, 1}};
    net[0].sever(1);
    net.run_for(s);
    net[0].close();
    net.run_for(s);
    net.cut.clear();
    net.hosts[1].send(0, 7);
    ASSERT_TRUE(net.run_until(net.now + s, [&] { return !net.hosts[1].severed.empty(); }));
    EXPECT_EQ(net.hosts[1].severed[0].second, SeverReason::gave_up);
}

// WIRE-82
TEST(EndpointLife, closes_are_few) {
    Net net(2, 1);
    connect(net);
    net[0].sever(1);
    net.run_for(s);
    std::vector<std::byte> forged(100);
    store(forged.data(), OuterHeader{wire_version, 4, 100, 1, 5});
    const std::uint64_t before = net[0].counters().closes_sent;
    for (int i = 0; i < 10'000; ++i) {
        std::vector<std::byte> one = forged;
        net[0].on_datagram(net.now, address_of(1), one);
        if (i % 16 == 0) net.flush(0);
    }
    EXPECT_EQ(net[0].counters().closes_sent - before, CloseAllowance::node_at_once);
}

TEST(EndpointLife, a_handler_may_sever_the_node_of_the_frames) {
    Net net(2, 1);
    connect(net);
    net.hosts[1].on_frame = [&](NodeId from, std::uint64_t) { net[1].sever(from); };
    for (std::uint64_t name = 2; name < 100; ++name) net.hosts[0].send(1, name, 1000);
    net.run_for(s);
    EXPECT_EQ(net.hosts[0].severed.size(), 1U);
    EXPECT_EQ(net.hosts[1].severed.size(), 1U);
    EXPECT_TRUE(net[0].is_quiet() && net[1].is_quiet());
}

TEST(EndpointLife, a_handler_may_use_the_endpoint_in_on_severed) {
    Net net(3, 1);
    connect(net);
    net.hosts[0].send(2, 5);
    ASSERT_TRUE(net.settle(s));
    net[0].sever(1);
    net[0].sever(2);
    net.run_for(s);
    EXPECT_EQ(net.hosts[0].severed.size(), 2U);
}

TEST(EndpointLife, room_is_offered_again_when_it_was_used_up) {
    Settings settings;
    settings.send_buffers = 16;
    Net net(2, 1, settings);
    std::uint64_t next = 0;
    while (net.hosts[0].send(1, next, 1400)) ++next;
    EXPECT_LE(next, 16U);
    EXPECT_EQ(net.hosts[0].rooms[1], 0);
    net.hosts[0].on_room_for = [&](NodeId) {
        while (next < 1000 && net.hosts[0].send(1, next, 1400)) ++next;
    };
    ASSERT_TRUE(net.run_until(net.now + 10 * s, [&] { return next == 1000 && net[0].is_quiet(); }));
    EXPECT_EQ(net.hosts[1].arrived.size(), 1000U);
    EXPECT_EQ(net[0].free_buffers(), 16U);
}

TEST(EndpointLife, room_is_offered_as_datagrams_leave_not_only_as_they_are_acknowledged) {
    Net net(2, 1);
    net.faults.delay = 20 * ms;
    net.faults.jitter = 0;
    std::uint64_t next = 0;
    const auto fill = [&](NodeId) {
        while (next < 20'000 && net.hosts[0].send(1, next, 1400)) ++next;
    };
    net.hosts[0].on_room_for = fill;
    fill(1);
    std::uint64_t most = 0;
    ASSERT_TRUE(net.run_until(net.now + 60 * s, [&] {
        PeerStats stats;
        net[0].stats(1, stats);
        most = std::max(most, stats.in_flight_bytes);
        return next == 20'000 && net[0].is_quiet();
    }));
    EXPECT_GT(most, 1000U * 1400);
}

TEST(EndpointLife, a_node_without_an_address_is_severed_like_one_that_does_not_answer) {
    Net net(2, 1);
    net.book.set(1, {});
    net.hosts[0].send(1, 1);
    ASSERT_TRUE(net.run_until(net.now + 20 * s, [&] { return !net.hosts[0].severed.empty(); }));
    EXPECT_EQ(net.hosts[0].severed[0].second, SeverReason::unreachable);
    EXPECT_EQ(net.launched, 0U);
}

TEST(EndpointLife, no_peer_takes_all_buffers) {
    Settings settings;
    settings.send_buffers = 256;
    Net net(3, 1, settings);
    connect(net);
    net.cut = {{0, 1}};
    while (net.hosts[0].send(1, 9, 1400)) net.flush(0);
    ASSERT_TRUE(net.hosts[0].send(2, 10, 1400));
    net.run_for(s);
    EXPECT_EQ(net.hosts[2].arrived.size(), 1U);
}

TEST(EndpointLife, peers_with_much_in_flight_leave_buffers_to_others) {
    Settings settings;
    settings.send_buffers = 256;
    Net net(4, 1, settings);
    net.faults.delay = 20 * ms;
    for (const NodeId node : {1U, 2U}) {
        const auto fill = [&net](NodeId to) {
            while (net.hosts[0].send(to, 9, 1400)) continue;
        };
        net.hosts[0].on_room_for = fill;
        fill(node);
    }
    net.run_for(5 * s);
    EXPECT_LT(net[0].free_buffers(), 64U);
    EXPECT_TRUE(net.hosts[0].send(3, 10, 1400));
}

}  // namespace
}  // namespace acp::datagram::testing
