// SPDX-License-Identifier: BSD-3-Clause
// Who gets which cache: its own, one that can be borrowed, or none; never one that is in use.
#include "heap/cache_places.hpp"

#include <gtest/gtest.h>
#include <set>

#include "heap/words.hpp"

#include "unit/heap/heap_memory.hpp"

namespace acp::heap {
namespace {

class CachePlacesTest : public testing::Test {
protected:
    static constexpr std::uint32_t processes = 3;

    SharedPages memory_{CachePlaces::bytes(processes)};
    CachePlaces places_{memory_.data()};
};

TEST_F(CachePlacesTest, a_thread_has_a_cache_of_its_own) {
    for (std::uint32_t process = 0; process < processes; ++process) {
        for (std::uint32_t thread = 0; thread < threads_with_cache; ++thread) {
            ThreadCache* cache = places_.borrow(process, thread);
            ASSERT_NE(cache, nullptr);
            EXPECT_EQ(cache->number(), process * caches_per_process + thread);
            EXPECT_TRUE(caches_of(process).contain(cache->number()));
            places_.give_back(*cache);
            EXPECT_EQ(places_.borrow(process, thread), cache);
            places_.give_back(*cache);
        }
    }
}

TEST_F(CachePlacesTest, a_handler_that_interrupts_a_call_gets_another_one) {
    ThreadCache* own = places_.borrow(1, 0);
    ThreadCache* in_handler = places_.borrow(1, 0);
    ASSERT_NE(in_handler, nullptr);
    EXPECT_NE(in_handler, own);
    places_.give_back(*in_handler);
    places_.give_back(*own);
    EXPECT_EQ(places_.borrow(1, 0), own);
}

TEST_F(CachePlacesTest, further_threads_share_what_can_be_borrowed) {
    std::set<ThreadCache*> borrowed;
    for (std::uint32_t i = threads_with_cache; i < caches_per_process; ++i) {
        ThreadCache* cache = places_.borrow(2, threads_with_cache + 10);
        ASSERT_NE(cache, nullptr);
        EXPECT_TRUE(borrowed.insert(cache).second);
    }
    EXPECT_EQ(places_.borrow(2, threads_with_cache), nullptr);
    EXPECT_NE(places_.borrow(1, threads_with_cache), nullptr) << "of another process";
    places_.give_back(**borrowed.begin());
    EXPECT_EQ(places_.borrow(2, threads_with_cache), *borrowed.begin());
}

TEST_F(CachePlacesTest, remembers_nothing_at_first) {
    ThreadCache* cache = places_.borrow(0, 0);
    for (std::uint32_t c = 0; c < size_class_count; ++c) EXPECT_TRUE(cache->hold(c).is_empty());
}

TEST(WordsLayout, puts_its_parts_one_behind_the_other) {
    for (const std::uint32_t processes : {1U, 5U, 1025U}) {
        const WordsLayout words(100, processes, 70);
        EXPECT_EQ(words.shape().areas, 100U);
        EXPECT_EQ(words.shape().caches, processes * caches_per_process);
        EXPECT_LE(words.shape().caches, caches_max);
        EXPECT_EQ(words.caches_at(), Control<>::bytes(words.shape()));
        EXPECT_EQ(words.caches_at() % 64, 0U);
        EXPECT_EQ(words.gone_at(), words.caches_at() + CachePlaces::bytes(processes));
        EXPECT_GE(words.loans_at(), words.gone_at() + processes / 8);
        EXPECT_EQ(words.loans(), 70U);
        EXPECT_EQ(words.signed_at(), words.loans_at() + Loans<>::bytes(70));
        EXPECT_EQ(words.bytes(), words.signed_at() + 100 * sizeof(std::uint64_t));
    }
}

}  // namespace
}  // namespace acp::heap
