// SPDX-License-Identifier: BSD-3-Clause
// The faults of the simulated network: as many as the plan says, and none after it has healed. Main
// thread only.
#include "sim/network.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

#include "datagram/credit_budget.hpp"

namespace acp::sim {
namespace {

constexpr std::uint32_t datagrams = 2000;

class NetworkTest : public ::testing::Test {
protected:
    NetworkTest() {
        plan_.nodes = 3;
        plan_.first_process = {0, 1, 2, 3};
        plan_.link.queue_bytes = 1U << 30;
        plan_.receive_bytes = 1U << 30;
    }

    // Sends numbered datagrams from node 0 to node 1; returns the numbers in the order they
    // arrived.
    std::vector<std::uint32_t> pass(std::uint32_t count, std::size_t bytes = 100) {
        Network network(plan_, agenda_, judge_);
        return pass(network, count, bytes);
    }

    std::vector<std::uint32_t> pass(Network& network,
                                    std::uint32_t count,
                                    std::size_t bytes = 100) {
        std::vector<std::byte> datagram(bytes);
        for (std::uint32_t number = 0; number < count; ++number) {
            std::memcpy(datagram.data() + 50, &number, sizeof number);
            network.send(0, 0, Network::address_of(1), datagram, false);
        }
        std::vector<std::uint32_t> numbers;
        while (!agenda_.is_empty()) network.on_event(agenda_.take());
        std::uint32_t index = 0;
        damaged_ = 0;
        while (network.receive(1, index)) {
            const Packet& packet = network.packet(index);
            if (!packet.is_intact) ++damaged_;
            if (packet.is_intact) {
                std::memcpy(&numbers.emplace_back(), packet.bytes.data() + 50,
                            sizeof(std::uint32_t));
            }
            network.release(index);
        }
        EXPECT_TRUE(network.is_empty());
        return numbers;
    }

    Plan plan_;
    Agenda agenda_;
    Judge judge_;
    std::uint32_t damaged_ = 0;
};

TEST_F(NetworkTest, carries_everything_in_order_when_nothing_is_planned) {
    const std::vector<std::uint32_t> numbers = pass(datagrams);
    ASSERT_EQ(numbers.size(), datagrams);
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
    EXPECT_GE(agenda_.now(),
              plan_.link.delay_ns + datagrams * 100ULL * plan_.link.ns_per_kib / 1024);
}

TEST_F(NetworkTest, loses_doubles_and_damages_the_share_that_is_planned) {
    plan_.link.loss_ppm = 300'000;
    const std::size_t kept = pass(datagrams).size();
    EXPECT_NEAR(static_cast<double>(kept), 0.7 * datagrams, 0.05 * datagrams);
    plan_.link.loss_ppm = 0;
    plan_.link.duplicate_ppm = 400'000;
    EXPECT_NEAR(static_cast<double>(pass(datagrams).size()), 1.4 * datagrams, 0.05 * datagrams);
    plan_.link.duplicate_ppm = 0;
    plan_.link.corrupt_ppm = 100'000;
    pass(datagrams);
    EXPECT_NEAR(static_cast<double>(damaged_), 0.1 * datagrams, 0.03 * datagrams);
}

TEST_F(NetworkTest, lets_datagrams_overtake_by_the_planned_span_at_most) {
    plan_.link.reorder_ppm = 500'000;
    plan_.link.reorder_span = 16;
    const std::vector<std::uint32_t> numbers = pass(datagrams, 1000);
    EXPECT_FALSE(std::is_sorted(numbers.begin(), numbers.end()));
    for (std::uint32_t place = 0; place < numbers.size(); ++place) {
        EXPECT_LE(place < numbers[place] ? numbers[place] - place : place - numbers[place], 20U);
    }
}

TEST_F(NetworkTest, drops_what_the_queue_of_the_link_or_the_socket_cannot_hold) {
    plan_.link.queue_bytes = 10'000;
    EXPECT_LT(pass(datagrams).size(), 100U);
    plan_.link.queue_bytes = 1U << 30;
    plan_.receive_bytes = 10 * datagram::true_bytes(100);
    EXPECT_EQ(pass(datagrams).size(), 10U);
}

TEST_F(NetworkTest, cuts_one_way_only_for_as_long_as_it_lasts) {
    Network network(plan_, agenda_, judge_);
    const PlannedFault cut{FaultKind::one_way, 0, 1, 0, 0, 1};
    const PlannedFault other{FaultKind::one_way, 1, 0, 0, 0, 1};
    network.begin(other);
    EXPECT_EQ(pass(network, 10).size(), 10U);
    network.begin(cut);
    EXPECT_EQ(pass(network, 10).size(), 0U);
    const PlannedFault both{FaultKind::isolate, 1, 0, 0, 0, 1};
    network.begin(both);
    network.end(cut);
    EXPECT_EQ(pass(network, 10).size(), 0U);
    network.end(both);
    EXPECT_EQ(pass(network, 10).size(), 10U);
}

TEST_F(NetworkTest, swallows_only_long_datagrams_in_an_mtu_hole) {
    Network network(plan_, agenda_, judge_);
    network.begin({FaultKind::mtu_hole, 0, 1, 1472, 0, 1});
    EXPECT_EQ(pass(network, 10, 1472).size(), 10U);
    EXPECT_EQ(pass(network, 10, 1473).size(), 0U);
}

TEST_F(NetworkTest, does_no_harm_once_it_has_healed) {
    plan_.link.loss_ppm = 500'000;
    plan_.link.duplicate_ppm = 500'000;
    plan_.link.corrupt_ppm = 100'000;
    Network network(plan_, agenda_, judge_);
    network.heal();
    EXPECT_EQ(pass(network, datagrams).size(), datagrams);
    EXPECT_EQ(damaged_, 0U);
}

TEST_F(NetworkTest, knows_the_addresses_of_its_nodes_and_no_others) {
    NodeId node = 0;
    for (NodeId wanted = 0; wanted < 600; ++wanted) {
        ASSERT_TRUE(Network::node_at(Network::address_of(wanted), 600, node));
        EXPECT_EQ(node, wanted);
    }
    EXPECT_FALSE(Network::node_at(Network::address_of(600), 600, node));
    EXPECT_FALSE(Network::node_at(datagram::Address{}, 600, node));
}

// namespace acp::sim
}  // namespace
}  // namespace acp::sim
