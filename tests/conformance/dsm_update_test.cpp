// SPDX-License-Identifier: BSD-3-Clause
// Barriers fetch pages again that another rank has written, or drop them, as they learned or as the
// program chose. The bytes are right in each case.
#include <cstdint>
#include <gtest/gtest.h>
#include <string>

#include "conformance/dsm_fixture.hpp"

namespace acp::test {
namespace {

// Rank 0 writes pages in each of 40 rounds, and the last rank reads them in those that reads_in() names.
class DsmUpdateTest : public DsmTest {
protected:
    static constexpr std::size_t pages = 8;
    static constexpr std::uint64_t rounds = 40;

    template <typename ReadsIn>
    void run(int update, const ReadsIn& reads_in) {
        if (procs_ == 1) GTEST_SKIP() << "nobody else writes";
        numbers_ = words(pages * page);
        ASSERT_NE(numbers_, nullptr) << acp_error_message();
        ASSERT_EQ(acp_set_update_dsm(numbers_, pages * page, update), 0) << acp_error_message();
        const std::uint64_t faults_before = stats().faults;
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            for (std::size_t i = 0; i < pages && rank_ == 0; ++i)
                numbers_[i * page / 8 + round] = round * pages + i;
            ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
            if (!is_reader() || !reads_in(round)) continue;
            for (std::size_t i = 0; i < pages; ++i) {
                for (std::uint64_t of = 1; of <= round; ++of)
                    ASSERT_EQ(numbers_[i * page / 8 + of], of * pages + i) << round;
            }
        }
        faults_ = stats().faults - faults_before;
    }

    [[nodiscard]] bool is_reader() const { return rank_ == procs_ - 1; }

    // On another node than rank 0.
    [[nodiscard]] bool reads_elsewhere() const { return is_reader() && has_several_nodes(); }

    std::uint64_t* numbers_ = nullptr;
    std::uint64_t faults_ = 0;
};

constexpr auto in_each_round = [](std::uint64_t) { return true; };

// Two rounds, and the first one behind the 4, 8 and 16 that barriers fetch.
TEST_F(DsmUpdateTest, barriers_learn_to_fetch_pages_that_a_rank_reads_in_each_round) {
    run(ACP_UPDATE_LEARN, in_each_round);
    if (IsSkipped() || HasFatalFailure() || !reads_elsewhere()) return;
    EXPECT_GE(faults_, 2U);
    EXPECT_LE(faults_, 5 * pages);
    EXPECT_GE(stats().pages_updated, 28U)
        << "one page of each block, where a fault maps a whole one";
}

TEST_F(DsmUpdateTest, barriers_forget_pages_that_a_rank_reads_no_more) {
    run(ACP_UPDATE_LEARN, [](std::uint64_t round) { return round < 10; });
    if (IsSkipped() || HasFatalFailure() || !reads_elsewhere()) return;
    EXPECT_LE(stats().pages_updated, (4 + 8) * pages);
}

TEST_F(DsmUpdateTest, a_program_chooses_that_each_barrier_fetches_pages_again) {
    run(ACP_UPDATE_ALWAYS, in_each_round);
    if (IsSkipped() || HasFatalFailure() || !reads_elsewhere()) return;
    EXPECT_LE(faults_, pages);
    EXPECT_GE(stats().pages_updated, (rounds - 2) * pages);
}

TEST_F(DsmUpdateTest, a_program_chooses_that_no_barrier_fetches_pages_again) {
    run(ACP_UPDATE_NEVER, in_each_round);
    if (IsSkipped() || HasFatalFailure()) return;
    EXPECT_EQ(stats().pages_updated, 0U);
    if (reads_elsewhere()) {
        EXPECT_GE(faults_, rounds - 2) << "all but those while its node was the first home";
    }
}

// Ranks read and write different bytes of the same pages, so that each barrier drops copies of all.
TEST_F(DsmUpdateTest, pages_with_several_writers_that_barriers_fetch_again_have_the_right_bytes) {
    std::uint64_t* const numbers = words(pages * page);
    ASSERT_NE(numbers, nullptr) << acp_error_message();
    for (const int update : {ACP_UPDATE_ALWAYS, ACP_UPDATE_LEARN}) {
        ASSERT_EQ(acp_set_update_dsm(numbers, pages * page, update), 0);
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            for (std::size_t i = 0; i < pages; ++i)
                numbers[i * page / 8 + static_cast<std::size_t>(rank_)] = round + i;
            ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
            for (std::size_t i = 0; i < pages; ++i) {
                for (std::size_t rank = 0; rank < static_cast<std::size_t>(procs_); ++rank)
                    ASSERT_EQ(numbers[i * page / 8 + rank], round + i) << round;
            }
            ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
        }
    }
}

TEST_F(DsmUpdateTest, updates_of_no_allocation_and_of_no_kind_are_refused) {
    std::uint64_t* const numbers = words(2 * page);
    ASSERT_NE(numbers, nullptr) << acp_error_message();
    std::uint64_t own = 0;
    EXPECT_EQ(acp_set_update_dsm(&own, 0, ACP_UPDATE_ALWAYS), 0);
    EXPECT_EQ(acp_set_update_dsm(numbers, 2 * page, ACP_UPDATE_NEVER), 0);
    for (const int update : {0, 1, -1, ACP_UPDATE_LEARN - 1, ACP_UPDATE_NEVER + 1}) {
        EXPECT_EQ(acp_set_update_dsm(numbers, 8, update), -1);
        expect_error(ACP_ERR_ARGUMENT, {"acp_set_update_dsm", "update is", std::to_string(update)});
    }
    EXPECT_EQ(acp_set_update_dsm(&own, 8, ACP_UPDATE_ALWAYS), -1);
    expect_error(ACP_ERR_ARGUMENT, {"acp_set_update_dsm", "leaves the shared pages"});
    EXPECT_EQ(acp_set_update_dsm(numbers, ~std::size_t{0}, ACP_UPDATE_ALWAYS), -1);
    expect_error(ACP_ERR_ARGUMENT, {"acp_set_update_dsm", "leaves the shared pages"});
    if (has_several_nodes()) {
        EXPECT_EQ(acp_set_update_dsm(numbers, 3 * page, ACP_UPDATE_ALWAYS), -1);
        expect_error(ACP_ERR_ARGUMENT, {"acp_set_update_dsm", "leaves the allocations"});
    }
}

}  // namespace
}  // namespace acp::test
