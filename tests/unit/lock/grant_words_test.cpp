// SPDX-License-Identifier: BSD-3-Clause
// The grant words of a process: each waiting thread has one of its own, whose number no late
// notification guesses, and a refused allocation leaves the words as they are.
#include "lock/grant_words.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <new>
#include <vector>

#include "support/rank_node.hpp"
#include "support/refuse_memory.hpp"

namespace acp::lock::test {
namespace {

using base::Code;

class GrantWordsTest : public testing::Test {
protected:
    acp::test::RankNode node_{1};
    GrantWords words_{*node_[0].gma, *node_[0].allocator};
};

TEST_F(GrantWordsTest, each_thread_that_waits_has_a_line_of_its_own) {
    std::vector<GrantWordAtPlace> all;
    for (int i = 0; i < 5; ++i) {
        all.push_back(words_.begin().value().place);
        EXPECT_EQ(all.back().address % 64, 0U);
        EXPECT_EQ(std::count_if(all.begin(), all.end(),
                                [&](const auto& other) { return other.room == all.back().room; }),
                  1);
    }
    const std::uint64_t used = node_.used()[0];
    for (const GrantWordAtPlace& word : all) words_.give_back(word);
    for (int i = 0; i < 5; ++i) {
        const GrantWordAtPlace again = words_.begin().value().place;
        const auto known = std::find_if(all.begin(), all.end(), [&](const auto& word) {
            return word.room == again.room && word.address == again.address;
        });
        ASSERT_NE(known, all.end());
        all.erase(known);  // no other thread has it now
    }
    EXPECT_EQ(node_.used()[0], used);
}

TEST_F(GrantWordsTest, a_word_in_memory_that_was_in_use_begins_without_a_wait) {
    std::vector<memory::GlobalAddress> blocks;
    for (int i = 0; i < 64; ++i) {
        blocks.push_back(node_[0].allocator->allocate(0, 64, 64).value());
        char* memory = nullptr;
        ASSERT_TRUE(node_[0].gma->space().view().find_direct(blocks.back(), 64, memory));
        std::fill_n(memory, 64, '\xff');
    }
    for (const memory::GlobalAddress block : blocks)
        ASSERT_TRUE(node_[0].allocator->free(block).is_ok());
    for (int i = 0; i < 8; ++i) EXPECT_EQ(words_.begin().value().place.room->word.load() >> 2U, 1U);
}

TEST_F(GrantWordsTest, no_two_waits_on_a_word_have_one_number) {
    std::uint64_t before = 0;
    for (int i = 0; i < 3; ++i) {
        BorrowedGrantWord wait(words_);
        EXPECT_FALSE(wait.is_granted());
        EXPECT_EQ(wait.address(), 0U);
        EXPECT_EQ(wait.number(), 0U);
        ASSERT_TRUE(wait.begin().is_ok());
        EXPECT_GT(wait.number(), before);
        EXPECT_FALSE(wait.is_granted());
        before = wait.number();
        char* memory = nullptr;
        ASSERT_TRUE(node_[0].gma->space().view().find_direct(wait.address(), 8, memory));
        sync::GrantWord<> word(*reinterpret_cast<std::atomic<std::uint64_t>*>(memory));
        EXPECT_FALSE(word.grant(sync::GrantState::of_grant(before - 1, true)));
        EXPECT_TRUE(word.grant(sync::GrantState::of_grant(before, i == 1)));
        EXPECT_TRUE(wait.is_granted());
        EXPECT_EQ(wait.has_died(), i == 1);
    }
}

TEST_F(GrantWordsTest, a_refused_allocation_of_the_process_takes_no_block_of_the_heap) {
    const std::uint64_t used = node_.used()[0];
    {
        const acp::test::Refusal refusal(1, acp::test::all_from_there);
        EXPECT_THROW((void)words_.begin(), std::bad_alloc);
    }
    EXPECT_EQ(node_.used()[0], used);
    const GrantWordAtPlace word = words_.begin().value().place;
    const acp::test::Refusal refusal(1, acp::test::all_from_there);
    words_.give_back(word);  // needs no memory
    EXPECT_EQ(words_.begin().value().place.room, word.room);
}

TEST_F(GrantWordsTest, a_full_heap_refuses_further_words_and_keeps_those_that_are_idle) {
    const GrantWordAtPlace idle = words_.begin().value().place;
    std::vector<memory::GlobalAddress> blocks;
    for (std::uint64_t bytes = 4 << 20; bytes >= 64;) {
        auto block = node_[0].allocator->allocate(0, bytes, 64);
        if (block.is_ok()) {
            blocks.push_back(block.value());
        } else {
            bytes /= 2;
        }
    }
    while (words_.begin().is_ok()) {  // the rest of the span of `idle`
    }
    EXPECT_EQ(words_.begin().failure().code(), Code::memory);
    BorrowedGrantWord wait(words_);
    EXPECT_EQ(wait.begin().code(), Code::memory);
    EXPECT_FALSE(wait.is_granted());
    words_.give_back(idle);
    EXPECT_TRUE(wait.begin().is_ok());
    for (const memory::GlobalAddress block : blocks)
        EXPECT_TRUE(node_[0].allocator->free(block).is_ok());
    EXPECT_TRUE(words_.begin().is_ok());
    node_.check_heaps();
}

}  // namespace
}  // namespace acp::lock::test
