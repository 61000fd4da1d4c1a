// SPDX-License-Identifier: BSD-3-Clause
// Addresses and networks to text and back. One thread.
#include "gateway/address_text.hpp"

#include <gtest/gtest.h>

namespace acp::gateway {
namespace {

TEST(AddressText, reads_back_what_it_writes) {
    for (const char* text :
         {"127.0.1.1:4711", "0.0.0.0:0", "255.255.255.255:65535", "[::1]:9", "[::]:0",
          "[2001:db8::1]:4711", "[1:2:3:4:5:6:7:8]:1", "[fe80::1:0:0:1]:2", "[1:0:0:2::3]:4"}) {
        const auto address = parse_address(text);
        ASSERT_TRUE(address.has_value()) << text;
        EXPECT_EQ(address_text(*address), text);
    }
}

TEST(AddressText, the_port_may_be_left_out) {
    EXPECT_EQ(address_text(*parse_address("10.1.2.3")), "10.1.2.3:0");
    EXPECT_EQ(address_text(*parse_address("[::1]")), "[::1]:0");
    EXPECT_EQ(address_text(*parse_address("fd00::5")), "[fd00::5]:0");
}

TEST(AddressText, what_is_no_address_is_refused) {
    for (const char* text : {"",
                             "1.2.3",
                             "1.2.3.4.5",
                             "1.2.3.256",
                             "1.2.3.4:",
                             "1.2.3.4:65536",
                             "1.2.3.4:x",
                             "a.b.c.d",
                             "1.2.3.-4",
                             "[::1",
                             "[::1]x",
                             "[1:2:3]:4",
                             "[1:2:3:4:5:6:7:8:9]:1",
                             "[1::2::3]:4",
                             ":::",
                             "[12345::]:1",
                             "localhost:5",
                             "[:1]:1",
                             "[1:]:1",
                             "[::1]5"}) {
        EXPECT_FALSE(parse_address(text).has_value()) << text;
    }
}

TEST(AddressText, a_network_contains_what_shares_its_prefix) {
    const auto network = parse_network("10.128.0.0/9");
    ASSERT_TRUE(network.has_value());
    EXPECT_TRUE(network->contains(*parse_address("10.128.0.0:5")));
    EXPECT_TRUE(network->contains(*parse_address("10.255.255.255")));
    EXPECT_FALSE(network->contains(*parse_address("10.127.255.255")));
    EXPECT_FALSE(network->contains(*parse_address("::1")));
    EXPECT_TRUE(parse_network("0.0.0.0/0")->contains(*parse_address("8.8.8.8")));
    EXPECT_TRUE(parse_network("192.0.2.1")->contains(*parse_address("192.0.2.1:80")));
    EXPECT_FALSE(parse_network("192.0.2.1")->contains(*parse_address("192.0.2.2")));
    EXPECT_TRUE(parse_network("fd00::/8")->contains(*parse_address("fdff::1")));
}

TEST(AddressText, what_is_no_network_is_refused) {
    for (const char* text :
         {"", "/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0:5/8", "fd00::/129", "eth0"}) {
        EXPECT_FALSE(parse_network(text).has_value()) << text;
    }
}

TEST(AddressText, knows_loopback) {
    EXPECT_TRUE(is_loopback(*parse_address("127.0.0.1")));
    EXPECT_TRUE(is_loopback(*parse_address("127.3.2.1")));
    EXPECT_TRUE(is_loopback(*parse_address("::1")));
    EXPECT_FALSE(is_loopback(*parse_address("128.0.0.1")));
    EXPECT_FALSE(is_loopback(*parse_address("::2")));
    EXPECT_FALSE(is_loopback(Address{}));
}

TEST(AddressText, emulated_nodes_have_loopback_addresses_of_their_own) {
    EXPECT_EQ(address_text(emulated_address(0)), "127.0.1.1:0");
    EXPECT_EQ(address_text(emulated_address(249)), "127.0.1.250:0");
    EXPECT_EQ(address_text(emulated_address(250)), "127.0.2.1:0");
}

}  // namespace
}  // namespace acp::gateway
