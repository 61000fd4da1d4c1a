// SPDX-License-Identifier: BSD-3-Clause
// Addresses as text and in ranges, and the addresses of this host.
#include "os/socket_address.hpp"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

#include "os/interfaces.hpp"
#include "os/network_namespace.hpp"

namespace acp::os {
namespace {

SocketAddress ip(const std::string& text) {
    const auto address = parse_ip(text);
    EXPECT_TRUE(address.has_value()) << text;
    return address.value_or(SocketAddress{});
}

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

TEST(Interfaces, contain_the_loopback_address_with_its_prefix_and_mtu) {
    auto listed = list_interface_addresses();
    ASSERT_TRUE(listed.is_ok()) << listed.failure().message();
    const auto loopback =
        std::find_if(listed.value().begin(), listed.value().end(),
                     [](const auto& entry) { return entry.address == ip("127.0.0.1"); });
    ASSERT_NE(loopback, listed.value().end());
    EXPECT_TRUE(loopback->is_loopback);
    EXPECT_EQ(loopback->prefix_bits, 8U);
    EXPECT_GE(datagram_bytes_max(*loopback), 1472U);
}

TEST(Interfaces, have_their_mtu_in_a_network_of_ones_own_too) {
    std::string why_not;
    std::vector<InterfaceAddress> seen;
    std::thread([&] {  // only this thread changes its network
        base::Status status = make_private_network(1);
        if (status.is_ok()) status = join_private_network(1, std::array{ip("10.77.1.1")}, 24);
        if (!status.is_ok()) {
            why_not = status.message();
            return;
        }
        auto listed = list_interface_addresses();
        if (listed.is_ok()) seen = std::move(listed).value();
    })
        .join();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
    const auto found = std::find_if(seen.begin(), seen.end(),
                                    [](const auto& entry) { return entry.interface == "acp0"; });
    ASSERT_NE(found, seen.end());
    EXPECT_EQ(found->mtu_bytes, 9000U);
}

std::vector<InterfaceAddress> some_addresses() {
    return {{"lo", ip("127.0.0.1"), 8, 65'536, true},
            {"eth0", ip("fd00::7"), 64, 1500, false},
            {"eth0", ip("10.0.0.7"), 8, 1500, false},
            {"eth1", ip("192.168.1.7"), 24, 9000, false}};
}

std::vector<std::string> texts(const std::vector<InterfaceAddress>& addresses) {
    std::vector<std::string> all;
    for (const auto& entry : addresses) all.push_back(ip_text(entry.address));
    return all;
}

TEST(SelectAddresses, takes_all_but_loopback_when_nothing_is_wished_for) {
    EXPECT_EQ(texts(select_addresses(some_addresses(), {})),
              (std::vector<std::string>{"10.0.0.7", "192.168.1.7", "fd00::7"}));
}

TEST(SelectAddresses, goes_by_the_order_of_the_ranges_and_takes_each_once) {
    const std::vector<AddressRange> ranges = {range("192.168.0.0/16"), range("0.0.0.0/0")};
    EXPECT_EQ(texts(select_addresses(some_addresses(), ranges)),
              (std::vector<std::string>{"192.168.1.7", "127.0.0.1", "10.0.0.7"}));
    EXPECT_TRUE(select_addresses(some_addresses(), std::vector{range("172.16.0.0/12")}).empty());
}

TEST(DatagramBytesMax, is_the_mtu_without_headers) {
    const auto all = some_addresses();
    EXPECT_EQ(datagram_bytes_max(all[0]), 65'507U);
    EXPECT_EQ(datagram_bytes_max(all[1]), 1452U);
    EXPECT_EQ(datagram_bytes_max(all[2]), 1472U);
    EXPECT_EQ(datagram_bytes_max(all[3]), 8972U);
    EXPECT_EQ(datagram_bytes_max({"eth2", ip("10.0.0.7"), 8, 0, false}), 0U);
}

// namespace acp::os
}  // namespace
}  // namespace acp::os
