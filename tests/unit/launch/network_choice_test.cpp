// SPDX-License-Identifier: BSD-3-Clause
// Which addresses of a machine a job uses.
#include "launch/network_choice.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace acp::launch::test {
namespace {

os::InterfaceAddress address(const char* interface, const std::string& ip) {
    os::InterfaceAddress made;
    made.interface = interface;
    made.address = os::parse_ip(ip).value_or(os::SocketAddress{});
    EXPECT_NE(made.address.family, 0) << ip;
    made.is_loopback = std::string(interface) == "lo";
    return made;
}

const std::vector<os::InterfaceAddress> machine{
    address("lo", "127.0.0.1"), address("eth0", "2001:db8::9"), address("eth0", "192.168.5.9"),
    address("docker0", "172.17.0.1"), address("ib0", "10.3.0.9")};

std::string chosen_by(const char* wish, const std::vector<os::InterfaceAddress>& all = machine) {
    const auto choice = NetworkChoice::from(wish);
    if (!choice.is_ok()) return std::string(choice.failure().message());
    std::string text;
    for (const os::SocketAddress& one : choice.value().choose(all)) {
        text += (text.empty() ? "" : " ") + os::ip_text(one);
    }
    return text;
}

TEST(NetworkChoiceTest, without_a_wish_all_but_loopback_are_used_ipv4_first) {
    EXPECT_EQ(chosen_by(""), "192.168.5.9 172.17.0.1 10.3.0.9 2001:db8::9");
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

TEST(NetworkChoiceTest, no_more_addresses_are_taken_than_a_node_may_have) {
    std::vector<os::InterfaceAddress> many;
    for (int i = 0; i < 9; ++i) {
        many.push_back(address("eth0", "10.0.0." + std::to_string(i)));
    }
    const auto choice = NetworkChoice::from("");
    ASSERT_TRUE(choice.is_ok());
    EXPECT_EQ(choice.value().choose(many).size(), node_addresses_max);
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
