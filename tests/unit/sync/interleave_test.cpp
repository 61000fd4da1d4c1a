// SPDX-License-Identifier: BSD-3-Clause
// The seeded scheduler itself: it must find races, lost wakes and stale reads, and find them again
// with the same seed.
#include "support/interleave.hpp"

#include <array>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace acp::test::sched {
namespace {

using Word = Atomic<std::uint32_t>;

constexpr std::memory_order relaxed = std::memory_order_relaxed;
constexpr std::memory_order acquire = std::memory_order_acquire;
constexpr std::memory_order release = std::memory_order_release;
constexpr std::memory_order seq_cst = std::memory_order_seq_cst;

// Two fibers add without a read-modify-write; the sum shows whether they overlapped.
std::uint32_t sum_of_careless_adders(std::uint64_t seed) {
    Word word;
    const auto add = [&] { word.store(word.load(relaxed) + 1, relaxed); };
    EXPECT_EQ(run({.seed = seed}, {add, add}).failure, "");
    return word.peek();
}

TEST(Interleave, finds_an_update_that_is_lost_between_load_and_store) {
    std::array<int, 3> seen{};
    for_each_seed(100, [&](std::uint64_t seed) { ++seen[sum_of_careless_adders(seed)]; });
    EXPECT_GT(seen[1], 0);
    EXPECT_GT(seen[2], 0);
    EXPECT_EQ(seen[0], 0);
}

TEST(Interleave, does_the_same_again_with_the_same_seed) {
    for_each_seed(100, [](std::uint64_t seed) {
        EXPECT_EQ(sum_of_careless_adders(seed), sum_of_careless_adders(seed));
    });
}

// The number of seeds for which both of two fibers miss a store: each stores to its own word, calls
// between(), and loads the other's word.
int misses(std::memory_order store_order,
           std::memory_order load_order,
           const std::function<void()>& between) {
    int missed = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        std::array<Word, 2> words;
        std::array<std::uint32_t, 2> seen{};
        const auto act = [&](std::size_t self) {
            words[self].store(1, store_order);
            between();
            seen[self] = words[1 - self].load(load_order);
        };
        EXPECT_EQ(run({.seed = seed}, {[&] { act(0); }, [&] { act(1); }}).failure, "");
        if (seen[0] == 0 && seen[1] == 0) ++missed;
    }
    return missed;
}

TEST(Interleave, lets_each_of_two_miss_the_others_store_unless_both_are_sequentially_consistent) {
    const auto nothing = [] {};
    EXPECT_GT(misses(release, acquire, nothing), 0);
    EXPECT_GT(misses(seq_cst, acquire, nothing), 0);
    EXPECT_GT(misses(release, seq_cst, nothing), 0);
    EXPECT_EQ(misses(seq_cst, seq_cst, nothing), 0);
}

TEST(Interleave, lets_no_thread_miss_a_store_across_two_fences) {
    EXPECT_EQ(misses(relaxed, relaxed, [] { fence(); }), 0);
}

// The number of seeds for which the scheduler reports a race on plain data that is published by
// these orders.
int failures_of_handover(std::memory_order store_order, std::memory_order load_order) {
    int failures = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        Word flag;
        int data = 0;
        const Outcome outcome = run({.seed = seed}, {[&] {
                                                         note_write(&data);
                                                         flag.store(1, store_order);
                                                     },
                                                     [&] {
                                                         while (flag.load(load_order) == 0) pause();
                                                         note_read(&data);
                                                     }});
        if (!outcome.failure.empty()) ++failures;
    }
    return failures;
}

TEST(Interleave, accepts_plain_data_handed_over_by_release_and_acquire) {
    EXPECT_EQ(failures_of_handover(release, acquire), 0);
}

TEST(Interleave, reports_plain_data_handed_over_by_too_weak_an_order) {
    EXPECT_EQ(failures_of_handover(relaxed, acquire), 100);
    EXPECT_EQ(failures_of_handover(release, relaxed), 100);
}

// Message passing by two words: how often the second word is seen and the first is not.
int stale_reads(std::memory_order store_order, std::memory_order load_order) {
    int stale = 0;
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        Word data;
        Word flag;
        const auto send = [&] {
            data.store(1, relaxed);
            flag.store(1, store_order);
        };
        const auto receive = [&] {
            if (flag.load(load_order) == 1 && data.load(relaxed) == 0) ++stale;
        };
        EXPECT_EQ(run({.seed = seed}, {send, receive}).failure, "");
    }
    return stale;
}

TEST(Interleave, shows_stale_values_unless_release_and_acquire_forbid_them) {
    EXPECT_GT(stale_reads(relaxed, acquire), 0);
    EXPECT_GT(stale_reads(release, relaxed), 0);
    EXPECT_EQ(stale_reads(release, acquire), 0);
}

TEST(Interleave, shows_store_buffering_which_release_and_acquire_allow) {
    int both_miss = 0;
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        std::array<Word, 2> words;
        std::array<std::uint32_t, 2> seen{1, 1};
        const auto side = [&](std::size_t me) {
            words[me].store(1, release);
            seen[me] = words[1 - me].load(acquire);
        };
        EXPECT_EQ(run({.seed = seed}, {[&] { side(0); }, [&] { side(1); }}).failure, "");
        if (seen[0] == 0 && seen[1] == 0) ++both_miss;
    }
    EXPECT_GT(both_miss, 0);
}

TEST(Interleave, never_lets_one_fiber_see_a_word_go_back) {
    for_each_seed(1000, [](std::uint64_t seed) {
        Word word;
        const auto count = [&] {
            for (std::uint32_t i = 1; i <= 5; ++i) word.store(i, relaxed);
        };
        const auto watch = [&] {
            std::uint32_t last = 0;
            for (int i = 0; i < 10; ++i) {
                const std::uint32_t now = word.load(relaxed);
                EXPECT_GE(now, last);
                last = now;
            }
        };
        EXPECT_EQ(run({.seed = seed}, {count, watch}).failure, "");
    });
}

TEST(Interleave, passes_a_release_on_through_updates_of_the_same_word) {
    for_each_seed(1000, [](std::uint64_t seed) {
        Word flag;
        int data = 0;
        const auto send = [&] {
            note_write(&data);
            flag.fetch_or(1, release);
        };
        const auto disturb = [&] { flag.fetch_or(2, relaxed); };
        const auto receive = [&] {
            if ((flag.load(acquire) & 1) != 0) note_read(&data);
        };
        EXPECT_EQ(run({.seed = seed}, {send, disturb, receive}).failure, "");
    });
}

TEST(Interleave, reports_a_write_over_data_that_another_fiber_still_reads) {
    Word taken;
    int data = 0;
    const Outcome outcome = run({}, {[&] {
                                         note_read(&data);
                                         taken.store(1, relaxed);
                                     },
                                     [&] {
                                         while (taken.load(acquire) == 0) pause();
                                         note_write(&data);
                                     }});
    EXPECT_NE(outcome.failure.find("may still read"), std::string::npos) << outcome.failure;
}

TEST(Interleave, reports_a_sleeper_without_a_wakeup) {
    Word word;
    const Outcome outcome = run({}, {[&] { sleep_while_is(word, 0U); }});
    EXPECT_NE(outcome.failure.find("nobody will wake"), std::string::npos) << outcome.failure;
}

TEST(Interleave, lets_a_watcher_wake_a_sleeper_when_all_is_still) {
    Word word;
    bool is_awake = false;
    Options options;
    options.on_stall = [&] { wake_all(&word); };
    const Outcome outcome = run(options, {[&] {
                                    sleep_while_is(word, 0U);
                                    is_awake = true;
                                }});
    EXPECT_EQ(outcome.failure, "");
    EXPECT_TRUE(is_awake);
}

TEST(Interleave, reports_fibers_that_never_end) {
    const Outcome outcome = run({}, {[] {
                                    for (;;) pause();
                                }});
    EXPECT_NE(outcome.failure.find("do not come to an end"), std::string::npos) << outcome.failure;
}

TEST(Interleave, kills_a_fiber_before_each_of_its_operations) {
    // the values that a victim of three stores leaves when it is killed
    std::vector<std::uint32_t> left;
    for_each_death(0, 1, [&](const Options& options) {
        Word word;
        const auto count_to_three = [&] {
            for (std::uint32_t i = 1; i <= 3; ++i) word.store(i, relaxed);
        };
        const Outcome outcome = run(options, {count_to_three});
        EXPECT_EQ(outcome.failure, "");
        if (options.is_victim_resumed) {
            EXPECT_EQ(word.peek(), 3U);
        } else {
            left.push_back(word.peek());
        }
        return outcome.is_victim_hit;
    });
    EXPECT_EQ(left, (std::vector<std::uint32_t>{0, 1, 2, 3}));
}

TEST(Interleave, resumes_a_stopped_fiber_only_after_the_others_ended) {
    Word word;
    std::vector<int> order;
    Options options;
    options.victim = 0;
    options.is_victim_resumed = true;
    const Outcome outcome = run(options, {[&] {
                                              word.store(1, relaxed);
                                              order.push_back(0);
                                          },
                                          [&] {
                                              for (int i = 0; i < 20; ++i) pause();
                                              order.push_back(1);
                                          }});
    EXPECT_EQ(outcome.failure, "");
    EXPECT_TRUE(outcome.is_victim_hit);
    EXPECT_EQ(order, (std::vector<int>{1, 0}));
}

TEST(Interleave, makes_a_weak_compare_and_swap_fail_for_no_reason_sometimes) {
    int failures = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        Word word;
        EXPECT_EQ(run({.seed = seed}, {[&] {
                          std::uint32_t expected = 0;
                          if (!word.compare_exchange_weak(expected, 1, relaxed, relaxed))
                              ++failures;
                      }})
                      .failure,
                  "");
    }
    EXPECT_GT(failures, 0);
    EXPECT_LT(failures, 100);
}

// namespace acp::test::sched
}  // namespace
}  // namespace acp::test::sched
