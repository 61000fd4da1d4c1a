// SPDX-License-Identifier: BSD-3-Clause
// The interfaces of this host, and of a network of the test's own: their addresses and what the kernel says of them.
#include "os/interfaces.hpp"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

#include "os/network_namespace.hpp"

#include "support/ip.hpp"

namespace acp::os {
namespace {

using acp::test::ip;

TEST(Interfaces, contain_the_loopback_address_with_its_prefix_and_mtu) {
    auto listed = list_interface_addresses();
    ASSERT_TRUE(listed.is_ok()) << listed.failure().message();
    const auto loopback =
        std::find_if(listed.value().begin(), listed.value().end(),
                     [](const auto& entry) { return entry.address == ip("127.0.0.1"); });
    ASSERT_NE(loopback, listed.value().end());
    EXPECT_TRUE(loopback->is_loopback);
    EXPECT_TRUE(loopback->has_carrier);
    EXPECT_FALSE(loopback->has_default_route);
    EXPECT_FALSE(loopback->is_virtual);
    EXPECT_EQ(loopback->prefix_bits, 8U);
    EXPECT_GE(datagram_bytes_max(*loopback), 1472U);
}

TEST(Interfaces, have_their_mtu_in_a_network_of_ones_own_too) {
    std::string why_not;
    std::vector<InterfaceAddress> seen;
    std::thread([&] {  // which alone moves
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
    EXPECT_TRUE(found->is_virtual) << "an end of a veth pair";
    EXPECT_TRUE(found->has_carrier);
    EXPECT_FALSE(found->has_default_route);
}

InterfaceAddress with_mtu(const char* address, std::uint32_t mtu_bytes) {
    InterfaceAddress one;
    one.interface = "eth0";
    one.address = ip(address);
    one.mtu_bytes = mtu_bytes;
    return one;
}

TEST(DatagramBytesMax, is_the_mtu_without_headers) {
    EXPECT_EQ(datagram_bytes_max(with_mtu("127.0.0.1", 65'536)), 65'507U);
    EXPECT_EQ(datagram_bytes_max(with_mtu("fd00::7", 1500)), 1452U);
    EXPECT_EQ(datagram_bytes_max(with_mtu("10.0.0.7", 1500)), 1472U);
    EXPECT_EQ(datagram_bytes_max(with_mtu("10.0.0.7", 9000)), 8972U);
    EXPECT_EQ(datagram_bytes_max(with_mtu("10.0.0.7", 0)), 0U);
}

}  // namespace
}  // namespace acp::os
