// SPDX-License-Identifier: BSD-3-Clause
// Keys for idle peers: a key is made once while it is in use; nodes that share a slot replace each
// other's.
#include "datagram/wake_keys.hpp"

#include <gtest/gtest.h>

#include "support/test_cipher.hpp"

namespace acp::datagram {
namespace {

constexpr Secret secret{std::byte{1}};

// WIRE-91
TEST(WakeKeys, are_derived_once_for_a_node_and_an_epoch) {
    test::TestSuite suite;
    WakeKeys keys(4);
    for (Time now = 0; now < 1000; ++now)
        EXPECT_NE(keys.find(now, 1, secret, 5, 5, suite), nullptr);
    EXPECT_EQ(suite.keys_made(), 1U);
    EXPECT_NE(keys.find(0, 1, secret, 5, 6, suite), nullptr) << "the next epoch";
    EXPECT_EQ(keys.find(0, 1, secret, 5, 4, suite), nullptr) << "one that is over";
    EXPECT_NE(keys.find(0, 1, secret, 5, 90, suite), nullptr) << "far ahead";
    EXPECT_EQ(keys.find(1, 1, secret, 5, 91, suite), nullptr) << "and no other so soon";
    EXPECT_NE(keys.find(WakeKeys::skip_every_ns, 1, secret, 5, 91, suite), nullptr);
}

// WIRE-91
TEST(WakeKeys, nodes_that_share_a_slot_take_turns) {
    test::TestSuite suite;
    WakeKeys keys(2 * WakeKeys::slots_max);
    EXPECT_NE(keys.find(0, 3, secret, 0, 0, suite), nullptr);
    EXPECT_EQ(keys.find(1, 3 + WakeKeys::slots_max, secret, 0, 0, suite), nullptr);
    EXPECT_NE(keys.find(WakeKeys::kept_ns, 3 + WakeKeys::slots_max, secret, 0, 0, suite), nullptr);
    EXPECT_EQ(keys.find(WakeKeys::kept_ns + 1, 3, secret, 0, 0, suite), nullptr);
    keys.forget(3 + WakeKeys::slots_max);
    EXPECT_NE(keys.find(WakeKeys::kept_ns + 1, 3, secret, 0, 0, suite), nullptr);
}

}  // namespace
}  // namespace acp::datagram
