// SPDX-License-Identifier: BSD-3-Clause
// An attacker without a key copies datagrams and sends them again from another address, before or
// after the originals: no peer's address changes, no connection is delayed, and no key agreement is
// computed for a copy.
#include <gtest/gtest.h>
#include <string>

#include "datagram/key_schedule.hpp"

#include "unit/datagram/test_net.hpp"

namespace acp::datagram::testing {
namespace {

const Address elsewhere = ipv4(9, 9, 9, 9, 9);

PacketType type_of(Bytes bytes) {
    return static_cast<PacketType>(load<OuterHeader>(bytes.data()).type);
}

// Copies the first datagram of a kind to a node, and passes it to that node from another address.
class Copier {
public:
    Copier(Net& net, PacketType type, NodeId to, bool overtakes)
        : net_(net), type_(type), to_(to), overtakes_(overtakes) {
        net.drops = [this](NodeId, NodeId target, Bytes bytes) {
            if (target != to_ || type_of(bytes) != type_ || !copy_.empty()) return false;
            copy_.assign(bytes.begin(), bytes.end());
            if (overtakes_) feed();
            return false;
        };
    }

    [[nodiscard]] bool has_copy() const { return !copy_.empty(); }

    void feed(const Address& from = elsewhere) {
        std::vector<std::byte> copy = copy_;
        net_[to_].on_datagram(net_.now, from, copy);
    }

private:
    Net& net_;
    PacketType type_;
    NodeId to_;
    bool overtakes_;
    std::vector<std::byte> copy_;
};

void expect_talk(Net& net) {
    net.hosts[0].send(1, 100);
    net.hosts[1].send(0, 101);
    ASSERT_TRUE(net.settle(2 * s));
    EXPECT_TRUE(net.hosts[1].arrived.contains(100));
    EXPECT_TRUE(net.hosts[0].arrived.contains(101));
    EXPECT_EQ(net[0].counters().severed + net[1].counters().severed, 0U);
}

// WIRE-93
TEST(EndpointCopies, an_init_from_elsewhere_after_the_original_changes_nothing) {
    Net net(2, 1);
    Copier copier(net, PacketType::init, 1, false);
    net.hosts[0].send(1, 1);
    net.run_until(net.now + s, [&] { return net[1].counters().responses_sent != 0; });
    copier.feed();
    EXPECT_EQ(net[1].counters().cookies_sent, 1U);
    expect_talk(net);
}

// WIRE-93
TEST(EndpointCopies, an_init_from_elsewhere_ahead_of_the_original_changes_nothing) {
    Net net(2, 1);
    Copier copier(net, PacketType::init, 1, true);
    net.hosts[0].send(1, 1);
    expect_talk(net);
    EXPECT_EQ(net[1].counters().connections, 1U);
}

// WIRE-93
TEST(EndpointCopies, a_response_from_elsewhere_ahead_of_the_original_changes_nothing) {
    Net net(2, 1);
    Copier copier(net, PacketType::response, 0, true);
    net.hosts[0].send(1, 1);
    expect_talk(net);
    EXPECT_EQ(net[0].counters().wrong_source, 1U);
}

// WIRE-93
TEST(EndpointCopies, a_cookie_from_elsewhere_ahead_of_the_original_changes_nothing) {
    Settings settings;
    settings.half_open_max = 1;
    Net net(3, 1, settings);
    net.cut = {{1, 2}};
    net.hosts[2].send(1, 7);  // stays half open, so that each INIT needs a cookie
    net.run_for(10 * ms);
    Copier copier(net, PacketType::cookie, 0, true);
    net.hosts[0].send(1, 1);
    net.run_for(10 * ms);
    EXPECT_TRUE(copier.has_copy());
    EXPECT_EQ(net[0].counters().wrong_source, 1U);
    net.cut.clear();
    ASSERT_TRUE(net.settle(10 * s));
    EXPECT_TRUE(net.hosts[1].arrived.contains(1));
}

// WIRE-93
TEST(EndpointCopies, data_from_elsewhere_ahead_of_the_original_changes_no_address) {
    Net net(2, 1);
    Copier copier(net, PacketType::data, 1, true);
    net.hosts[0].send(1, 1);
    expect_talk(net);
}

// WIRE-19
TEST(EndpointCopies, of_a_dead_node_s_init_prolong_no_wait) {
    Settings settings;
    settings.connect_timeout_ns = 2 * s;
    settings.peer_timeout_ns = 3 * s;
    Net net(2, 1, settings);
    Copier copier(net, PacketType::init, 1, false);
    net.cut = {{1, 0}};
    net.hosts[0].send(1, 1);
    net.run_until(net.now + s, [&] { return net[1].counters().responses_sent != 0; });
    net.hosts[0].endpoint.reset();
    net.hosts[1].send(0, 2);
    for (int i = 0; i < 100 && net.hosts[1].severed.empty(); ++i) {
        copier.feed(address_of(0));
        net.run_for(100 * ms);
    }
    ASSERT_EQ(net.hosts[1].severed.size(), 1U);
    EXPECT_EQ(net.hosts[1].severed[0].second, SeverReason::unreachable);
    EXPECT_LT(net.now, 8 * s);
}

// WIRE-73
TEST(EndpointCopies, of_an_earlier_instance_s_init_sever_no_node) {
    Net net(2, 1);
    std::vector<std::byte> old;
    net.drops = [&](NodeId from, NodeId, Bytes bytes) {
        if (from == 0 && type_of(bytes) == PacketType::init && old.empty()) {
            old.assign(bytes.begin(), bytes.end());
        }
        return true;
    };
    net.hosts[0].send(1, 1);
    net.run_for(10 * ms);
    ASSERT_FALSE(old.empty());
    Settings settings = net.base;
    settings.node = 0;
    net.start(0, settings, 4711);
    net.drops = nullptr;
    // First the copy makes a half-open peer, then the living node connects, then the copy arrives
    // again.
    std::vector<std::byte> copy = old;
    net[1].on_datagram(net.now, address_of(0), copy);
    net.hosts[0].send(1, 2);
    ASSERT_TRUE(net.settle(2 * s));
    copy = old;
    net[1].on_datagram(net.now, address_of(0), copy);
    expect_talk(net);
}

// WIRE-94
TEST(EndpointCopies, an_endpoint_without_answer_tries_the_node_s_other_addresses) {
    Net net(2, 1);
    net.book.set(1, {address_of(1), address_of(1, 5)});
    net.hosts[0].send(1, 1);
    ASSERT_TRUE(net.settle(s));
    net.book.set(1, {ipv4(10, 0, 77, 77, 1), address_of(1, 5)});
    net.hosts[0].send(1, 2);
    ASSERT_TRUE(net.settle(8 * s));
    EXPECT_TRUE(net.hosts[1].arrived.contains(2));
}

// WIRE-96
TEST(EndpointCopies, cost_no_key_agreement) {
    Net net(2, 1);
    Copier copier(net, PacketType::init, 1, false);
    net.hosts[0].send(1, 1);
    net.run_until(net.now + s, [&] { return net[1].counters().responses_sent != 0; });
    const std::uint64_t before = net.suite.agreed();
    for (int i = 0; i < 1000; ++i) {
        copier.feed(i % 2 == 0 ? elsewhere : address_of(0));
        net.flush(1);
    }
    EXPECT_EQ(net.suite.agreed(), before);
    expect_talk(net);
    EXPECT_EQ(net.suite.agreed(), before + 1) << "one for a pair and side";
}

// WIRE-96
TEST(EndpointCopies, a_public_key_that_nothing_can_be_agreed_on_with_is_refused) {
    Net net(2, 1);
    const JobSecrets secrets(net.base.job_key, net.base.job_id, net.suite);
    net.drops = [&](NodeId from, NodeId to, Bytes bytes) {
        if (type_of(bytes) != PacketType::init) return false;
        InitPacket init = load<InitPacket>(bytes.data());
        init.public_key = {};
        sign(init, secrets.handshake, net.suite);
        std::vector<std::byte> weak(sizeof init);
        store(weak.data(), init);
        net[to].on_datagram(net.now, address_of(from), weak);
        return true;
    };
    net.hosts[0].send(1, 1);
    net.run_for(10 * ms);
    EXPECT_EQ(net[1].counters().weak_key, 1U);
    PeerStats stats;
    EXPECT_FALSE(net[1].stats(0, stats)) << "nothing is kept of it";
}

// WIRE-95
TEST(EndpointFeatures, two_with_different_ciphers_both_learn_what_the_other_has) {
    Net net(2, 1);
    test::TestSuite other;
    other.pretend(number_of_chacha20_poly1305);
    Settings settings = net.base;
    settings.node = 1;
    Host& host = net.hosts[1];
    auto made = Endpoint::create(settings, other, *host.entropy, net.book, host);
    ASSERT_TRUE(made.is_ok());
    host.endpoint = std::move(made).value();
    net.hosts[0].send(1, 1);
    net.run_for(100 * ms);
    for (const NodeId node : {0U, 1U}) {
        ASSERT_EQ(net.hosts[node].severed.size(), 1U) << node;
        EXPECT_EQ(net.hosts[node].severed[0].second, SeverReason::mismatched);
    }
    EXPECT_EQ(net[0].differing_features(), net[1].features());
    EXPECT_EQ(net[1].differing_features(), net[0].features());
    EXPECT_NE(text_of(net[0].features()).find("encrypt by aes-128-gcm"), std::string::npos);
    EXPECT_NE(text_of(net[1].features()).find("encrypt by chacha20-poly1305"), std::string::npos);
    host.endpoint.reset();  // before its suite
}

// A datagram with a valid header in the name of a node; no key is needed for that.
std::vector<std::byte> forged(NodeId source, PacketNumber number) {
    std::vector<std::byte> bytes(100);
    store(bytes.data(), OuterHeader{wire_version, static_cast<std::uint8_t>(PacketType::data), 100,
                                    source, number});
    return bytes;
}

// WIRE-91
TEST(EndpointForgeries, for_an_idle_node_cost_one_key_and_wake_no_peer) {
    Settings settings;
    settings.idle_fold_ns = s;
    Net net(2, 1, settings);
    net.hosts[0].send(1, 1);
    ASSERT_TRUE(net.settle(s));
    net.run_for(5 * s);
    const std::uint64_t before = net.suite.keys_made();
    for (PacketNumber number = 0; number < 10'000; ++number) {
        std::vector<std::byte> one = forged(0, number);
        net[1].on_datagram(net.now, elsewhere, one);
        net.now += 10 * us;
    }
    EXPECT_LE(net.suite.keys_made() - before, 1U);
    PeerStats stats;
    ASSERT_TRUE(net[1].stats(0, stats));
    EXPECT_TRUE(stats.is_folded);
    expect_talk(net);
}

// WIRE-82
TEST(EndpointForgeries, starve_no_honest_node_of_its_close) {
    Net net(3, 1);
    net.hosts[1].send(0, 1);
    ASSERT_TRUE(net.settle(s));
    net[0].sever(1);
    net[0].sever(2);
    net.flush(0);
    net.flying = {};  // the CLOSE is lost
    const auto flood = [&](NodeId name, const Address& from) {
        for (int i = 0; i < 2000; ++i) {
            std::vector<std::byte> one = forged(name, 1U << 30);
            net[0].on_datagram(net.now, from, one);
            if (i % 16 == 0) net.flush(0);
        }
        net.flying = {};
    };
    flood(2, address_of(2));
    flood(2, elsewhere);
    flood(1, elsewhere);
    net.hosts[1].send(0, 2);
    net.run_for(50 * ms);
    ASSERT_EQ(net.hosts[1].severed.size(), 1U);
    EXPECT_EQ(net.hosts[1].severed[0].second, SeverReason::gave_up);
}

}  // namespace
}  // namespace acp::datagram::testing
