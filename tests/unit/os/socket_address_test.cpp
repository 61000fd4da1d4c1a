// SPDX-License-Identifier: BSD-3-Clause
// Addresses as text and in ranges.
#include "os/socket_address.hpp"

#include <gtest/gtest.h>
#include <string>

#include "support/ip.hpp"

namespace acp::os {
namespace {

using acp::test::ip;

AddressRange range(const std::string& text) {
    auto parsed = parse_range(text);
    EXPECT_TRUE(parsed.is_ok()) << text;
    return parsed.is_ok() ? parsed.value() : AddressRange{};
}

TEST(SocketAddress, is_read_back_from_its_own_text) {
    for (const char* text :
         {"10.0.0.1:4711", "255.255.255.255:65535", "0.0.0.0:0", "[::1]:1", "[fd00:1:2::3]:4711"}) {
        const auto address = parse_address(text);
        ASSERT_TRUE(address.has_value()) << text;
        EXPECT_EQ(address_text(*address), text);
    }
}

TEST(SocketAddress, keeps_ip_in_network_order_and_port_in_host_order) {
    const auto address = parse_address("1.2.3.4:258");
    ASSERT_TRUE(address.has_value());
    EXPECT_EQ(address->family, 4);
    EXPECT_EQ(address->port, 258);
    EXPECT_EQ(address->ip[0], 1);
    EXPECT_EQ(address->ip[3], 4);
    EXPECT_EQ(address->ip[4], 0);
}

TEST(SocketAddress, takes_no_names_zones_or_rubbish) {
    using std::string_literals::operator""s;
    for (const auto& text : {""s, "localhost"s, "1.2.3"s, "1.2.3.4.5"s, "1.2.3.256"s, "fe80::1%lo"s,
                             "1.2.3.4 "s, "1.2.3.4\0x"s, ":::"s}) {
        EXPECT_FALSE(parse_ip(text).has_value()) << text;
    }
    for (const char* text : {"1.2.3.4", "1.2.3.4:", "1.2.3.4:65536", "1.2.3.4:-1", "[1.2.3.4]:1",
                             "::1:1", "[::1]", "[::1:1", "[]:1", ":1"}) {
        EXPECT_FALSE(parse_address(text).has_value()) << text;
    }
}

TEST(SocketAddress, without_a_family_is_none) {
    EXPECT_EQ(ip_text(SocketAddress{}), "none");
}

TEST(AddressRange, holds_what_shares_its_first_bits) {
    EXPECT_TRUE(contains(range("10.1.0.0/16"), ip("10.1.255.7")));
    EXPECT_FALSE(contains(range("10.1.0.0/16"), ip("10.2.0.0")));
    EXPECT_TRUE(contains(range("10.1.2.128/25"), ip("10.1.2.200")));
    EXPECT_FALSE(contains(range("10.1.2.128/25"), ip("10.1.2.127")));
    EXPECT_TRUE(contains(range("10.1.2.255/25"), ip("10.1.2.128"))) << "bits behind are ignored";
    EXPECT_TRUE(contains(range("0.0.0.0/0"), ip("203.0.113.9")));
    EXPECT_TRUE(contains(range("fd00::/8"), ip("fdff::1")));
    EXPECT_FALSE(contains(range("fd00::/8"), ip("fe00::1")));
    EXPECT_TRUE(contains(range("::/0"), ip("::1")));
}

TEST(AddressRange, of_one_family_holds_none_of_the_other) {
    EXPECT_FALSE(contains(range("0.0.0.0/0"), ip("::1")));
    EXPECT_FALSE(contains(range("::/0"), ip("127.0.0.1")));
    EXPECT_FALSE(contains(range("0.0.0.0/0"), SocketAddress{}));
}

TEST(AddressRange, without_a_prefix_is_one_address) {
    EXPECT_TRUE(contains(range("10.1.2.3"), ip("10.1.2.3")));
    EXPECT_FALSE(contains(range("10.1.2.3"), ip("10.1.2.2")));
    EXPECT_TRUE(contains(range("::1/128"), ip("::1")));
    EXPECT_FALSE(contains(range("::1"), ip("::2")));
}

TEST(AddressRange, is_refused_with_its_text_when_it_is_none) {
    for (const char* text :
         {"", "/8", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/x", "ten/8", "10.0.0.0/8/8"}) {
        const auto parsed = parse_range(text);
        ASSERT_FALSE(parsed.is_ok()) << text;
        EXPECT_EQ(parsed.failure().code(), base::Code::config);
        EXPECT_NE(parsed.failure().message().find("\"" + std::string(text) + "\""),
                  std::string_view::npos);
    }
}

}  // namespace
}  // namespace acp::os
