// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes of shared pages at a steady stride: few faults, the right bytes, also where the
// barrier drops what was fetched ahead, and no page is fetched ahead of touches that have no stride.
#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>
#include <vector>

#include <acp.h>

#include "conformance/dsm_fixture.hpp"

namespace acp::test {
namespace {

class DsmStreamTest : public RankedTest {
protected:
    static constexpr std::size_t pages = 1024;

    void SetUp() override {
        RankedTest::SetUp();
        if (is_refused_here()) GTEST_SKIP() << acp_error_message();
        ASSERT_EQ(acp_init_dsm(pages * page), 0) << acp_error_message();
        words_ = static_cast<std::uint64_t*>(acp_alloc_home_dsm(
            pages * page, ACP_HOME_RANK, static_cast<std::uint64_t>(procs_ - 1)));
        ASSERT_NE(words_, nullptr) << acp_error_message();
        ASSERT_EQ(acp_set_update_dsm(words_, pages * page, ACP_UPDATE_NEVER), 0);
    }

    void TearDown() override {
        if (!is_refused_here()) {
            EXPECT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
        }
        RankedTest::TearDown();
    }

    // The last rank, whose node is the home of all pages, writes a word of each.
    void write_all(std::uint64_t value) const {
        for (std::size_t i = 0; i < pages && rank_ == procs_ - 1; ++i)
            words_[i * page_words + 3] = value + i;
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
    }

    static acp_stats_dsm_t stats() {
        acp_stats_dsm_t now;
        EXPECT_EQ(acp_query_stats_dsm(&now, sizeof now), 0) << acp_error_message();
        return now;
    }

    [[nodiscard]] bool reads_elsewhere() const { return has_several_nodes() && rank_ == 0; }

    static constexpr std::size_t page_words = page / sizeof(std::uint64_t);

    volatile std::uint64_t* words_at(std::size_t i) const { return words_ + i * page_words; }

    std::uint64_t* words_ = nullptr;
};

TEST_F(DsmStreamTest, a_stream_of_each_stride_reads_the_newest_bytes_by_few_faults) {
    std::uint64_t value = 0;
    for (const std::ptrdiff_t stride : {1, -1, 2, -3, 5, -48}) {
        write_all(value += 10'000);
        const acp_stats_dsm_t before = stats();
        const std::size_t length = 1 + (pages - 1) / static_cast<std::size_t>(std::abs(stride));
        std::ptrdiff_t at = stride < 0 ? pages - 1 : 0;
        for (std::size_t i = 0; i < length; ++i, at += stride) {
            const auto index = static_cast<std::size_t>(at);
            ASSERT_EQ(words_at(index)[3], value + index) << stride;
        }
        const acp_stats_dsm_t after = stats();
        if (reads_elsewhere() && procs_ == 2) {
            // Pages that earlier streams touched come in runs, which hide a stride.
            EXPECT_LE(after.faults - before.faults, 16 + length / 4) << stride;
            EXPECT_GT(after.pages_ahead - before.pages_ahead, 0U) << stride;
        } else if (!has_several_nodes()) {
            EXPECT_EQ(after.faults + after.pages_ahead, 0U);
        }
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
    }
}

// Windows are a small part of the bound: they drop no page that the stream is about to touch.
TEST_F(DsmStreamTest, streams_under_a_bound_of_copies_keep_it_and_read_the_newest_bytes) {
    const char* const text = std::getenv("TEST_ROUNDS");
    const int rounds = text == nullptr ? 1 : std::atoi(text);
    allow_seconds(60 + 20 * static_cast<unsigned>(rounds));
    std::uint64_t value = 0;
    for (int round = 0; round < rounds; ++round) {
        for (const std::size_t bound : {std::size_t{1}, 100 * page, 256 * page}) {
            ASSERT_EQ(acp_set_cache_dsm(bound), 0) << acp_error_message();
            const std::uint64_t least = 64 * page;
            const std::uint64_t most = bound < least ? least : bound;
            for (const std::ptrdiff_t stride : {1, -1, 3, -7}) {
                write_all(value += 10'000);
                const acp_stats_dsm_t before = stats();
                const std::size_t length =
                    1 + (pages - 1) / static_cast<std::size_t>(std::abs(stride));
                std::ptrdiff_t at = stride < 0 ? pages - 1 : 0;
                for (std::size_t i = 0; i < length; ++i, at += stride) {
                    const auto index = static_cast<std::size_t>(at);
                    ASSERT_EQ(words_at(index)[3], value + index) << stride;
                    if (reads_elsewhere() && procs_ == 2 && i % 32 == 0) {
                        ASSERT_LE(stats().bytes_cached, most) << stride << ' ' << bound;
                    }
                }
                const acp_stats_dsm_t after = stats();
                if (reads_elsewhere() && procs_ == 2) {
                    EXPECT_GT(after.pages_evicted, before.pages_evicted) << stride << ' ' << bound;
                    // A window is a block of 16 pages at least where blocks are mapped.
                    EXPECT_TRUE(bound != 256 * page || after.pages_ahead > before.pages_ahead)
                        << stride;
                    EXPECT_LE(after.pages_fetched - before.pages_fetched, 2 * pages + 64);
                }
                ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
            }
        }
    }
    ASSERT_EQ(acp_set_cache_dsm(0), 0) << acp_error_message();
}

// Each rank writes its own words of all pages: evictions send them.
TEST_F(DsmStreamTest, streams_of_writes_under_a_bound_of_copies_lose_no_byte) {
    ASSERT_EQ(acp_set_cache_dsm(100 * page), 0) << acp_error_message();
    const auto own = static_cast<std::size_t>(rank_);
    allow_seconds(120);
    for (std::uint64_t round = 1; round <= 3; ++round) {
        for (std::size_t i = 0; i < pages; ++i) {
            const std::size_t at = (rank_ + static_cast<int>(round)) % 2 == 0 ? i : pages - 1 - i;
            words_at(at)[own] = round * 10'000 + at;
        }
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
        for (std::size_t i = 0; i < pages; ++i) {
            for (std::size_t rank = 0; rank < static_cast<std::size_t>(procs_); ++rank)
                ASSERT_EQ(words_at(i)[rank], round * 10'000 + i) << round << ' ' << rank;
        }
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
    }
    ASSERT_EQ(acp_set_cache_dsm(0), 0) << acp_error_message();
}

TEST_F(DsmStreamTest, pages_fetched_ahead_and_not_touched_are_counted_when_they_are_dropped) {
    write_all(1);
    if (rank_ == 0) {
        for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(words_at(i)[3], 1 + i);
    }
    ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
    write_all(2);
    const acp_stats_dsm_t now = stats();
    EXPECT_LE(now.pages_ahead_unused, now.pages_ahead);
    if (reads_elsewhere()) {
        EXPECT_GT(now.pages_ahead_unused, 0U) << "the last window";
        EXPECT_LE(now.pages_ahead_unused, 160U);
    } else if (!has_several_nodes()) {
        EXPECT_EQ(now.pages_ahead + now.pages_ahead_unused, 0U);
    }
}

// Ranks write words of their own into the same pages, in opposite directions.
TEST_F(DsmStreamTest, streams_of_writes_by_all_ranks_lose_no_byte) {
    const auto own = static_cast<std::size_t>(rank_);
    for (std::uint64_t round = 1; round <= 4; ++round) {
        for (std::size_t i = 0; i < pages / 4; ++i) {
            const std::size_t at = rank_ % 2 == 0 ? i : pages / 4 - 1 - i;
            words_at(at)[own] = round * 1000 + at;
        }
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
        for (std::size_t i = 0; i < pages / 4; ++i) {
            for (std::size_t rank = 0; rank < static_cast<std::size_t>(procs_); ++rank)
                ASSERT_EQ(words_at(i)[rank], round * 1000 + i) << round << ' ' << rank;
        }
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
    }
}

// Pages of a window that are given to another allocation, or to none, behind the end of a stream.
TEST_F(DsmStreamTest, a_stream_to_the_end_of_an_allocation_leaves_the_pages_behind_it_alone) {
    ASSERT_EQ(acp_free_dsm(words_), 0) << acp_error_message();
    const auto last = static_cast<std::uint64_t>(procs_ - 1);
    auto* const first =
        static_cast<volatile std::uint64_t*>(acp_alloc_home_dsm(60 * page, ACP_HOME_RANK, last));
    ASSERT_NE(first, nullptr) << acp_error_message();
    for (std::size_t i = 0; i < 60; ++i) ASSERT_EQ(first[i * page_words], 0U);
    ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
    auto* const second =
        static_cast<volatile std::uint64_t*>(acp_alloc_home_dsm(60 * page, ACP_HOME_RANK, last));
    ASSERT_NE(second, nullptr) << acp_error_message();
    for (std::size_t i = 0; i < 60 && rank_ == procs_ - 1; ++i) second[i * page_words] = i + 1;
    ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
    for (std::size_t i = 0; i < 60; ++i) ASSERT_EQ(second[i * page_words], i + 1);
    ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
}

}  // namespace
}  // namespace acp::test
