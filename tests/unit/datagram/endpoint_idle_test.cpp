// SPDX-License-Identifier: BSD-3-Clause
// Many peers, most of them idle: few bytes each, woken only by their own datagrams and sends.
#include <gtest/gtest.h>
#include <string>

#include "datagram/endpoint_machine.hpp"
#include "datagram/peer_table.hpp"

#include "unit/datagram/test_net.hpp"

namespace acp::datagram::testing {
namespace {

bool is_folded(Net& net, NodeId node, NodeId other) {
    PeerStats stats;
    return net[node].stats(other, stats) && stats.is_folded;
}

void connect_and_fold(Net& net) {
    net.hosts[0].send(1, 1);
    ASSERT_TRUE(net.settle(5 * s));
    net.run_for(200 * s);
    ASSERT_TRUE(is_folded(net, 0, 1));
    ASSERT_TRUE(is_folded(net, 1, 0));
}

// WIRE-90
TEST(EndpointIdle, peers_are_folded_after_a_minute_and_woken_by_either_side) {
    Net net(2, 1);
    connect_and_fold(net);
    net.hosts[0].send(1, 2);
    ASSERT_TRUE(net.settle(s));
    EXPECT_EQ(net.hosts[1].arrived[2], 1);
    net.run_for(200 * s);
    net.hosts[1].send(0, 3);
    net.hosts[0].send(1, 4);
    ASSERT_TRUE(net.settle(s));
    EXPECT_EQ(net.hosts[0].arrived[3], 1);
    EXPECT_EQ(net.hosts[1].arrived[4], 1);
    EXPECT_EQ(net[0].counters().connections, 1U) << "no second handshake";
}

// WIRE-90
TEST(EndpointIdle, folding_keeps_numbers_and_keys_apart) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Settings settings;
        settings.idle_fold_ns = s;
        settings.key_packets_log2 = 5;
        settings.first_dsn = 0U - 20U;
        settings.peer_timeout_ns = 100 * s;
        Net net(2, seed, settings);
        net.faults.loss = 2000;
        net.faults.doubled = 2000;
        std::uint64_t name = 0;
        for (int round = 0; round < 20; ++round) {
            for (int i = 0; i < 7; ++i)
                net.hosts[name % 2].send(name % 2 == 0 ? 1 : 0, name, 500), ++name;
            ASSERT_TRUE(net.settle(90 * s));
            net.run_for(5 * s);
        }
        EXPECT_EQ(net.hosts[0].arrived.size() + net.hosts[1].arrived.size(), name);
        for (const Host& host : net.hosts) {
            for (const auto& [frame, times] : host.arrived) EXPECT_EQ(times, 1) << frame;
        }
        EXPECT_GT(net[0].counters().folded, 5U);
    }
}

// WIRE-91
TEST(EndpointIdle, a_forged_datagram_wakes_no_peer) {
    Net net(2, 1);
    connect_and_fold(net);
    std::vector<std::byte> forged(100);
    store(forged.data(), OuterHeader{wire_version, 4, 100, 1, 500});
    net[0].on_datagram(net.now, address_of(1), forged);
    EXPECT_EQ(net[0].counters().wrong_tag, 1U);
    EXPECT_TRUE(is_folded(net, 0, 1));
}

// WIRE-91
TEST(EndpointIdle, an_old_datagram_wakes_no_peer) {
    Net net(2, 1);
    std::vector<std::vector<std::byte>> recorded;
    net.drops = [&](NodeId from, NodeId, Bytes bytes) {
        if (from == 1) recorded.emplace_back(bytes.begin(), bytes.end());
        return false;
    };
    connect_and_fold(net);
    const std::uint64_t before = net[0].counters().delivered;
    for (std::vector<std::byte>& one : recorded) net[0].on_datagram(net.now, address_of(1), one);
    EXPECT_TRUE(is_folded(net, 0, 1));
    EXPECT_EQ(net[0].counters().delivered, before);
}

TEST(EndpointIdle, a_folded_peer_can_be_severed_and_left) {
    Net net(2, 1);
    connect_and_fold(net);
    net[0].sever(1);
    net.run_for(s);
    EXPECT_EQ(net.hosts[1].severed.size(), 1U);
    EXPECT_EQ(net.hosts[0].severed.size(), 1U);

    Net other(2, 1);
    connect_and_fold(other);
    other[0].close();
    other.run_for(s);
    EXPECT_EQ(other.hosts[1].severed.size(), 1U);
}

// Datagrams that a peer had not received before it was folded must not be acknowledged afterwards.
TEST(EndpointIdle, folding_acknowledges_nothing_that_did_not_come) {
    Settings settings;
    settings.peer_timeout_ns = 0;
    settings.idle_fold_ns = s;
    Net net(2, 1, settings);
    net.hosts[0].send(1, 1);
    ASSERT_TRUE(net.settle(s));
    net.cut = {{0, 1}};
    net.hosts[0].send(1, 2);
    net.run_for(20 * s);
    ASSERT_TRUE(is_folded(net, 1, 0));
    net.cut.clear();
    net.hosts[0].send(1, 3);
    ASSERT_TRUE(net.settle(5 * s));
    EXPECT_EQ(net.hosts[1].arrived.size(), 3U);
}

// WIRE-92: at most 128 bytes for each of 10^5 idle peers, with list and record.
TEST(EndpointIdle, a_hundred_thousand_idle_peers_take_128_bytes_each) {
    constexpr NodeId peers = 100'000;
    Settings settings;
    settings.node = 0;
    settings.nodes = peers + 1;
    SentPool pool(8);
    test::TestSuite suite;
    PeerTable table(settings.nodes, suite);
    for (NodeId node = 1; node <= peers; ++node) {
        table.seat(std::make_unique<Peer>(node, settings, pool));
        FoldedPeer folded;
        folded.instance = node;
        folded.next_number = node * 3ULL;
        ASSERT_TRUE(table.fold(node, folded));
    }
    EXPECT_LE(static_cast<double>(table.bytes()) / peers, 128);
    EXPECT_EQ(table.hot_count(), 0U);
    for (NodeId node = 1; node <= peers; ++node) {
        ASSERT_NE(table.folded(node), nullptr);
        ASSERT_EQ(table.folded(node)->next_number, node * 3ULL);
    }
    // Severed ones take less, and their records are used again.
    const std::size_t before = table.bytes();
    for (NodeId node = 1; node <= peers; ++node) {
        table.mark_severed(node, SeverReason::told);
        table.bury(node);
        ASSERT_EQ(table.instance_of_severed(node), node);
    }
    EXPECT_EQ(table.bytes(), before);
}

// The peers of this endpoint really connect.
TEST(EndpointIdle, an_endpoint_folds_all_idle_peers) {
    constexpr NodeId nodes = 300;
    Settings settings;
    settings.send_buffers = 1024;
    settings.idle_fold_ns = 5 * s;
    Net net(nodes, 1, settings);
    for (NodeId node = 1; node < nodes; ++node) ASSERT_TRUE(net.hosts[0].send(node, node));
    ASSERT_TRUE(net.settle(4 * s));
    net.run_for(20 * s);
    const auto& machine = dynamic_cast<EndpointMachine&>(net[0]);
    EXPECT_EQ(machine.table().hot_count(), 0U);
    EXPECT_EQ(net[0].counters().folded, nodes - 1);
    EXPECT_EQ(net[0].deadline(), never);
    for (NodeId node = 1; node < nodes; ++node) EXPECT_EQ(net.hosts[node].arrived.size(), 1U);
}

}  // namespace
}  // namespace acp::datagram::testing
