// SPDX-License-Identifier: BSD-3-Clause
// The choice of a job's addresses among those of its machines.
#include "launch/network_choice.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "unit/launch/interface_address.hpp"

namespace acp::launch::test {
namespace {

os::InterfaceAddress with_default_route(os::InterfaceAddress one) {
    one.has_default_route = true;
    return one;
}

os::InterfaceAddress without_carrier(os::InterfaceAddress one) {
    one.has_carrier = false;
    return one;
}

const Interfaces machine{address("lo", "127.0.0.1"), address("docker0", "172.17.0.1"),
                         address("eth0", "2001:db8::9"), address("eth0", "192.168.5.9"),
                         address("ib0", "10.3.0.9")};

// A copy of the machine with another last number in each address that other machines can reach.
Interfaces like(const Interfaces& first, std::uint8_t number) {
    Interfaces other = first;
    for (os::InterfaceAddress& one : other) {
        if (!one.is_loopback && !one.is_virtual)
            one.address.ip[one.address.family == 4 ? 3 : 15] = number;
    }
    return other;
}

std::string text_of(const GatewayRow& row) {
    std::string text;
    for (const os::SocketAddress& one : row.addresses)
        text += (text.empty() ? "" : " ") + os::ip_text(one);
    return text;
}

// The addresses of each node, one after the other.
std::vector<std::string> chosen_for(const char* wish,
                                    const std::vector<Interfaces>& nodes,
                                    std::uint32_t rails = 1) {
    const auto choice = NetworkChoice::from(wish);
    if (!choice.is_ok()) return {std::string(choice.failure().message())};
    std::vector<std::string> texts;
    for (const GatewayRow& row : choice.value().choose(nodes, rails)) texts.push_back(text_of(row));
    return texts;
}

std::string chosen_by(const char* wish, const Interfaces& all = machine) {
    return chosen_for(wish, {all})[0];
}

TEST(NetworkChoiceTest, without_a_wish_all_but_loopback_are_used_ipv4_first_and_bridges_last) {
    EXPECT_EQ(chosen_by(""), "192.168.5.9 10.3.0.9 2001:db8::9 172.17.0.1");
}

TEST(NetworkChoiceTest, a_bridge_that_leads_on_is_like_any_other_interface) {
    Interfaces other = machine;
    other[1].has_default_route = true;
    EXPECT_EQ(chosen_by("", other), "172.17.0.1 192.168.5.9 10.3.0.9 2001:db8::9");
    Interfaces far = like(machine, 7);
    far[1].address.ip[3] = 7;  // virtual machines are on a bridge of one network on each host
    EXPECT_EQ(chosen_for("", {machine, far})[0], "172.17.0.1 192.168.5.9 10.3.0.9 2001:db8::9");
}

TEST(NetworkChoiceTest, a_carrier_and_a_default_route_come_first) {
    const Interfaces all{without_carrier(address("eth0", "10.0.0.1")), address("eth1", "10.1.0.1"),
                         with_default_route(address("eth2", "10.2.0.1"))};
    EXPECT_EQ(chosen_by("", all), "10.2.0.1 10.1.0.1 10.0.0.1");
    EXPECT_EQ(chosen_by("eth0,eth1", all), "10.0.0.1 10.1.0.1") << "a wish comes before";
}

TEST(NetworkChoiceTest, networks_that_most_nodes_have_come_first) {
    const Interfaces first{with_default_route(address("eth0", "10.0.0.1")),
                           address("ib0", "10.9.0.1"), address("ib1", "10.8.0.1")};
    const Interfaces second{with_default_route(address("eth0", "10.1.0.1")),
                            address("ib1", "10.8.0.2"), address("ib0", "10.9.0.2")};
    const Interfaces third{with_default_route(address("eth0", "10.2.0.1")),
                           address("ib0", "10.9.0.3")};
    EXPECT_EQ(chosen_for("", {first, second, third}),
              (std::vector<std::string>{"10.9.0.1 10.8.0.1 10.0.0.1", "10.9.0.2 10.8.0.2 10.1.0.1",
                                        "10.9.0.3 10.2.0.1"}));
}

TEST(NetworkChoiceTest, an_address_that_two_nodes_have_connects_none) {
    const Interfaces first{address("docker0", "172.17.0.1"), address("eth0", "10.0.0.1")};
    const Interfaces second{address("docker0", "172.17.0.1"), address("eth0", "10.1.0.1")};
    EXPECT_EQ(chosen_for("", {first, second}),
              (std::vector<std::string>{"10.0.0.1 172.17.0.1", "10.1.0.1 172.17.0.1"}));
}

TEST(NetworkChoiceTest, the_good_network_is_found_behind_many_bridges_and_the_rest_is_counted) {
    std::vector<Interfaces> nodes(2);
    for (std::uint8_t node = 0; node < 2; ++node) {
        for (int i = 0; i < 20; ++i) {
            nodes[node].push_back(
                address("docker" + std::to_string(i), "172.17." + std::to_string(i) + ".1"));
        }
        nodes[node].push_back(address("eth0", "10.0.0." + std::to_string(node + 1)));
    }
    const auto choice = NetworkChoice::from("");
    ASSERT_TRUE(choice.is_ok());
    const GatewayTable table = choice.value().choose(nodes, 1);
    for (std::size_t node = 0; node < 2; ++node) {
        ASSERT_EQ(table[node].addresses.size(), node_addresses_max);
        EXPECT_EQ(os::ip_text(table[node].addresses[0]), "10.0.0." + std::to_string(node + 1));
        EXPECT_EQ(table[node].left_out, 13);
    }
}

TEST(NetworkChoiceTest, rails_follow_node_0_and_are_never_bridges) {
    const Interfaces first{address("docker0", "172.17.0.1"), address("eth0", "10.0.0.1"),
                           address("eth0", "2001:db8::1"), address("eth1", "10.1.0.1")};
    const Interfaces second{address("eth1", "10.1.0.2"), address("docker0", "172.17.0.1"),
                            address("eth0", "10.0.0.2"), address("eth2", "10.7.0.2")};
    EXPECT_EQ(chosen_for("", {first, second}, 2),
              (std::vector<std::string>{"10.0.0.1 10.1.0.1", "10.0.0.2 10.1.0.2"}));
    EXPECT_EQ(chosen_for("eth1,eth0", {first, second}, 2),
              (std::vector<std::string>{"10.1.0.1 10.0.0.1", "10.1.0.2 10.0.0.2"}));
    EXPECT_EQ(chosen_for("", {first, second}, 4)[1], "10.0.0.2 10.1.0.2 10.7.0.2");
    EXPECT_EQ(chosen_for("", {{address("docker0", "172.17.0.1")}}, 2)[0], "");
    // Both machines share one network; it keeps its place, although it is the first choice of one
    // and the second of the other.
    EXPECT_EQ(
        chosen_for("",
                   {{with_default_route(address("eth0", "10.2.0.1")), address("eth1", "10.1.0.1")},
                    {with_default_route(address("eth0", "10.1.0.2")), address("eth1", "10.3.0.2")}},
                   2),
        (std::vector<std::string>{"10.1.0.1 10.2.0.1", "10.1.0.2 10.3.0.2"}));
}

TEST(NetworkChoiceTest, an_address_on_two_interfaces_counts_once) {
    EXPECT_EQ(chosen_by("", {address("eth0", "10.0.0.1"), address("eth1", "10.0.0.1")}),
              "10.0.0.1");
}

TEST(NetworkChoiceTest, a_machine_without_a_network_uses_loopback) {
    EXPECT_EQ(chosen_by("", {machine[0]}), "127.0.0.1");
    EXPECT_EQ(chosen_by("10.0.0.0/8", {machine[0]}), "");
}

TEST(NetworkChoiceTest, wishes_choose_and_order) {
    EXPECT_EQ(chosen_by("10.0.0.0/8"), "10.3.0.9");
    EXPECT_EQ(chosen_by("ib0,eth0"), "10.3.0.9 192.168.5.9 2001:db8::9");
    EXPECT_EQ(chosen_by("2001:db8::/32"), "2001:db8::9");
    EXPECT_EQ(chosen_by("0.0.0.0/0,!lo,!172.16.0.0/12"), "192.168.5.9 10.3.0.9");
    EXPECT_EQ(chosen_by("127.0.0.1"), "127.0.0.1");
}

TEST(NetworkChoiceTest, exclusions_alone_keep_the_rest) {
    EXPECT_EQ(chosen_by("!docker0,!eth0"), "10.3.0.9");
}

TEST(NetworkChoiceTest, a_prefix_may_end_inside_a_byte) {
    EXPECT_EQ(chosen_by("192.168.4.0/23"), "192.168.5.9");
    EXPECT_EQ(chosen_by("192.168.4.0/24"), "");
}

TEST(NetworkChoiceTest, what_is_no_network_is_refused_by_its_word) {
    for (const char* word :
         {"10.0.0.0/33", "::/129", "10.0.0.0/x", "10.0.0/8", "a/b", "sixteen-letters-"}) {
        const auto choice = NetworkChoice::from(std::string("eth0,!") + word);
        ASSERT_FALSE(choice.is_ok()) << word;
        EXPECT_NE(choice.failure().message().find(word), std::string::npos)
            << choice.failure().message();
    }
    for (const char* text : {"eth0,,ib0", "!", ",eth0"}) {
        EXPECT_FALSE(NetworkChoice::from(text).is_ok()) << text;
    }
}

}  // namespace
}  // namespace acp::launch::test
