// SPDX-License-Identifier: BSD-3-Clause
// Connecting: by any address that works, through cookies and losses, from both sides at once, and
// exactly once.
#include <gtest/gtest.h>
#include <string>

#include "support/effort.hpp"
#include "unit/datagram/test_net.hpp"

namespace acp::datagram::testing {
namespace {

std::uint8_t type_of(Bytes bytes) {
    return load<OuterHeader>(bytes.data()).type;
}

constexpr auto init_type = static_cast<std::uint8_t>(PacketType::init);
constexpr auto response_type = static_cast<std::uint8_t>(PacketType::response);
constexpr auto data_type = static_cast<std::uint8_t>(PacketType::data);

// WIRE-18
TEST(EndpointHandshake, a_source_that_is_not_in_the_book_must_return_a_cookie) {
    Net net(2, 1);
    net.source_of = [](NodeId from) {
        Address address = address_of(from);
        if (from == 0) address.port = 5555;
        return address;
    };
    net.hosts[0].send(1, 1);
    ASSERT_TRUE(net.settle(s));
    EXPECT_EQ(net.hosts[1].arrived.size(), 1U);
    EXPECT_EQ(net[1].counters().cookies_sent, 1U);
    EXPECT_EQ(net[1].counters().responses_sent, 1U);
}

TEST(EndpointHandshake, a_source_in_the_book_connects_without) {
    Net net(2, 1);
    net.hosts[0].send(1, 1);
    ASSERT_TRUE(net.settle(s));
    EXPECT_EQ(net[1].counters().cookies_sent, 0U);
}

// WIRE-18
TEST(EndpointHandshake, under_load_every_node_must_return_a_cookie) {
    Settings settings;
    settings.half_open_max = 4;
    Net net(4, 1, settings);
    // Answers to nodes 1 and 2 are lost: their handshakes stay half open.
    net.cut = {{0, 1}, {0, 2}};
    net.hosts[1].send(0, 1);
    net.hosts[2].send(0, 2);
    net.run_for(100 * ms);
    EXPECT_GT(net[0].counters().cookies_sent, 0U);
    net.hosts[3].send(0, 3);
    ASSERT_TRUE(net.run_until(net.now + s, [&] { return net[3].is_quiet(); }));
    EXPECT_TRUE(net.hosts[0].arrived.contains(3));
}

// WIRE-71
TEST(EndpointHandshake, the_addresses_of_a_node_are_tried_in_turn) {
    Net net(2, 1);
    net.book.set(1, {ipv4(10, 0, 77, 77, 1), ipv4(10, 0, 77, 78, 1), address_of(1)});
    net.hosts[0].send(1, 1);
    ASSERT_TRUE(net.settle(s));
    EXPECT_EQ(net[0].counters().inits_sent, 3U);
}

// WIRE-71
TEST(EndpointHandshake, addresses_take_turns_also_when_tries_are_doubled) {
    Net net(2, 1);
    net.book.set(1, {ipv4(10, 0, 77, 77, 1), address_of(1)});
    // The first eight tries are lost, to all addresses.
    int tries = 0;
    net.drops = [&](NodeId, NodeId, Bytes bytes) {
        return type_of(bytes) == init_type && tries++ < 8;
    };
    net.hosts[0].send(1, 1);
    ASSERT_TRUE(net.settle(4 * s));
    EXPECT_EQ(net.hosts[1].arrived.size(), 1U);
}

// WIRE-71
TEST(EndpointHandshake, connects_despite_loss) {
    for (std::uint64_t seed = 1; seed <= test::effort<std::uint64_t>(100, 20); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Net net(2, seed);
        net.faults.loss = 5000;
        net.hosts[0].send(1, 1);
        ASSERT_TRUE(net.settle(10 * s));
        EXPECT_EQ(net.hosts[1].arrived.size(), 1U);
    }
}

// WIRE-70
TEST(EndpointHandshake, both_at_once_make_one_connection_begun_by_the_lower) {
    Net net(2, 1);
    net.hosts[0].send(1, 1);
    net.hosts[1].send(0, 2);
    ASSERT_TRUE(net.settle(s));
    EXPECT_TRUE(net.hosts[1].arrived.contains(1));
    EXPECT_TRUE(net.hosts[0].arrived.contains(2));
    EXPECT_EQ(net[0].counters().connections, 1U);
    EXPECT_EQ(net[1].counters().connections, 1U);
    EXPECT_EQ(net[1].counters().responses_sent, 1U);
    EXPECT_EQ(net[0].counters().responses_sent, 0U);
    EXPECT_EQ(net[0].counters().init_crossed, 1U);
}

// WIRE-70
TEST(EndpointHandshake, both_at_once_through_loss_from_many_seeds) {
    for (std::uint64_t seed = 1; seed <= test::effort<std::uint64_t>(200, 40); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Net net(2, seed);
        net.faults.loss = 4000;
        net.faults.doubled = 2000;
        net.faults.jitter = 50 * ms;
        net.hosts[0].send(1, 1);
        net.hosts[1].send(0, 2);
        ASSERT_TRUE(net.settle(20 * s));
        EXPECT_EQ(net.hosts[1].arrived.size(), 1U);
        EXPECT_EQ(net.hosts[0].arrived.size(), 1U);
        EXPECT_EQ(net[0].counters().severed + net[1].counters().severed, 0U);
    }
}

// WIRE-72
TEST(EndpointHandshake, a_lost_response_is_sent_again_for_the_same_question) {
    Net net(2, 1);
    int lost = 0;
    net.drops = [&](NodeId, NodeId, Bytes bytes) {
        return type_of(bytes) == response_type && lost++ < 3;
    };
    net.hosts[0].send(1, 1);
    ASSERT_TRUE(net.settle(2 * s));
    EXPECT_EQ(net[1].counters().responses_sent, 4U);
    EXPECT_EQ(net[1].counters().init_repeated, 3U);
    EXPECT_EQ(net[1].counters().connections, 1U);
}

// WIRE-74
TEST(EndpointHandshake, a_responder_sends_no_data_until_data_of_the_initiator_has_arrived) {
    Net net(2, 1);
    bool is_data_first = false;
    bool has_heard = false;
    net.drops = [&](NodeId from, NodeId, Bytes bytes) {
        if (type_of(bytes) == data_type && from == 0) has_heard = true;
        if (type_of(bytes) == data_type && from == 1) is_data_first |= !has_heard;
        return false;
    };
    net[0].watch(1);
    net.run_until(net.now + s, [&] { return net[1].counters().responses_sent != 0; });
    net.hosts[1].send(0, 9);
    ASSERT_TRUE(net.settle(2 * s));
    EXPECT_TRUE(net.hosts[0].arrived.contains(9));
    EXPECT_FALSE(is_data_first);
}

// WIRE-19
TEST(EndpointHandshake, a_responder_waits_as_long_as_its_initiator_tries) {
    Settings settings;
    settings.connect_timeout_ns = 5 * s;
    settings.peer_timeout_ns = 10 * s;
    Net net(2, 1, settings);
    // The response arrives, then all datagrams are lost for nine seconds.
    net.drops = [&](NodeId, NodeId, Bytes bytes) {
        return type_of(bytes) == data_type && net.now < 10 * s;
    };
    net.hosts[0].send(1, 1);
    net.hosts[1].send(0, 2);
    ASSERT_TRUE(net.settle(12 * s));
    EXPECT_TRUE(net.hosts[1].arrived.contains(1));
    EXPECT_TRUE(net.hosts[0].arrived.contains(2));
    EXPECT_GT(net.now, 10 * s);
}

// WIRE-19
TEST(EndpointHandshake, a_half_open_handshake_that_no_node_needs_is_dropped_in_the_end) {
    Net net(2, 1);
    net.cut = {{1, 0}};
    net.hosts[0].send(1, 1);
    net.run_for(100 * ms);
    EXPECT_EQ(net[1].counters().responses_sent > 0, true);
    net.hosts[0].endpoint.reset();
    PeerStats stats;
    EXPECT_TRUE(net[1].stats(0, stats));
    net.run_for(20 * s);
    EXPECT_FALSE(net[1].stats(0, stats));
    EXPECT_TRUE(net.hosts[1].severed.empty());
}

// WIRE-19
TEST(EndpointHandshake, half_open_handshakes_are_bounded) {
    Settings settings;
    settings.half_open_max = 3;
    Net net(10, 1, settings);
    for (NodeId node = 1; node < 10; ++node) net.cut.insert({0, node});
    net.drops = [](NodeId, NodeId, Bytes) { return false; };
    for (NodeId node = 1; node < 10; ++node) net.hosts[node].send(0, node);
    // Cookies must arrive to be counted.
    net.cut.clear();
    net.drops = [](NodeId from, NodeId, Bytes bytes) {
        return from == 0 && type_of(bytes) == response_type;
    };
    net.run_for(300 * ms);
    EXPECT_GT(net[0].counters().half_open_full, 0U);
    std::uint32_t known = 0;
    for (NodeId node = 1; node < 10; ++node) {
        PeerStats stats;
        known += net[0].stats(node, stats) ? 1U : 0U;
    }
    EXPECT_EQ(known, 3U);
    // Nodes that were turned away connect later.
    net.drops = nullptr;
    EXPECT_TRUE(net.settle(5 * s));
    EXPECT_EQ(net.hosts[0].arrived.size(), 9U);
}

// Connects both nodes, and then starts node 1 anew.
void meet_and_begin_anew(Net& net) {
    net.hosts[0].send(1, 1);
    EXPECT_TRUE(net.settle(s));
    Settings settings = net.base;
    settings.node = 1;
    net.start(1, settings, 4711);
}

// WIRE-73
TEST(EndpointHandshake, a_gateway_that_was_started_anew_is_severed) {
    Net net(2, 1);
    meet_and_begin_anew(net);
    net.hosts[1].send(0, 2);
    net.run_for(s);
    ASSERT_EQ(net.hosts[0].severed.size(), 1U);
    EXPECT_EQ(net.hosts[0].severed[0], std::pair(NodeId{1}, SeverReason::restarted));
    ASSERT_EQ(net.hosts[1].severed.size(), 1U);
    EXPECT_EQ(net.hosts[1].severed[0], std::pair(NodeId{0}, SeverReason::gave_up));
    EXPECT_TRUE(net[1].is_quiet());
}

// WIRE-81
TEST(EndpointHandshake, data_for_a_restarted_gateway_severs_it_at_the_sender) {
    Net net(2, 1);
    meet_and_begin_anew(net);
    net.hosts[0].send(1, 2, 100);
    net.run_for(s);
    ASSERT_EQ(net.hosts[0].severed.size(), 1U);
    EXPECT_EQ(net.hosts[0].severed[0], std::pair(NodeId{1}, SeverReason::restarted));
    EXPECT_TRUE(net[0].is_quiet());
}

// WIRE-81: other nodes' notifications made it sever node 0 before they connected.
TEST(EndpointHandshake, a_restarted_gateway_that_has_severed_the_sender_answers_its_data) {
    Net net(2, 1);
    meet_and_begin_anew(net);
    net[1].sever(0);
    net.hosts[0].send(1, 2, 100);
    net.run_for(s);
    ASSERT_EQ(net.hosts[0].severed.size(), 1U);
    EXPECT_EQ(net.hosts[0].severed[0], std::pair(NodeId{1}, SeverReason::restarted));
    EXPECT_TRUE(net[0].is_quiet());
}

// WIRE-86
TEST(EndpointHandshake, a_node_that_never_answers_is_severed_after_the_connect_timeout) {
    Net net(2, 1);
    net.hosts[1].endpoint.reset();
    const Time begin = net.now;
    net.hosts[0].send(1, 1);
    ASSERT_TRUE(net.run_until(net.now + 20 * s, [&] { return !net.hosts[0].severed.empty(); }));
    EXPECT_EQ(net.hosts[0].severed[0], std::pair(NodeId{1}, SeverReason::unreachable));
    EXPECT_NEAR(static_cast<double>(net.now - begin), 5e9, 0.3e9);
    EXPECT_TRUE(net[0].is_quiet());
    EXPECT_FALSE(net.hosts[0].send(1, 2));
}

// WIRE-27
TEST(EndpointHandshake, gateways_that_disagree_on_security_do_not_connect) {
    Net net(2, 1);
    Settings settings = net.base;
    settings.node = 1;
    settings.security = base::Security::off;
    net.start(1, settings, 1);
    net.hosts[0].send(1, 1);
    net.run_for(100 * ms);
    EXPECT_EQ(net[0].counters().connections, 0U);
    EXPECT_GT(net[1].counters().wrong_features, 0U);
}

TEST(EndpointHandshake, another_job_s_messages_are_dropped_in_silence) {
    Net net(2, 1);
    Settings settings = net.base;
    settings.node = 1;
    settings.job_key[0] = std::byte{1};
    net.start(1, settings, 1);
    net.hosts[0].send(1, 1);
    net.run_for(100 * ms);
    EXPECT_GT(net[1].counters().wrong_mac, 0U);
    EXPECT_EQ(net[1].counters().datagrams_sent, 0U);
}

// WIRE-36 WIRE-37
TEST(EndpointHandshake, no_key_and_nonce_are_used_twice) {
    for (const base::Security security : {base::Security::encrypt, base::Security::authenticate}) {
        test::TestSuite noting(true);
        Settings settings;
        settings.key_packets_log2 = 6;
        settings.security = security;
        settings.job_id = 77;
        Net net(2, 1, settings);
        for (NodeId node = 0; node < 2; ++node) {
            Settings own = net.base;
            own.node = node;
            Host& host = net.hosts[node];
            auto made = Endpoint::create(own, noting, *host.entropy, net.book, host);
            ASSERT_TRUE(made.is_ok());
            host.endpoint = std::move(made).value();
        }
        net.faults.loss = 1000;
        for (std::uint64_t name = 0; name < 1000; ++name) {
            while (!net.hosts[name % 2].send(name % 2 == 0 ? 1 : 0, name, 1000)) net.run_for(ms);
        }
        ASSERT_TRUE(net.settle(60 * s));
        EXPECT_GT(noting.nonces_seen(), 500U);
        EXPECT_EQ(noting.nonces_repeated(), 0U);
        EXPECT_GT(net[0].counters().key_changes, 5U);
    }
}

TEST(EndpointHandshake, is_tried_again_where_there_is_no_memory_for_keys) {
    Net net(2, 1);
    net.hosts[0].send(1, 1);
    net.run_until(net.now + s, [&] { return net[1].counters().responses_sent != 0; });
    net.suite.starve(3);
    ASSERT_TRUE(net.settle(2 * s));
    EXPECT_EQ(net[0].counters().no_memory + net[1].counters().no_memory, 3U);
    EXPECT_EQ(net.hosts[1].arrived.size(), 1U);
    EXPECT_TRUE(net.hosts[0].severed.empty());
}

TEST(EndpointHandshake, a_peer_for_whose_next_key_there_is_no_memory_is_severed) {
    Settings settings;
    settings.key_packets_log2 = 6;
    Net net(2, 1, settings);
    net.hosts[0].send(1, 1);
    ASSERT_TRUE(net.settle(s));
    for (std::uint64_t name = 2; name < 200; ++name) {
        net.suite.starve(1000);
        net.hosts[0].send(1, name);
        net.run_for(ms);
    }
    ASSERT_EQ(net.hosts[0].severed.size(), 1U);
    EXPECT_EQ(net.hosts[0].severed[0].second, SeverReason::no_memory);
}

TEST(EndpointHandshake, settings_out_of_range_are_refused_by_name) {
    test::TestSuite suite;
    test::TestEntropy entropy(1);
    const Book book(2);
    Host host;
    Settings settings;
    settings.nodes = 2;
    const auto refuses = [&](const char* name, auto change) {
        Settings bad = settings;
        change(bad);
        const auto made = Endpoint::create(bad, suite, entropy, book, host);
        ASSERT_FALSE(made.is_ok()) << name;
        EXPECT_EQ(made.failure().code(), base::Code::argument);
        EXPECT_NE(made.failure().message().find(name), std::string::npos)
            << made.failure().message();
    };
    refuses("nodes", [](Settings& bad) { bad.nodes = 0; });
    refuses("node", [](Settings& bad) { bad.node = 2; });
    refuses("datagram_bytes", [](Settings& bad) { bad.datagram_bytes = 100; });
    refuses("datagram_bytes_max", [](Settings& bad) { bad.datagram_bytes_max = 1000; });
    refuses("datagram_bytes_max", [](Settings& bad) { bad.datagram_bytes_max = 65508; });
    refuses("send_buffers", [](Settings& bad) { bad.send_buffers = 1; });
    refuses("receive_bytes", [](Settings& bad) { bad.receive_bytes = 1000; });
    refuses("half_open_max", [](Settings& bad) { bad.half_open_max = 0; });
    refuses("key_packets_log2", [](Settings& bad) { bad.key_packets_log2 = 23; });
    refuses("initial_rtt_ns", [](Settings& bad) { bad.initial_rtt_ns = 0; });
}

}  // namespace
}  // namespace acp::datagram::testing
