// SPDX-License-Identifier: BSD-3-Clause
// The awaited word: no epoch is missed and no wake is lost, also after the death of a thread.
#include "sync/sleep_word.hpp"

#include <array>
#include <functional>
#include <gtest/gtest.h>
#include <vector>

#include "support/interleave.hpp"

namespace acp::sync {
namespace {

namespace sched = test::sched;

using Word = SleepWord<sched::Atomic>;

constexpr std::uint64_t seeds = 10'000;

enum class End { reached, dead };

// A waiter as the contract describes it; look_for_death is called after announcing.
template <typename LookForDeath>
End wait_for(Word& word, std::uint32_t epoch, LookForDeath look_for_death) {
    for (std::uint32_t value = word.load();;) {
        if (Word::reached(value, epoch)) return End::reached;
        if (!word.announce_sleep(value)) continue;  // value is new
        if (look_for_death()) return End::dead;
        sched::sleep_while_is(word.word(), value);
        value = word.load();
    }
}

// Fibers: one publisher of three epochs with a datum each, and two waiters for all of them.
struct Scene {
    static constexpr std::uint32_t epochs = 3;

    std::uint32_t first_epoch = 1;
    Word word;
    std::array<int, epochs> data{};
    std::array<std::uint32_t, 2> reached{};  // epochs each waiter saw
    sched::Atomic<std::uint32_t> dead;

    void publish_all() {
        for (std::uint32_t i = 0; i < epochs; ++i) {
            sched::note_write(&data[i]);
            if (word.publish(first_epoch + i)) sched::wake_all(&word.word());
        }
    }

    void wait_for_all(std::size_t waiter) {
        const auto look = [this] { return dead.load(std::memory_order_acquire) != 0; };
        for (std::uint32_t i = 0; i < epochs; ++i) {
            if (wait_for(word, first_epoch + i, look) == End::dead) return;
            sched::note_read(&data[i]);
            ++reached[waiter];
        }
    }

    void watch() {
        dead.store(1, std::memory_order_release);
        word.clear_sleep();
        sched::wake_all(&word.word());
    }

    sched::Outcome run(const sched::Options& options) {
        return sched::run(options, {[this] { publish_all(); }, [this] { wait_for_all(0); },
                                    [this] { wait_for_all(1); }});
    }
};

TEST(SleepWord, wakes_every_waiter_for_every_epoch) {
    sched::for_each_seed(seeds, [](std::uint64_t seed) {
        Scene scene;
        EXPECT_EQ(scene.run({.seed = seed}).failure, "");
        EXPECT_EQ(scene.reached[0], Scene::epochs);
        EXPECT_EQ(scene.reached[1], Scene::epochs);
    });
}

TEST(SleepWord, counts_on_past_the_wrap_of_its_epochs) {
    sched::for_each_seed(seeds, [](std::uint64_t seed) {
        Scene scene;
        scene.first_epoch = (1U << 28) - 2;
        EXPECT_FALSE(scene.word.publish(scene.first_epoch - 1));
        EXPECT_EQ(scene.run({.seed = seed}).failure, "");
        EXPECT_EQ(scene.reached[1], Scene::epochs);
    });
}

TEST(SleepWord, lets_a_watcher_free_the_waiters_of_a_publisher_that_ends_anywhere) {
    sched::for_each_death(0, 300, [](const sched::Options& options) {
        Scene scene;
        sched::Options watched = options;
        watched.on_stall = [&] { scene.watch(); };
        const sched::Outcome outcome = scene.run(watched);
        EXPECT_EQ(outcome.failure, "");
        return outcome.is_victim_hit;
    });
}

TEST(SleepWord, serves_the_others_when_a_waiter_ends_anywhere) {
    sched::for_each_death(1, 300, [](const sched::Options& options) {
        Scene scene;
        const sched::Outcome outcome = scene.run(options);
        EXPECT_EQ(outcome.failure, "");
        EXPECT_EQ(scene.reached[1], Scene::epochs);
        return outcome.is_victim_hit;
    });
}

TEST(SleepWord, loses_no_waiter_to_a_death_noticed_while_it_falls_asleep) {
    sched::for_each_seed(seeds, [](std::uint64_t seed) {
        Scene scene;
        EXPECT_EQ(
            sched::run({.seed = seed}, {[&] { scene.watch(); }, [&] { scene.wait_for_all(0); },
                                        [&] { scene.wait_for_all(1); }})
                .failure,
            "");
    });
}

// Whether any seed loses a waiter if the watcher calls clear() and then wake_all().
bool is_waiter_lost(std::size_t waiters, const std::function<void(Scene&)>& clear) {
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        Scene scene;
        std::vector<std::function<void()>> fibers = {[&] {
            scene.dead.store(1, std::memory_order_release);
            clear(scene);
            sched::wake_all(&scene.word.word());
        }};
        for (std::size_t i = 0; i < waiters; ++i) {
            fibers.emplace_back([&scene, i] { scene.wait_for_all(i); });
        }
        if (!sched::run({.seed = seed}, fibers).failure.empty()) return true;
    }
    return false;
}

// Each part of clear_sleep() is needed: without one of them a waiter is lost.
TEST(SleepWord, would_lose_waiters_to_a_watcher_that_does_less_than_clear_sleep) {
    const auto nothing = [](Scene&) {};
    const auto only_clear_the_bit = [](Scene& scene) {
        scene.word.word().fetch_and(~1U, std::memory_order_acq_rel);
    };
    const auto clear = [](Scene& scene) { scene.word.clear_sleep(); };
    EXPECT_TRUE(is_waiter_lost(1, nothing));
    EXPECT_FALSE(is_waiter_lost(1, only_clear_the_bit));
    EXPECT_TRUE(is_waiter_lost(2, only_clear_the_bit));
    EXPECT_FALSE(is_waiter_lost(2, clear));
}

TEST(SleepWord, shows_the_publisher_sleepers_once) {
    SleepWord<> word;
    EXPECT_FALSE(word.publish(1));
    std::uint32_t value = word.load();
    EXPECT_TRUE(word.announce_sleep(value));
    EXPECT_EQ(value, word.word().load());
    EXPECT_TRUE(word.announce_sleep(value)) << "a second sleeper joins the first";
    EXPECT_TRUE(word.publish(2));
    EXPECT_FALSE(word.publish(3));
}

TEST(SleepWord, is_published_by_the_first_of_several_and_never_back) {
    SleepWord<> word;
    EXPECT_FALSE(word.publish_unless_reached(3));
    EXPECT_TRUE(SleepWord<>::reached(word.load(), 3));
    std::uint32_t value = word.load();
    EXPECT_TRUE(word.announce_sleep(value));
    EXPECT_TRUE(word.clear_sleep());
    value = word.load();
    EXPECT_TRUE(word.announce_sleep(value));
    for (const std::uint32_t late : {1U, 2U, 3U}) {
        EXPECT_FALSE(word.publish_unless_reached(late));
        EXPECT_EQ(word.load(), value) << "the word that sleepers for the next number wait on stays";
    }
    EXPECT_TRUE(word.publish_unless_reached(4)) << "they are to be woken";
    EXPECT_TRUE(SleepWord<>::reached(word.load(), 4));
}

TEST(SleepWord, refuses_to_announce_on_a_value_that_is_past) {
    SleepWord<> word;
    std::uint32_t value = word.load();
    EXPECT_FALSE(word.publish(1));
    EXPECT_FALSE(word.announce_sleep(value));
    EXPECT_TRUE(SleepWord<>::reached(value, 1));
}

TEST(SleepWord, keeps_its_epoch_when_the_sleep_bit_is_cleared) {
    SleepWord<> word;
    EXPECT_FALSE(word.publish(7));
    std::uint32_t value = word.load();
    EXPECT_TRUE(word.announce_sleep(value));
    EXPECT_TRUE(word.clear_sleep());
    EXPECT_FALSE(word.clear_sleep());
    EXPECT_TRUE(SleepWord<>::reached(word.load(), 7));
    EXPECT_FALSE(SleepWord<>::reached(word.load(), 8));
}

TEST(SleepWord, is_reached_up_to_half_the_range_around_it) {
    constexpr std::uint32_t all_epochs = 1U << 28;
    SleepWord<> word;
    EXPECT_TRUE(word.reached(word.load(), 0));
    EXPECT_FALSE(word.reached(word.load(), 1));
    EXPECT_TRUE(word.reached(word.load(), all_epochs - 1)) << "the epoch before 0";
    EXPECT_TRUE(word.reached(word.load(), all_epochs / 2 + 1));
    EXPECT_FALSE(word.reached(word.load(), all_epochs / 2 - 1));
    std::uint32_t value = word.load();
    EXPECT_TRUE(word.announce_sleep(value));
    EXPECT_FALSE(word.reached(value, 1)) << "the sleep bit is no epoch";
    for (int i = 0; i < 20; ++i) {
        word.clear_sleep();
        EXPECT_FALSE(word.reached(word.load(), 1)) << "nor is the number of clearings";
        EXPECT_TRUE(word.reached(word.load(), 0));
    }
}

// namespace acp::sync
}  // namespace
}  // namespace acp::sync
