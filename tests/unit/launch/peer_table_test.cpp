// SPDX-License-Identifier: BSD-3-Clause
// The table of addresses that agents exchange.
#include "launch/peer_table.hpp"

#include <gtest/gtest.h>

namespace acp::launch::test {
namespace {

os::SocketAddress parsed(const char* text) {
    const auto address = os::parse_address(text);
    EXPECT_TRUE(address) << text;
    return address.value_or(os::SocketAddress{});
}

GatewayTable small_table() {
    return {{{parsed("127.0.1.1:4711")}, 0, ""},
            {{parsed("[2001:db8::7]:65535"), parsed("10.0.0.7:1"), parsed("10.0.0.8:256")},
             3,
             "alpha"}};
}

TEST(PeerTableTest, addresses_without_ports_are_read) {
    const auto ips = ips_from("127.0.1.1 127.1.1.1");
    ASSERT_TRUE(ips.is_ok());
    ASSERT_EQ(ips.value().size(), 2U);
    EXPECT_EQ(os::ip_text(ips.value()[1]), "127.1.1.1");
    EXPECT_EQ(ips_from("10.0.0.1").value().size(), 1U);
    for (const char* wrong : {"", " ", "10.0.0.1 ", "10.0.0.1  10.0.0.2", "10.0.0", "a b"}) {
        EXPECT_EQ(ips_from(wrong).failure().code(), base::Code::argument) << wrong;
    }
}

TEST(PeerTableTest, a_node_names_one_to_eight_addresses) {
    EXPECT_EQ(addresses_from("127.0.1.1:1 127.0.1.2:2").size(), 2U);
    EXPECT_EQ(addresses_text(small_table()[1].addresses),
              "[2001:db8::7]:65535 10.0.0.7:1 10.0.0.8:256");
    EXPECT_EQ(addresses_from("[2001:db8::7]:65535 10.0.0.7:1 10.0.0.8:256"),
              small_table()[1].addresses);
    EXPECT_TRUE(addresses_from("").empty());
    EXPECT_TRUE(addresses_from("host:1").empty());
    EXPECT_TRUE(addresses_from("127.0.1.1:1 ").empty());
    EXPECT_TRUE(addresses_from("127.0.1.1:1  127.0.1.2:2").empty());
    std::string words = "10.0.0.1:1";
    for (int i = 1; i < 8; ++i) words += " 10.0.0.1:1";
    EXPECT_EQ(addresses_from(words).size(), node_addresses_max);
    EXPECT_TRUE(addresses_from(words + " 10.0.0.1:1").empty());
}

TEST(PeerTableTest, the_table_arrives_as_it_was_sent) {
    const GatewayTable sent = small_table();
    const auto arrived = peer_table_from(to_bytes(sent), 2);
    ASSERT_TRUE(arrived.is_ok()) << arrived.failure().message();
    EXPECT_EQ(arrived.value(), sent);
    EXPECT_EQ(to_bytes({{{parsed("127.0.1.1:4711")}, 0, ""}}).size(), 10U);
}

TEST(PeerTableTest, a_table_cut_off_anywhere_is_refused) {
    const std::string whole = to_bytes(small_table());
    for (std::size_t length = 0; length < whole.size(); ++length) {
        EXPECT_FALSE(peer_table_from(whole.substr(0, length), 2).is_ok()) << length;
    }
}

TEST(PeerTableTest, a_table_of_other_shape_is_refused) {
    const std::string whole = to_bytes(small_table());
    EXPECT_FALSE(peer_table_from(whole, 1).is_ok());
    EXPECT_FALSE(peer_table_from(whole, 3).is_ok());
    EXPECT_FALSE(peer_table_from(whole + '\0', 3).is_ok());  // a node without addresses
    EXPECT_FALSE(
        peer_table_from(std::string("\x01\0\0\x05\0\0\0\0\0\0", 10), 1).is_ok());  // family 5
    EXPECT_FALSE(peer_table_from(std::string("\x09\0\0", 3) + whole, 3).is_ok());
}

TEST(PeerTableTest, a_host_name_of_64_printable_bytes_is_taken_and_no_other) {
    const auto is_taken = [](const std::string& host) {
        return peer_table_from(to_bytes({{{parsed("127.0.1.1:4711")}, 0, host}}), 1).is_ok();
    };
    EXPECT_TRUE(is_taken(std::string(host_name_bytes_max, 'h')));
    EXPECT_FALSE(is_taken(std::string(host_name_bytes_max + 1, 'h')));
    EXPECT_FALSE(is_taken("al\npha"));
    EXPECT_FALSE(is_taken(std::string("al\0pha", 6)));
    EXPECT_EQ(sent_host_name(std::string(70, 'h') + "\n").size(), host_name_bytes_max);
    EXPECT_EQ(sent_host_name("al pha\033[1m"), "alpha[1m");
}

}  // namespace
}  // namespace acp::launch::test
