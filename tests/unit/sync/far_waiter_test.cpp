// SPDX-License-Identifier: BSD-3-Clause
// A lock with a waiter of another node, under the seeded scheduler: whichever notification of an
// earlier wait comes late, the waiter enters when the lock is its, and then alone.
#include <cstdint>
#include <gtest/gtest.h>

#include "sync/grant_word.hpp"

#include "unit/sync/lock_scene.hpp"

namespace acp::sync::test {
namespace {

constexpr std::uint64_t seeds = 2'000;

// The notification of a wait may come when the waiter waits again, since two threads notify it, or
// since it has found by itself that the lock is its.
TEST(FarWaiterTest, a_late_notification_grants_no_later_wait) {
    for (const bool is_hasty : {false, true}) {
        sched::for_each_seed(seeds, [is_hasty](std::uint64_t seed) {
            LockScene scene;
            scene.has_far_process = true;
            sched::Options options;
            options.seed = seed;
            auto fibers = workers(scene, is_hasty);
            fibers[LockScene::far_process] = [&scene, is_hasty] { scene.work_far(is_hasty); };
            const auto outcome = sched::run(options, fibers);
            EXPECT_EQ(outcome.failure, "");
            EXPECT_EQ(scene.wrong, "");
            EXPECT_EQ(scene.sections + scene.left,
                      LockScene::far_process * rounds + LockScene::far_rounds);
            expect_free(scene, seed);
        });
    }
}

// One thread is stopped before one of its operations, and resumed when all others wait or have ended.
TEST(FarWaiterTest, a_notification_of_a_stopped_thread_grants_no_later_wait) {
    for (int victim = 0; victim < static_cast<int>(LockScene::processes); ++victim) {
        sched::for_each_death(victim, seeds_of_death, [&](sched::Options options) {
            options.is_victim_resumed = true;
            LockScene scene;
            scene.has_far_process = true;
            auto fibers = workers(scene, false);
            fibers[LockScene::far_process] = [&scene] { scene.work_far(false); };
            const auto outcome = sched::run(options, fibers);
            EXPECT_EQ(outcome.failure, "");
            EXPECT_EQ(scene.wrong, "");
            EXPECT_EQ(scene.sections, LockScene::far_process * rounds + LockScene::far_rounds);
            expect_free(scene, options.seed);
            return outcome.is_victim_hit;
        });
    }
}

}  // namespace
}  // namespace acp::sync::test
