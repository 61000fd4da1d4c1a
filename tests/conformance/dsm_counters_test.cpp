// SPDX-License-Identifier: BSD-3-Clause
// The counters of shared pages (acp_query_stats_dsm), added up over all ranks. TEST_NODES=several: the
// job has several nodes.
#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>

#include "support/ranked.hpp"

namespace acp::test {
namespace {

constexpr std::size_t page = 4096;

class DsmCountersTest : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        is_open_ = acp_init_dsm(16 * page) == 0;
        if (!is_open_ && acp_errno() == ACP_ERR_UNSUPPORTED) GTEST_SKIP() << acp_error_message();
        ASSERT_TRUE(is_open_) << acp_error_message();
    }

    void TearDown() override {
        if (is_open_) {
            EXPECT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
        }
        RankedTest::TearDown();
    }

    // A counter, added up over all ranks.
    std::uint64_t all(std::uint64_t acp_stats_dsm_t::*counter) const {
        acp_stats_dsm_t stats;
        EXPECT_EQ(acp_query_stats_dsm(&stats, sizeof stats), 0) << acp_error_message();
        std::uint64_t sum = 0;
        for (const std::uint64_t one : exchange(stats.*counter)) sum += one;
        return sum;
    }

    bool is_open_ = false;
};

TEST_F(DsmCountersTest, say_what_was_fetched_sent_dropped_and_moved) {
    const std::uint64_t elsewhere = std::getenv("TEST_NODES") != nullptr ? 1 : 0;
    auto* const words = static_cast<volatile std::uint64_t*>(acp_alloc_dsm(page));
    ASSERT_NE(words, nullptr) << acp_error_message();
    // The last rank writes the page, whose home is the first node at first.
    for (std::uint64_t step = 1; step <= 3; ++step) {
        if (rank_ == procs_ - 1) words[0] = ~step;
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
        EXPECT_EQ(all(&acp_stats_dsm_t::homes_gained), step == 1 ? 0 : elsewhere) << step;
        // At the third step it is the home, and sends nothing.
        EXPECT_EQ(all(&acp_stats_dsm_t::pages_sent), step == 1 ? elsewhere : 2 * elsewhere) << step;
        EXPECT_EQ(all(&acp_stats_dsm_t::bytes_sent) != 0, elsewhere != 0);
        if (step == 1) {
            EXPECT_EQ(all(&acp_stats_dsm_t::pages_fetched), elsewhere);
        }
        EXPECT_EQ(words[0], ~step);
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
    }
    EXPECT_EQ(all(&acp_stats_dsm_t::pages_dropped) != 0, elsewhere != 0);
    EXPECT_EQ(all(&acp_stats_dsm_t::fault_ns) != 0, elsewhere != 0);
    EXPECT_EQ(all(&acp_stats_dsm_t::pages_prefetched), 0U);
    EXPECT_EQ(acp_prefetch_dsm(const_cast<std::uint64_t*>(words) + 500, 8), 0);
    EXPECT_EQ(all(&acp_stats_dsm_t::pages_prefetched),
              elsewhere * static_cast<std::uint64_t>(procs_));
    EXPECT_EQ(all(&acp_stats_dsm_t::barriers), 6 * static_cast<std::uint64_t>(procs_));
}

TEST_F(DsmCountersTest, count_no_page_dropped_by_a_barrier_behind_an_epoch_without_writes) {
    auto* const words =
        static_cast<volatile std::uint64_t*>(acp_alloc_home_dsm(8 * page, ACP_HOME_RANK, 0));
    ASSERT_NE(words, nullptr) << acp_error_message();
    const auto read_all = [&](std::uint64_t value) {
        for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(words[i * 512], value) << i;
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
    };
    read_all(0);
    for (std::size_t i = 0; i < 8 && rank_ == 0; ++i) words[i * 512] = 7;
    ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
    read_all(7);
    const std::uint64_t dropped = all(&acp_stats_dsm_t::pages_dropped);
    const std::uint64_t fetched = all(&acp_stats_dsm_t::pages_fetched);
    for (int epoch = 0; epoch < 3; ++epoch) read_all(7);
    EXPECT_EQ(all(&acp_stats_dsm_t::pages_dropped), dropped);
    EXPECT_EQ(all(&acp_stats_dsm_t::pages_fetched), fetched);
}

TEST_F(DsmCountersTest, begin_at_zero_with_the_next_shared_pages) {
    auto* const words = static_cast<volatile std::uint64_t*>(acp_alloc_dsm(4 * page));
    ASSERT_NE(words, nullptr) << acp_error_message();
    words[rank_] = 1;
    ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
    ASSERT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
    is_open_ = acp_init_dsm(2 * page) == 0;
    ASSERT_TRUE(is_open_) << acp_error_message();
    acp_stats_dsm_t stats;
    EXPECT_EQ(acp_query_stats_dsm(&stats, sizeof stats), 0) << acp_error_message();
    EXPECT_EQ(stats.bytes, 2 * page);
    EXPECT_EQ(stats.bytes_allocated + stats.allocations + stats.barriers + stats.faults, 0U);
    EXPECT_EQ(stats.fault_ns + stats.pages_fetched + stats.pages_sent + stats.bytes_sent, 0U);
    EXPECT_EQ(stats.pages_prefetched + stats.pages_dropped + stats.homes_gained, 0U);
}

}  // namespace
}  // namespace acp::test
