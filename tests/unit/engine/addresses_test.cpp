// SPDX-License-Identifier: BSD-3-Clause
// Addresses of emulated nodes, and what is loopback. One thread.
#include "engine/addresses.hpp"

#include <gtest/gtest.h>

namespace acp::engine {
namespace {

TEST(Addresses, keep_their_bytes_under_both_names) {
    const Address address = datagram::ipv4(192, 0, 2, 7, 4711);
    EXPECT_EQ(os::address_text(as_socket_address(address)), "192.0.2.7:4711");
    EXPECT_EQ(as_address(as_socket_address(address)), address);
}

TEST(Addresses, loopback_is_distinguished_from_other_addresses) {
    EXPECT_TRUE(is_loopback(datagram::ipv4(127, 0, 0, 1, 5)));
    EXPECT_TRUE(is_loopback(datagram::ipv4(127, 3, 2, 1, 0)));
    EXPECT_TRUE(is_loopback(as_address(*os::parse_ip("::1"))));
    EXPECT_FALSE(is_loopback(datagram::ipv4(128, 0, 0, 1, 0)));
    EXPECT_FALSE(is_loopback(as_address(*os::parse_ip("::2"))));
    EXPECT_FALSE(is_loopback(Address{}));
}

TEST(Addresses, emulated_nodes_have_loopback_addresses_of_their_own) {
    EXPECT_EQ(os::ip_text(as_socket_address(emulated_address(0))), "127.0.1.1");
    EXPECT_EQ(os::ip_text(as_socket_address(emulated_address(249))), "127.0.1.250");
    EXPECT_EQ(os::ip_text(as_socket_address(emulated_address(250))), "127.0.2.1");
    EXPECT_EQ(os::ip_text(as_socket_address(emulated_address(emulated_nodes_max - 1))),
              "127.0.250.250");
}

}  // namespace
}  // namespace acp::engine
