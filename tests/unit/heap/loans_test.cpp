// SPDX-License-Identifier: BSD-3-Clause
// Loans of blocks: the process that has a loan, and how it ends. One thread.
#include "heap/loans.hpp"

#include <array>
#include <gtest/gtest.h>
#include <vector>

namespace acp::heap {
namespace {

constexpr std::uint32_t loans_max = 4;
constexpr Offset farthest = ((std::uint64_t{1} << 36) - 1) * granule_bytes;

class LoansTest : public testing::Test {
protected:
    std::vector<Offset> freed_of(std::uint32_t gone) {
        std::vector<Offset> freed;
        const bool is_done = loans_.end_all(
            1, [](std::uint32_t) { return false; },
            [&](std::uint32_t process) { return process == gone; },
            [&](Offset block, const auto& unlink, Lent, std::uint32_t) {
                EXPECT_TRUE(loans_.has(block)) << "until it is freed";
                unlink();
                EXPECT_FALSE(loans_.has(block));
                freed.push_back(block);
            });
        EXPECT_TRUE(is_done);
        return freed;
    }

    std::array<std::uint64_t, loans_max + 1> words_{};
    Loans<> loans_{reinterpret_cast<char*>(words_.data()), loans_max};
};

TEST_F(LoansTest, a_loan_ends_once_and_for_the_process_that_has_it) {
    ASSERT_TRUE(loans_.lend(64, 3));
    EXPECT_FALSE(loans_.end(64, 2));
    EXPECT_FALSE(loans_.end(80, 3));
    EXPECT_TRUE(loans_.end(64, 3));
    EXPECT_FALSE(loans_.end(64, 3));
}

TEST_F(LoansTest, a_loan_goes_over_to_another_block_in_one_step) {
    ASSERT_TRUE(loans_.lend(64, 3));
    EXPECT_FALSE(loans_.hand_over(64, 96, 2));
    EXPECT_FALSE(loans_.hand_over(80, 96, 3));
    EXPECT_TRUE(loans_.hand_over(64, 96, 3));
    EXPECT_FALSE(loans_.has(64));
    EXPECT_EQ(freed_of(3), std::vector<Offset>{96});
    EXPECT_FALSE(loans_.hand_over(96, 64, 3)) << "a call of the dead process that comes late";
}

TEST_F(LoansTest, a_process_that_ends_loans_of_the_dead_gets_each_once) {
    ASSERT_TRUE(loans_.lend(0, 0));
    ASSERT_TRUE(loans_.lend(farthest, Loans<>::processes_max - 1));
    ASSERT_TRUE(loans_.lend(32, 0));
    EXPECT_EQ(freed_of(1), std::vector<Offset>());
    EXPECT_EQ(freed_of(0), (std::vector<Offset>{0, 32}));
    EXPECT_EQ(freed_of(0), std::vector<Offset>());
    EXPECT_FALSE(loans_.end(0, 0)) << "a call of the dead process that comes late";
    EXPECT_EQ(freed_of(Loans<>::processes_max - 1), std::vector<Offset>{farthest});
}

TEST_F(LoansTest, a_held_loan_is_ended_only_by_its_holder) {
    ASSERT_TRUE(loans_.lend(64, 3));
    ASSERT_TRUE(loans_.hold(64, 3));
    EXPECT_FALSE(loans_.hold(64, 3));
    EXPECT_FALSE(loans_.end(64, 3));
    EXPECT_EQ(freed_of(3), std::vector<Offset>());
    loans_.let_go(64, 3);
    ASSERT_TRUE(loans_.hold(64, 3));
    loans_.end_held(64, 3);
    EXPECT_EQ(freed_of(3), std::vector<Offset>());
    EXPECT_FALSE(loans_.end(64, 3));
}

TEST_F(LoansTest, a_process_frees_what_is_lent_to_it) {
    ASSERT_TRUE(loans_.lend(64, 3));
    Offset freed = no_block;
    const auto free = [&](Offset block, const auto& unlink, Lent, std::uint32_t) {
        EXPECT_FALSE(loans_.end(64, 3)) << "it is being freed";
        EXPECT_FALSE(loans_.hold(64, 3));
        unlink();
        freed = block;
    };
    EXPECT_FALSE(loans_.end_own(80, 3, free));
    EXPECT_FALSE(loans_.end_own(64, 2, free));
    EXPECT_TRUE(loans_.end_own(64, 3, free));
    EXPECT_EQ(freed, 64U);
    EXPECT_FALSE(loans_.end_own(64, 3, free));
}

TEST_F(LoansTest, one_at_a_time_ends_the_loans_of_processes_that_are_gone) {
    ASSERT_TRUE(loans_.lend(64, 3));
    const auto nobody = [](std::uint32_t) { return false; };
    const auto all = [](std::uint32_t) { return true; };
    std::uint32_t freed = 0;
    const auto count = [&](Offset, const auto& unlink, Lent, std::uint32_t) {
        unlink();
        ++freed;
    };
    // Between both steps, one process finds the first one alive, and another one finds it dead.
    EXPECT_TRUE(
        loans_.end_all(1, nobody, all, [&](Offset, const auto& unlink, Lent, std::uint32_t) {
            EXPECT_FALSE(loans_.end_all(2, nobody, all, count));
            EXPECT_EQ(freed, 0U);
            EXPECT_TRUE(loans_.end_all(2, all, all, count));
            EXPECT_EQ(freed, 1U);
            unlink();
        }));
}

TEST_F(LoansTest, lends_as_many_as_there_is_room_for_and_no_more) {
    for (Offset block = 0; block < loans_max; ++block) {
        EXPECT_TRUE(loans_.lend(block * granule_bytes, 7));
    }
    EXPECT_FALSE(loans_.lend(1'024, 7));
    EXPECT_TRUE(loans_.end(granule_bytes, 7));
    EXPECT_TRUE(loans_.lend(1'024, 7));
}

}  // namespace
}  // namespace acp::heap
