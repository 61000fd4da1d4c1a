// SPDX-License-Identifier: BSD-3-Clause
// The operations that a gateway runs in later rounds, without a gateway.
#include "engine/later_operations.hpp"

#include <gtest/gtest.h>

namespace acp::engine {
namespace {

TEST(LaterOperationsTest, takes_each_operation_once_in_the_order_in_which_they_were_added) {
    LaterOperations later(3);
    EXPECT_TRUE(later.is_empty());
    later.add({7, 0});
    later.add({8, 1});
    later.add({7, 0});
    later.add({7, 1});
    EXPECT_EQ(later.take(), (LaterOperation{7, 0}));
    later.add({7, 0});
    EXPECT_EQ(later.take(), (LaterOperation{8, 1}));
    EXPECT_EQ(later.take(), (LaterOperation{7, 1}));
    EXPECT_EQ(later.take(), (LaterOperation{7, 0}));
    EXPECT_TRUE(later.is_empty());
}

TEST(LaterOperationsTest, drops_what_finds_no_room) {
    LaterOperations later(2);
    constexpr std::uint32_t most = 2 * LaterOperations::each_process_most;
    for (std::uint32_t number = 0; number < 100; ++number) later.add({number, 0});
    std::uint32_t taken = 0;
    for (; !later.is_empty(); ++taken) EXPECT_EQ(later.take(), (LaterOperation{taken, 0}));
    EXPECT_GE(taken, most);
    EXPECT_LT(taken, 100U);
    later.add({1, 1});
    later.clear();
    EXPECT_TRUE(later.is_empty());
}

}  // namespace
}  // namespace acp::engine
