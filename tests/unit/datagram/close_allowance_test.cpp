// SPDX-License-Identifier: BSD-3-Clause
// The number of CLOSE datagrams that may be sent: at the limit and one past it, and after some
// time.
#include "datagram/close_allowance.hpp"

#include <gtest/gtest.h>

namespace acp::datagram {
namespace {

std::uint32_t taken(CloseAllowance& allowance, Time now, NodeId node, bool is_listed) {
    std::uint32_t count = 0;
    while (count < 10'000 && allowance.take(now, node, is_listed)) ++count;
    return count;
}

// WIRE-82
TEST(CloseAllowance, gives_each_node_its_own_and_strangers_one_together) {
    CloseAllowance allowance(3);
    constexpr Time now = 5'000'000'000;
    EXPECT_EQ(taken(allowance, now, 1, true), CloseAllowance::node_at_once);
    EXPECT_EQ(taken(allowance, now, 2, true), CloseAllowance::node_at_once);
    EXPECT_EQ(taken(allowance, now, 1, false), CloseAllowance::other_at_once);
    EXPECT_EQ(taken(allowance, now, 2, false), 0U);
    EXPECT_EQ(taken(allowance, now + 3 * CloseAllowance::every_ns, 1, true), 3U);
    EXPECT_EQ(taken(allowance, now + 3600 * Time{1'000'000'000}, 1, true),
              CloseAllowance::node_at_once)
        << "no more are saved up";
}

// WIRE-82
TEST(CloseAllowance, is_bounded_over_all_nodes) {
    constexpr NodeId nodes = 1000;
    CloseAllowance allowance(nodes);
    std::uint32_t count = 0;
    for (NodeId node = 0; node < nodes; ++node)
        count += taken(allowance, 1'000'000'000, node, true);
    EXPECT_EQ(count, CloseAllowance::all_at_once);
}

}  // namespace
}  // namespace acp::datagram
