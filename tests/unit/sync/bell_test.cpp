// SPDX-License-Identifier: BSD-3-Clause
// The bell: no thread sleeps on after data was published and the bell rung, whatever other threads
// sleep, ring or die.
#include "sync/bell.hpp"

#include <array>
#include <functional>
#include <gtest/gtest.h>
#include <vector>

#include "support/interleave.hpp"

namespace acp::sync {
namespace {

namespace sched = test::sched;

using Ring = Bell<sched::Atomic>;

constexpr std::uint64_t seeds = 10'000;

// How a ringer publishes the data that sleepers look for, before it loads the bell.
enum class Publishing { by_update, by_store_and_fence };

// Fibers: two ringers of two rounds each, and two sleepers that wait until each ringer has done its
// rounds.
struct Scene {
    static constexpr std::uint32_t rounds = 2;

    Ring bell;
    std::array<sched::Atomic<std::uint32_t>, 2> done;
    std::array<bool, 2> has_seen_all{};

    void ring_all(std::size_t ringer, Publishing publishing) {
        for (std::uint32_t i = 1; i <= rounds; ++i) {
            if (publishing == Publishing::by_update) {
                done[ringer].fetch_add(1, std::memory_order_seq_cst);
            } else {
                done[ringer].store(i, std::memory_order_release);
                sched::fence();
            }
            if (bell.ring()) sched::wake_all(&bell.word());
        }
    }

    [[nodiscard]] bool is_all_done() {
        bool is_done = true;
        for (auto& word : done) is_done = word.load(std::memory_order_seq_cst) >= rounds && is_done;
        return is_done;
    }

    void wait(std::size_t sleeper) {
        for (;;) {
            const std::uint32_t value = bell.announce();
            if (is_all_done()) break;
            sched::sleep_while_is(bell.word(), value);
        }
        has_seen_all[sleeper] = true;
    }

    [[nodiscard]] std::vector<std::function<void()>> fibers(Publishing publishing) {
        return {[this, publishing] { ring_all(0, publishing); },
                [this, publishing] { ring_all(1, publishing); }, [this] { wait(0); },
                [this] { wait(1); }};
    }
};

class BellTest : public testing::TestWithParam<Publishing> {};

TEST_P(BellTest, no_ring_is_missed) {
    sched::for_each_seed(seeds, [](std::uint64_t seed) {
        Scene scene;
        ASSERT_EQ(sched::run({.seed = seed}, scene.fibers(GetParam())).failure, "");
        ASSERT_TRUE(scene.has_seen_all[0] && scene.has_seen_all[1]);
    });
}

// Sleepers may not see the data of a ringer that was killed before its ring: a watcher then rings,
// as after every death.
TEST_P(BellTest, a_ringer_that_dies_costs_one_ring_of_the_watcher) {
    sched::for_each_death(0, 50, [](const sched::Options& options) {
        Scene scene;
        sched::Options with_watcher = options;
        with_watcher.on_stall = [&scene] {
            scene.done[0].store(Scene::rounds, std::memory_order_seq_cst);  // "dead"
            // Wakes in any case, because the dead ringer may have ended between its ring and its
            // wake.
            static_cast<void>(scene.bell.ring());
            sched::wake_all(&scene.bell.word());
        };
        const sched::Outcome outcome = sched::run(with_watcher, scene.fibers(GetParam()));
        EXPECT_EQ(outcome.failure, "");
        EXPECT_TRUE(scene.has_seen_all[0] && scene.has_seen_all[1]);
        return outcome.is_victim_hit;
    });
}

TEST_P(BellTest, a_dying_sleeper_does_not_consume_the_wake_of_another) {
    sched::for_each_death(2, 50, [](const sched::Options& options) {
        Scene scene;
        const sched::Outcome outcome = sched::run(options, scene.fibers(GetParam()));
        EXPECT_EQ(outcome.failure, "");
        EXPECT_TRUE(scene.has_seen_all[1]);
        return outcome.is_victim_hit;
    });
}

INSTANTIATE_TEST_SUITE_P(published,
                         BellTest,
                         testing::Values(Publishing::by_update, Publishing::by_store_and_fence),
                         [](const testing::TestParamInfo<Publishing>& one) {
                             return one.param == Publishing::by_update ? "by_update"
                                                                       : "by_store_and_fence";
                         });

TEST(Bell, a_ring_without_waiters_wakes_no_thread) {
    Bell<> bell;
    EXPECT_FALSE(bell.ring());
    const std::uint32_t value = bell.announce();
    EXPECT_TRUE(bell.ring());
    EXPECT_NE(bell.word().load(std::memory_order_relaxed), value);
    EXPECT_FALSE(bell.ring());
}

// namespace acp::sync
}  // namespace
}  // namespace acp::sync
