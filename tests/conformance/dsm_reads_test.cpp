// SPDX-License-Identifier: BSD-3-Clause
// ACP_DSM_CHECK=reads on shared pages of several nodes (TEST_NODES=N): the first touch of a page by a
// rank, and a write of the byte by another node without an order, are found. Touches of other bytes, and
// those that barriers or fences order, are not. A tracker of whole blocks is refused by name.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "conformance/dsm_fixture.hpp"

namespace acp::test {
namespace {

class DsmReadsTest : public DsmTest {
protected:
    void SetUp() override {
        DsmTest::SetUp();
        if (IsSkipped()) return;
        last_ = procs_ - 1;
        words_ = static_cast<std::uint64_t*>(acp_alloc_home_dsm(4 * page, ACP_HOME_RANK, 0));
        ASSERT_NE(words_, nullptr) << acp_error_message();
    }

    void TearDown() override {
        if (words_ != nullptr) {
            EXPECT_EQ(acp_free_dsm(words_), 0) << acp_error_message();
        }
        DsmTest::TearDown();
    }

    void expect_races(std::uint64_t races) {
        const std::uint64_t before = stats().races;
        EXPECT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
        EXPECT_EQ(stats().races - before, races);
    }

    std::uint64_t read(std::size_t i) const {
        return static_cast<volatile std::uint64_t*>(words_)[i];
    }

    std::uint64_t* words_ = nullptr;
    int last_ = 0;  // a rank of the last node
};

constexpr std::uint64_t ones = 0x1111111111111111;

TEST_F(DsmReadsTest, a_read_of_a_byte_that_the_home_writes_is_found) {
    for (std::uint64_t round = 1; round < 4; ++round) {
        if (rank_ == last_) (void)read(5);
        if (rank_ == 0) words_[5] = round * ones;
        expect_races(1);
        expect_races(0);
    }
}

TEST_F(DsmReadsTest, a_read_by_the_home_of_a_byte_that_another_node_writes_is_found) {
    for (std::uint64_t round = 1; round < 4; ++round) {
        if (rank_ == 0) (void)read(1024);
        if (rank_ == last_) words_[1024] = round * ones;
        expect_races(1);
    }
}

TEST_F(DsmReadsTest, a_read_by_one_node_and_a_write_by_another_that_are_no_home_are_found) {
    const int nodes = std::atoi(std::getenv("TEST_NODES"));
    if (nodes < 3) GTEST_SKIP() << "it takes three nodes";
    if (rank_ == procs_ / nodes) (void)read(600);
    if (rank_ == last_) words_[600] = ones;
    expect_races(1);
}

TEST_F(DsmReadsTest, reads_alone_and_writes_of_other_bytes_are_no_race) {
    for (std::uint64_t round = 1; round < 6; ++round) {
        for (std::size_t i = 0; i < 4; ++i) (void)read(512 * i);
        words_[1 + static_cast<std::size_t>(rank_)] = round * ones;
        if (rank_ == last_) words_[512 + 9] = round;
        expect_races(0);
    }
}

TEST_F(DsmReadsTest, barriers_order_reads_and_writes) {
    for (std::uint64_t round = 1; round < 8; ++round) {
        const bool is_writer = rank_ == (round % 2 == 0 ? 0 : last_);
        for (std::size_t i = 0; i < 4 && is_writer; ++i) words_[512 * i + 7] = round * ones;
        expect_races(0);
        for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(read(512 * i + 7), round * ones);
        expect_races(0);
    }
}

TEST_F(DsmReadsTest, fences_order_reads_and_writes) {
    for (std::uint64_t round = 1; round < 4; ++round) {
        if (rank_ == last_) {
            (void)read(7);
            ASSERT_EQ(acp_fence_dsm(words_ + 1024, 8), 0) << acp_error_message();
        }
        sync_ranks();
        if (rank_ == 0) {
            words_[7] = round * ones;
            ASSERT_EQ(acp_fence_dsm(words_, 64), 0) << acp_error_message();
        }
        sync_ranks();
        if (rank_ == last_) {
            ASSERT_EQ(acp_fence_dsm(words_, 64), 0) << acp_error_message();
            EXPECT_EQ(read(7), round * ones);
        }
        expect_races(0);
    }
}

TEST_F(DsmReadsTest, a_page_that_was_prefetched_is_checked_too) {
    if (rank_ == last_) {
        ASSERT_EQ(acp_prefetch_dsm(words_, 4 * page), 0) << acp_error_message();
        (void)read(1536);
    }
    if (rank_ == 0) words_[1536] = ones;
    expect_races(1);
}

TEST_F(DsmReadsTest, two_writes_count_once) {
    if (rank_ == 0) words_[3] = ones;
    if (rank_ == last_) words_[3] = 2 * ones;
    expect_races(1);
}

class DsmReadsRefusedTest : public RankedTest {};

TEST_F(DsmReadsRefusedTest, blocks_of_pages_are_refused_by_name) {
    const char* const way = std::getenv("ACP_DSM_FAULTS");
    if (way == nullptr || std::string(way) != "protect") GTEST_SKIP() << "not with this tracker";
    EXPECT_EQ(acp_init_dsm(page), -1);
    expect_error(ACP_ERR_UNSUPPORTED, {"ACP_DSM_CHECK=reads", "ACP_DSM_FAULTS=protect"});
}

}  // namespace
}  // namespace acp::test
