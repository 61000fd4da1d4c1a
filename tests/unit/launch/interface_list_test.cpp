// SPDX-License-Identifier: BSD-3-Clause
// The list of interfaces that an agent sends to the launcher.
#include "launch/interface_list.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>

#include "launch/line_channel.hpp"
#include "unit/launch/interface_address.hpp"

namespace acp::launch::test {
namespace {

TEST(InterfaceListTest, interfaces_are_read_as_they_were_written) {
    const char* words =
        "lo 127.0.0.1/8 lc eth0 2001:db8::9/64 cd docker0 172.17.0.1/16 v ib0 10.3.0.9/24 -";
    const auto read = interfaces_from(words);
    ASSERT_TRUE(read.is_ok()) << read.failure().message();
    const Interfaces& all = read.value();
    ASSERT_EQ(all.size(), 4U);
    EXPECT_EQ(to_words(all), words);
    EXPECT_EQ(text_of(all), "lo 127.0.0.1, eth0 2001:db8::9, docker0 172.17.0.1, ib0 10.3.0.9");
    EXPECT_TRUE(all[0].is_loopback);
    EXPECT_TRUE(all[1].has_default_route && all[1].has_carrier);
    EXPECT_TRUE(all[2].is_virtual);
    EXPECT_FALSE(all[2].has_carrier);
    EXPECT_EQ(all[3].prefix_bits, 24U);
    EXPECT_EQ(os::ip_text(all[3].address), "10.3.0.9");
}

TEST(InterfaceListTest, a_machine_may_have_none) {
    EXPECT_EQ(to_words({}), "");
    EXPECT_TRUE(interfaces_from("").value().empty());
    EXPECT_EQ(text_of({}), "none");
}

TEST(InterfaceListTest, what_is_no_list_is_refused) {
    for (const char* wrong : {"eth0", "eth0 10.0.0.1/8", "eth0 10.0.0/8 c", "eth0 10.0.0.1/33 c",
                              "eth0 10.0.0.1/8 x", "eth0 10.0.0.1/8 c eth1", " 10.0.0.1/8 c"}) {
        EXPECT_EQ(interfaces_from(wrong).failure().code(), base::Code::argument) << wrong;
    }
}

TEST(InterfaceListTest, more_addresses_than_are_ever_written_are_refused) {
    std::string words = "a 10.0.0.1/8 c";
    for (std::size_t i = 1; i < interfaces_max; ++i) words += " a 10.0.0.1/8 c";
    EXPECT_EQ(interfaces_from(words).value().size(), interfaces_max);
    const auto refused = interfaces_from(words + " a 10.0.0.1/8 c");
    ASSERT_FALSE(refused.is_ok());
    EXPECT_EQ(refused.failure().code(), base::Code::limit);
    EXPECT_EQ(refused.failure().message(), "more than 512 addresses of interfaces");
}

TEST(InterfaceListTest, of_more_than_a_line_holds_virtual_ones_are_left_out) {
    Interfaces many;
    for (std::size_t i = 0; i < 2 * interfaces_max; ++i) {
        many.push_back(address("a-bridge-of-15b", "2001:db8:1234:5678:9abc:def0:1234:5678"));
        many.back().is_virtual = i % 4 != 0;
    }
    const std::string words = to_words(many);
    EXPECT_LT(words.size(), channel_line_bytes_max - 16);
    const Interfaces kept = interfaces_from(words).value();
    ASSERT_EQ(kept.size(), interfaces_max);
    EXPECT_EQ(
        std::count_if(kept.begin(), kept.end(), [](const auto& one) { return !one.is_virtual; }),
        static_cast<std::ptrdiff_t>(interfaces_max / 2));
}

}  // namespace
}  // namespace acp::launch::test
