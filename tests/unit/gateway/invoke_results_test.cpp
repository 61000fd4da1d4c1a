// SPDX-License-Identifier: BSD-3-Clause
// A place belongs to one invoke until it is closed, and takes no memory.
#include "gateway/invoke_results.hpp"

#include <gtest/gtest.h>

#include "support/refuse_memory.hpp"

namespace acp::gateway {
namespace {

TEST(InvokeResults, a_place_is_one_invokes_until_it_is_closed) {
    InvokeResults results;
    EXPECT_TRUE(results.is_empty());
    ASSERT_TRUE(results.open(4));
    EXPECT_TRUE(results.has(4));
    EXPECT_FALSE(results.open(4 + 2ULL * remote::invokes_max));
    EXPECT_FALSE(results.has(4 + 2ULL * remote::invokes_max));
    ASSERT_TRUE(results.open(6));
    const std::byte of_four{4};
    const std::byte of_six{6};
    results.put(4, {&of_four, 1});
    results.put(6, {&of_six, 1});
    EXPECT_EQ(*results.result(4), of_four);
    EXPECT_EQ(*results.result(6), of_six);
    results.close(4);
    EXPECT_FALSE(results.has(4));
    EXPECT_TRUE(results.open(4 + 2ULL * remote::invokes_max));
    EXPECT_FALSE(results.is_empty());
}

TEST(InvokeResults, a_place_takes_no_memory) {
    InvokeResults results;
    const acp::test::Refusal refusal(1, acp::test::all_from_there);
    EXPECT_TRUE(results.open(2));
    const std::byte result{2};
    results.put(2, {&result, 1});
    EXPECT_EQ(*results.result(2), result);
}

}  // namespace
}  // namespace acp::gateway
