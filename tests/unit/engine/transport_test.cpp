// SPDX-License-Identifier: BSD-3-Clause
// The gateway's sockets under two endpoints of this thread: each receives what the other sends, a
// sleeper is woken, and unavailable resources are named in the error. Over loopback.
#include "engine/transport.hpp"

#include <gtest/gtest.h>
#include <thread>

#include "os/clock.hpp"

#include "support/scoped_watchdog.hpp"
#include "unit/datagram/test_net.hpp"

namespace acp::engine {
namespace {

using datagram::NodeId;
using datagram::testing::Book;
using datagram::testing::Host;

Address loopback() {
    return datagram::ipv4(127, 0, 0, 1, 0);
}

std::unique_ptr<Transport> open_on(std::vector<Address> bind,
                                   const char* faults = "",
                                   std::uint32_t lines = 0) {
    Transport::Options options;
    options.lines = lines;
    options.bind = std::move(bind);
    options.receive_bytes = 1U << 20;
    options.faults = base::parse_fault_plan(faults).value();
    auto opened = Transport::open(options);
    EXPECT_TRUE(opened.is_ok()) << opened.failure().message();
    return std::move(opened).value();
}

// Two nodes of a job, each with sockets and an endpoint.
class TransportTest : public testing::Test {
protected:
    void start(const char* faults = "", std::uint32_t lines = 0) {
        for (NodeId node = 0; node < 2; ++node) {
            sockets_[node] = open_on({loopback()}, faults, lines);
            book_.set(node, {sockets_[node]->addresses().front()});
        }
        for (NodeId node = 0; node < 2; ++node) {
            datagram::Settings settings;
            settings.node = node;
            settings.nodes = 2;
            settings.job_id = 1;
            settings.receive_bytes = sockets_[node]->receive_bytes();
            settings.send_buffers = 256;
            hosts_[node].node = node;
            hosts_[node].entropy = std::make_unique<acp::test::TestEntropy>(node + 1);
            auto made = datagram::Endpoint::create(settings, suite_, *hosts_[node].entropy, book_,
                                                   hosts_[node]);
            ASSERT_TRUE(made.is_ok()) << made.failure().message();
            hosts_[node].endpoint = std::move(made).value();
        }
    }

    void poll() {
        for (NodeId node = 0; node < 2; ++node) {
            datagram::Endpoint& endpoint = *hosts_[node].endpoint;
            sockets_[node]->receive([&](const Address& from, std::span<std::byte> datagram) {
                endpoint.on_datagram(os::now_ns(), from, datagram);
            });
            endpoint.on_timer(os::now_ns());
            if (sockets_[node]->send(endpoint, os::now_ns())) ++content_sends_[node];
        }
    }

    // Node 0 sends frames until all have arrived at node 1.
    void send_all(std::uint64_t frames, std::uint32_t bytes) {
        for (std::uint64_t sent = 0; hosts_[1].arrived.size() < frames || sent < frames; poll()) {
            while (sent < frames && hosts_[0].send(1, sent + 1, bytes)) ++sent;
        }
        EXPECT_FALSE(hosts_[1].has_damage);
    }

    acp::test::ScopedWatchdog watchdog_{"a transport test"};
    acp::test::TestSuite suite_;
    Book book_{2};
    Host hosts_[2];
    std::unique_ptr<Transport> sockets_[2];
    std::uint64_t content_sends_[2] = {};
};

TEST_F(TransportTest, what_one_sends_the_other_receives_and_both_count_it) {
    start();
    send_all(200, 1000);
    while (!hosts_[0].endpoint->is_quiet()) poll();
    const TransportCounters sent = sockets_[0]->counters();
    const TransportCounters received = sockets_[1]->counters();
    EXPECT_GT(sent.bytes_sent, 200'000U);
    EXPECT_LE(sent.sends, sent.datagrams_sent);
    EXPECT_LE(received.bytes_received, sent.bytes_sent);
    EXPECT_GT(received.datagrams_received, 0U);
    EXPECT_EQ(received.unreachable + received.cut + sent.unreachable + sent.cut, 0U);
    EXPECT_EQ(sockets_[0]->faults(), nullptr);
}

TEST_F(TransportTest, an_endpoint_that_only_acknowledges_sends_no_content) {
    start();
    send_all(200, 1000);
    while (!hosts_[0].endpoint->is_quiet()) poll();
    EXPECT_GT(content_sends_[0], 0U);
    EXPECT_EQ(content_sends_[1], 0U);
    EXPECT_GT(sockets_[1]->counters().datagrams_sent, 0U);
}

TEST_F(TransportTest, a_frequent_destination_gets_a_connected_socket_without_losses) {
    start("", 2);
    for (int series = 0; series < 3; ++series) {
        for (int i = 0; i < 200; ++i) send_all(hosts_[1].arrived.size() + 1, 100);
        while (!hosts_[0].endpoint->is_quiet() || !hosts_[1].endpoint->is_quiet()) poll();
    }
    EXPECT_EQ(sockets_[0]->counters().lines, 1U);
    EXPECT_EQ(sockets_[1]->counters().lines, 1U);
    for (const int to : {0, 1}) {
        EXPECT_EQ(sockets_[to]->counters().datagrams_received,
                  sockets_[1 - to]->counters().datagrams_sent);
    }
    EXPECT_EQ(sockets_[0]->receive_drops() + sockets_[1]->receive_drops(), 0U);
}

TEST_F(TransportTest, a_sleeper_is_woken_by_a_socket_connected_during_its_sleep) {
    start("", 1);
    for (int i = 0; i < 300; ++i) send_all(hosts_[1].arrived.size() + 1, 12);
    ASSERT_EQ(sockets_[1]->counters().lines, 1U);
    while (!hosts_[0].endpoint->is_quiet() || !hosts_[1].endpoint->is_quiet()) poll();
    ASSERT_TRUE(hosts_[0].send(1, 1000));
    sockets_[0]->send(*hosts_[0].endpoint, os::now_ns());
    sockets_[1]->wait(-1);
    while (hosts_[1].arrived[1000] == 0) poll();
}

TEST_F(TransportTest, faults_are_injected_on_the_way_out_and_counted) {
    start("loss=0.2,dup=0.2,seed=5");
    send_all(100, 1000);
    const FaultCounters* faults = sockets_[0]->faults();
    ASSERT_NE(faults, nullptr);
    EXPECT_GT(faults->lost, 0U);
    EXPECT_GT(faults->duplicated, 0U);
}

TEST_F(TransportTest, a_sleeper_is_woken_by_a_datagram_and_by_another_thread) {
    start();
    // The nodes are connected, and nothing is in flight.
    send_all(1, 12);
    while (!hosts_[0].endpoint->is_quiet() || !hosts_[1].endpoint->is_quiet()) poll();
    ASSERT_TRUE(hosts_[0].send(1, 2));
    sockets_[0]->send(*hosts_[0].endpoint, os::now_ns());
    sockets_[1]->wait(-1);
    while (hosts_[1].arrived.size() < 2) poll();
    const auto lone = open_on({loopback()});
    std::thread other([&] { lone->wake(); });
    lone->wait(-1);
    other.join();
    lone->drain();
    lone->wait(0);  // would block forever if it were not for the time
}

TEST_F(TransportTest, nothing_goes_once_it_is_closed_and_nothing_waits) {
    start();
    sockets_[0]->close();
    ASSERT_TRUE(hosts_[0].send(1, 1));
    sockets_[0]->send(*hosts_[0].endpoint, os::now_ns());
    EXPECT_EQ(sockets_[0]->counters().datagrams_sent, 0U);
    EXPECT_EQ(sockets_[0]->deadline(), datagram::never);
    EXPECT_FALSE(sockets_[0]->receive([](const Address&, std::span<std::byte>) {}));
}

TEST(Transport, listens_on_each_address_under_a_port_of_its_own) {
    const auto both = open_on({loopback(), datagram::ipv4(127, 0, 0, 2, 0)});
    ASSERT_EQ(both->addresses().size(), 2U);
    for (const Address& address : both->addresses()) EXPECT_NE(address.port, 0);
    EXPECT_GT(both->receive_bytes(), 0U);
    EXPECT_EQ(both->receive_drops(), 0U);
}

TEST(Transport, an_address_that_is_not_this_hosts_is_named) {
    Transport::Options options;
    options.bind = {datagram::ipv4(192, 0, 2, 1, 0)};  // an address of RFC 5737 that no machine has
    const auto opened = Transport::open(options);
    ASSERT_FALSE(opened.is_ok());
    EXPECT_NE(std::string(opened.failure().message()).find("192.0.2.1"), std::string::npos)
        << opened.failure().message();
}

}  // namespace
}  // namespace acp::engine
