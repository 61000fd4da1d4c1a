// SPDX-License-Identifier: BSD-3-Clause
// Words that calls borrow: no word serves two calls at once, nor any call after a failure.
#include "gma/fetch_words.hpp"

#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace acp::gma {
namespace {

constexpr memory::GlobalAddress first_address = 0x1000;

class FetchWordsTest : public testing::Test {
protected:
    // Stores a result as a command's completion does.
    void write(memory::GlobalAddress address, std::uint64_t value) {
        std::atomic_ref(*reinterpret_cast<std::uint64_t*>(&memory_[address - first_address]))
            .store(value, std::memory_order_relaxed);
    }

    alignas(64) std::array<char, fetched_words.bytes({})> memory_{};
    FetchWords words_{memory_.data(), first_address};
};

TEST_F(FetchWordsTest, a_loan_gives_what_came_to_its_address) {
    for (std::uint64_t value = 1; value < 1000; ++value) {
        FetchWords::Loan loan(words_);
        ASSERT_TRUE(loan);
        write(loan.address(), value);
        EXPECT_EQ(loan.take_value(), value);
        EXPECT_FALSE(loan) << "it was given back";
    }
}

TEST_F(FetchWordsTest, words_lie_on_lines_of_their_own_and_inside_the_memory) {
    std::vector<std::unique_ptr<FetchWords::Loan>> loans;
    std::set<memory::GlobalAddress> addresses;
    for (std::uint32_t i = 0; i < FetchWords::count; ++i) {
        loans.push_back(std::make_unique<FetchWords::Loan>(words_));
        ASSERT_TRUE(*loans.back());
        EXPECT_EQ(loans.back()->address() % 64, first_address % 64);
        EXPECT_GE(loans.back()->address(), first_address);
        EXPECT_LE(loans.back()->address() + 8, first_address + memory_.size());
        EXPECT_TRUE(addresses.insert(loans.back()->address()).second);
    }
    EXPECT_FALSE(FetchWords::Loan(words_)) << "all are taken";
    const memory::GlobalAddress back = loans[17]->address();
    (void)loans[17]->take_value();
    FetchWords::Loan again(words_);
    ASSERT_TRUE(again);
    EXPECT_EQ(again.address(), back);
}

TEST_F(FetchWordsTest, a_word_whose_command_failed_is_not_used_again) {
    memory::GlobalAddress spoilt = 0;
    {
        const FetchWords::Loan loan(words_);
        spoilt = loan.address();
    }
    for (std::uint32_t i = 0; i < 3 * FetchWords::count; ++i) {
        FetchWords::Loan loan(words_);
        ASSERT_TRUE(loan);
        EXPECT_NE(loan.address(), spoilt);
        (void)loan.take_value();
    }
}

TEST_F(FetchWordsTest, no_two_threads_have_one_word_at_once) {
    std::vector<std::thread> threads;
    for (std::uint64_t own = 1; own <= 4; ++own) {
        threads.emplace_back([this, own] {
            for (std::uint64_t i = 0; i < 20'000; ++i) {
                FetchWords::Loan loan(words_);
                ASSERT_TRUE(loan);
                const std::uint64_t mark = own << 32U | i;
                write(loan.address(), mark);
                ASSERT_EQ(loan.take_value(), mark);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace acp::gma
