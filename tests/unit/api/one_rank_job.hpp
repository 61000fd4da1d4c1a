// SPDX-License-Identifier: BSD-3-Clause
// A job of one rank in the test's own process, which no call ends: failures are returned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>
#include <initializer_list>
#include <vector>

#include <acp.h>

namespace acp::api::test {

// Sizes for the rows of a table.
using Sizes = std::initializer_list<std::size_t>;

class OneRankJob : public testing::Test {
protected:
    static void SetUpTestSuite() {
        ASSERT_EQ(::setenv("ACP_ON_ERROR", "return", 1), 0);
        ASSERT_EQ(::setenv("ACP_HEAP_SIZE", "8M", 1), 0);
        ASSERT_EQ(acp_init(nullptr, nullptr), 0) << acp_error_message();
    }

    static void TearDownTestSuite() { EXPECT_EQ(acp_finalize(), 0) << acp_error_message(); }

    void SetUp() override {
        words_ = static_cast<std::uint64_t*>(acp_query_address(starter_));
        ASSERT_NE(words_, nullptr);
        for (std::uint64_t i = 0; i < word_count; ++i) words_[i] = i * 0x0101010101010101U;
        ASSERT_EQ(acp_heap_stat(0, &before_), 0);
    }

    // A refused call leaves starter memory and the blocks of the heap unchanged.
    void expect_unchanged() {
        for (std::uint64_t i = 0; i < word_count; ++i)
            ASSERT_EQ(words_[i], i * 0x0101010101010101U) << "word " << i << " of starter memory";
        acp_heap_stat_t now{};
        ASSERT_EQ(acp_heap_stat(0, &now), 0) << acp_error_message();
        EXPECT_EQ(now.blocks, before_.blocks) << "a block stays";
        EXPECT_EQ(acp_heap_check(0), 0) << acp_error_message();
    }

    static constexpr std::uint64_t word_count = 256;
    const acp_ga_t starter_ = acp_query_starter_ga(0);
    const acp_ga_t starter_end_ = starter_ + acp_starter_size();
    std::uint64_t* words_ = nullptr;
    acp_heap_stat_t before_{};
};

}  // namespace acp::api::test
