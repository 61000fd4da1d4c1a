// SPDX-License-Identifier: BSD-3-Clause
// The cache that a thread gets: its own, one that can be borrowed, or none; never one in use.
#include "heap/cache_places.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <set>
#include <thread>

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
    for (std::uint32_t i = threads_with_cache + 1; i < caches_per_process; ++i) {
        ThreadCache* cache = places_.borrow(2, threads_with_cache + 10);
        ASSERT_NE(cache, nullptr);
        EXPECT_TRUE(borrowed.insert(cache).second);
    }
    EXPECT_EQ(places_.borrow(2, threads_with_cache), nullptr);
    EXPECT_NE(places_.borrow(1, threads_with_cache), nullptr) << "of another process";
    places_.give_back(**borrowed.begin());
    EXPECT_EQ(places_.borrow(2, threads_with_cache), *borrowed.begin());
}

TEST_F(CachePlacesTest, the_calls_of_other_nodes_have_one_cache) {
    ThreadCache* const own = places_.borrow(1, thread_for_others);
    ASSERT_NE(own, nullptr);
    EXPECT_TRUE(CachePlaces::is_for_others(own->number()));
    for (std::uint32_t thread = 0; thread <= threads_with_cache; ++thread) {
        ThreadCache* const other = places_.borrow(1, thread);
        ASSERT_NE(other, nullptr);
        EXPECT_FALSE(CachePlaces::is_for_others(other->number()));
    }
    places_.give_back(*own);
    EXPECT_EQ(places_.borrow(1, thread_for_others), own);
}

TEST_F(CachePlacesTest, a_cache_that_is_taken_over_cannot_be_borrowed) {
    const CacheNumber number = caches_of(1).first + 2;
    const CacheNumber taker = caches_of(0).first;
    ThreadCache* taken = places_.take_over(number, taker);
    ASSERT_NE(taken, nullptr);
    EXPECT_EQ(taken->number(), number);
    EXPECT_EQ(places_.taker_of(number).number, taker + 1);
    EXPECT_EQ(places_.take_over(number, taker + 1), nullptr) << "by two";
    ThreadCache* borrowed = places_.borrow(1, 2);
    ASSERT_NE(borrowed, nullptr);
    EXPECT_NE(borrowed, taken);
    places_.give_back(*borrowed);
    places_.let_go(number);
    EXPECT_EQ(places_.borrow(1, 2), taken);
}

TEST_F(CachePlacesTest, none_that_a_call_uses_is_taken_over) {
    ThreadCache* own = places_.borrow(1, 2);
    ThreadCache* shared = places_.borrow(1, threads_with_cache);
    EXPECT_EQ(places_.take_over(own->number(), 0), nullptr);
    EXPECT_EQ(places_.take_over(shared->number(), 0), nullptr);
    EXPECT_EQ(places_.taker_of(own->number()).number, 0U);
    places_.give_back(*shared);
    ASSERT_EQ(places_.take_over(shared->number(), 0), shared);
    EXPECT_NE(places_.borrow(1, threads_with_cache), shared);
}

TEST_F(CachePlacesTest, a_dead_taker_is_replaced) {
    const CacheNumber number = caches_of(1).first + 2;
    const CacheNumber dead = caches_of(2).first;
    ASSERT_NE(places_.take_over(number, dead), nullptr);
    EXPECT_EQ(places_.take_over(number, 1, {dead + 2, 0}), nullptr) << "it was another one";
    ASSERT_NE(places_.take_over(number, 1, {dead + 1, 0}), nullptr);
    EXPECT_EQ(places_.taker_of(number).number, 2U);
    EXPECT_EQ(places_.taker_of(number).before, dead + 1) << "its work may go back to it";
    places_.let_go(number, {dead + 1, 0});
    EXPECT_EQ(places_.taker_of(number).number, dead + 1) << "not finished";
    EXPECT_EQ(places_.taker_of(number).before, 0U);
}

// A thread borrows its cache again and again, and another one takes it over: never both at once.
TEST_F(CachePlacesTest, is_never_in_two_hands) {
    std::atomic<bool> is_over{false};
    std::uint64_t words =
        0;  // changed by the holder of the cache: two holders are a data race and lose counts
    std::uint64_t borrowed = 0;
    std::thread owner([&] {
        for (int i = 0; i < 200'000; ++i) {
            ThreadCache* cache = places_.borrow(0, 0);
            if (cache->number() == 0) {
                ++words;
                ++borrowed;
            }
            places_.give_back(*cache);
        }
        is_over.store(true);
    });
    std::uint64_t taken = 0;
    while (!is_over.load()) {
        if (places_.take_over(0, caches_of(1).first) == nullptr) continue;
        ++words;
        ++taken;
        places_.let_go(0);
    }
    owner.join();
    EXPECT_EQ(words, borrowed + taken);
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
        EXPECT_EQ(words.owned_at(), words.loans_at() + Loans<>::bytes(70));
        EXPECT_EQ(words.bytes(), words.owned_at() + OwnedBlocks::bytes(100));
    }
}

}  // namespace
}  // namespace acp::heap
