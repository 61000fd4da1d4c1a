// SPDX-License-Identifier: BSD-3-Clause
// The lock under the seeded scheduler: one holder at a time, in the order of the queue, whichever
// thread is killed or stopped before whichever of its operations.
#include "sync/queued_lock.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "unit/sync/lock_scene.hpp"

namespace acp::sync::test {
namespace {

constexpr std::uint64_t seeds = 500;
using Scene = LockScene;

TEST(QueuedLockTest, one_holder_at_a_time_and_all_get_the_lock) {
    sched::for_each_seed(seeds, [](std::uint64_t seed) {
        Scene scene;
        sched::Options options;
        options.seed = seed;
        const auto outcome = sched::run(options, workers(scene, false));
        EXPECT_EQ(outcome.failure, "");
        EXPECT_EQ(scene.wrong, "");
        EXPECT_EQ(scene.sections, Scene::processes * rounds);
        expect_free(scene, seed);
    });
}

TEST(QueuedLockTest, waiters_that_give_up_lose_neither_the_lock_nor_others) {
    sched::for_each_seed(seeds, [](std::uint64_t seed) {
        Scene scene;
        sched::Options options;
        options.seed = seed;
        const auto outcome = sched::run(options, workers(scene, true));
        EXPECT_EQ(outcome.failure, "");
        EXPECT_EQ(scene.wrong, "");
        EXPECT_EQ(scene.sections + scene.left, Scene::processes * rounds);
        expect_free(scene, seed);
    });
}

class QueuedLockDeathTest : public testing::TestWithParam<bool> {};

TEST_P(QueuedLockDeathTest, others_get_the_lock_whichever_operation_was_the_victims_last) {
    for (const int victim : {0, 1}) {
        sched::for_each_death(victim, seeds_of_death, [&](sched::Options options) {
            auto scene = std::make_unique<Scene>();
            std::uint32_t stalls = 0;
            const bool is_killed = !options.is_victim_resumed;
            // A stopped victim is no dead one: the others wait for it.
            if (is_killed)
                options.on_stall = [&] {
                    ++stalls;
                    scene->announce_death(static_cast<std::uint32_t>(victim));
                };
            const auto outcome = sched::run(options, workers(*scene, GetParam()));
            EXPECT_EQ(outcome.failure, "");
            EXPECT_EQ(scene->wrong, "");
            if (!outcome.is_victim_hit || !is_killed) {
                EXPECT_EQ(scene->sections + scene->left, Scene::processes * rounds);
                EXPECT_EQ(scene->deaths_told, 0U);
            } else {
                EXPECT_GE(scene->sections + scene->left, (Scene::processes - 1) * rounds);
                EXPECT_LE(scene->deaths_told, 1U);
                scene->dead[static_cast<std::size_t>(victim)].store(1, std::memory_order_seq_cst);
            }
            expect_free(*scene, options.seed);
            return outcome.is_victim_hit;
        });
    }
}

INSTANTIATE_TEST_SUITE_P(with,
                         QueuedLockDeathTest,
                         testing::Bool(),
                         [](const testing::TestParamInfo<bool>& shape) {
                             return shape.param ? "some_that_give_up" : "all_patient";
                         });

// The next holder after a death gets taken_from_dead, and later holders get taken.
TEST(QueuedLockTest, the_next_holder_learns_of_the_death_once) {
    for (const bool has_waiter : {false, true}) {
        Scene scene;
        ASSERT_EQ(scene.lock().take(Scene::party(0), false, {}, scene.gone()).outcome,
                  LockOutcome::taken);
        LockAnswer queued;
        if (has_waiter) {
            queued = scene.lock().take(Scene::party(1), true, {}, scene.gone());
            ASSERT_EQ(queued.outcome, LockOutcome::queued);
        }
        scene.dead[0].store(1, std::memory_order_seq_cst);
        const LockAnswer second =
            has_waiter ? scene.lock().poll(Scene::party(1), queued.ticket, scene.gone())
                       : scene.lock().take(Scene::party(1), true, {}, scene.gone());
        EXPECT_EQ(second.outcome, LockOutcome::taken_from_dead);
        EXPECT_EQ(scene.lock().release(Scene::party(1), scene.gone()).outcome,
                  LockOutcome::released);
        EXPECT_EQ(scene.lock().take(Scene::party(2), true, {}, scene.gone()).outcome,
                  LockOutcome::taken);
    }
}

// A process that does not wait gives the lock of a dead holder to the waiter before it.
TEST(QueuedLockTest, a_dead_holders_lock_goes_to_the_waiters_first) {
    for (const bool may_wait : {false, true}) {
        Scene scene;
        ASSERT_EQ(scene.take(0).outcome, LockOutcome::taken);
        const LockAnswer first = scene.take(1);
        ASSERT_EQ(first.outcome, LockOutcome::queued);
        const LockAnswer second = scene.take(2);
        ASSERT_EQ(second.outcome, LockOutcome::queued);
        scene.dead[0].store(1, std::memory_order_seq_cst);
        std::uint32_t holder = 0;
        EXPECT_FALSE(scene.lock().retire(holder, scene.gone()));
        const LockAnswer late = scene.take(3, may_wait);
        EXPECT_EQ(late.outcome, may_wait ? LockOutcome::queued : LockOutcome::held);
        if (!may_wait) {
            EXPECT_EQ(late.grant.process, 1U);
        }
        EXPECT_EQ(scene.lock().poll(Scene::party(1), first.ticket, scene.gone()).outcome,
                  LockOutcome::taken_from_dead);
        const LockAnswer released = scene.lock().release(Scene::party(1), scene.gone());
        EXPECT_EQ(released.grant.process, 2U);
        EXPECT_EQ(released.grant.died, 0U);
        EXPECT_EQ(scene.lock().poll(Scene::party(2), second.ticket, scene.gone()).outcome,
                  LockOutcome::taken);
    }
}

// The next holder gets taken, since the holder before it was alive.
TEST(QueuedLockTest, a_dead_waiter_is_skipped) {
    Scene scene;
    ASSERT_EQ(scene.take(0).outcome, LockOutcome::taken);
    ASSERT_EQ(scene.take(1).outcome, LockOutcome::queued);
    const LockAnswer second = scene.take(2);
    ASSERT_EQ(second.outcome, LockOutcome::queued);
    scene.dead[1].store(1, std::memory_order_seq_cst);
    EXPECT_EQ(scene.lock().release(Scene::party(0), scene.gone()).grant.process, 2U);
    EXPECT_EQ(scene.lock().poll(Scene::party(2), second.ticket, scene.gone()).outcome,
              LockOutcome::taken);
}

TEST(QueuedLockTest, a_waiter_that_dies_while_it_is_granted_the_lock_passes_it_on) {
    Scene scene;
    ASSERT_EQ(scene.take(0).outcome, LockOutcome::taken);
    ASSERT_EQ(scene.take(1).outcome, LockOutcome::queued);
    ASSERT_EQ(scene.take(2).outcome, LockOutcome::queued);
    int looks = 0;
    const auto dies_later = [&looks](std::uint32_t process) { return process == 1 && ++looks > 1; };
    EXPECT_EQ(scene.lock().release(Scene::party(0), dies_later).grant.process, 2U);
}

// The releasing thread has stopped after it granted the place.
TEST(QueuedLockTest, a_waiter_completes_the_grant_of_its_place) {
    Scene scene;
    ASSERT_EQ(scene.take(0).outcome, LockOutcome::taken);
    const LockAnswer waiting = scene.take(1);
    ASSERT_EQ(waiting.outcome, LockOutcome::queued);
    const LockWaiter granted(waiting.ticket, Scene::party(1), LockWaiterState::granted);
    scene.place_of(waiting.ticket).waiter.store(granted.word(), std::memory_order_seq_cst);
    EXPECT_EQ(scene.lock().poll(Scene::party(1), waiting.ticket, scene.gone()).outcome,
              LockOutcome::taken);
    EXPECT_EQ(scene.lock().holder(), 1U);
}

// A waiter has stopped after it took its place.
TEST(QueuedLockTest, a_later_waiter_counts_one_that_has_not_counted_itself) {
    Scene scene;
    ASSERT_EQ(scene.take(0).outcome, LockOutcome::taken);
    const LockAnswer first = scene.take(1);
    ASSERT_EQ(first.outcome, LockOutcome::queued);
    const std::uint32_t ticket = first.ticket + 1;
    const LockWaiter uncounted(ticket, Scene::party(2), LockWaiterState::waiting);
    scene.place_of(ticket).waiter.store(uncounted.word(), std::memory_order_seq_cst);
    const LockAnswer third = scene.take(3);
    EXPECT_EQ(third.outcome, LockOutcome::queued);
    EXPECT_EQ(third.ticket, ticket + 1);
    for (const std::uint32_t process : {0U, 1U, 2U}) {
        EXPECT_EQ(scene.lock().release(Scene::party(process), scene.gone()).grant.process,
                  process + 1);
    }
}

TEST(QueuedLockTest, waiters_get_the_lock_in_the_order_in_which_they_came) {
    Scene scene;
    ASSERT_EQ(scene.lock().take(Scene::party(0), true, {}, scene.gone()).outcome,
              LockOutcome::taken);
    for (std::uint32_t i = 1; i < Scene::processes; ++i) {
        ASSERT_EQ(scene.lock().take(Scene::party(i), true, {100 + i, i}, scene.gone()).outcome,
                  LockOutcome::queued);
    }
    for (std::uint32_t i = 0; i + 1 < Scene::processes; ++i) {
        const LockAnswer answer = scene.lock().release(Scene::party(i), scene.gone());
        EXPECT_EQ(answer.outcome, LockOutcome::released);
        EXPECT_EQ(answer.grant.process, i + 1);
        EXPECT_EQ(answer.grant.notice.grant_word, 101U + i);
        EXPECT_EQ(scene.lock().holder(), i + 1);
    }
}

TEST(QueuedLockTest, what_the_caller_may_not_do_is_refused) {
    Scene scene;
    EXPECT_EQ(scene.lock().release(Scene::party(0), scene.gone()).outcome, LockOutcome::not_holder);
    ASSERT_EQ(scene.lock().take(Scene::party(0), true, {}, scene.gone()).outcome,
              LockOutcome::taken);
    EXPECT_EQ(scene.lock().take(Scene::party(0), true, {}, scene.gone()).outcome, LockOutcome::own);
    EXPECT_EQ(scene.lock().take(Scene::party(1), false, {}, scene.gone()).outcome,
              LockOutcome::held);
    EXPECT_EQ(scene.lock().release(Scene::party(1), scene.gone()).outcome, LockOutcome::not_holder);
    EXPECT_EQ(scene.lock().release({0, 5, 0}, scene.gone()).outcome, LockOutcome::not_holder);
    std::uint32_t holder = 0;
    EXPECT_FALSE(scene.lock().retire(holder, scene.gone()));
    EXPECT_EQ(holder, 0U);
    EXPECT_EQ(scene.lock().release(Scene::party(0), scene.gone()).outcome, LockOutcome::released);
    EXPECT_TRUE(scene.lock().retire(holder, scene.gone()));
    EXPECT_EQ(scene.lock().take(Scene::party(1), true, {}, scene.gone()).outcome,
              LockOutcome::freed);
}

// A thread that releases a lock waits for none, whatever the lock has kept of an earlier call.
TEST(QueuedLockTest, a_refused_release_leaves_no_place_of_the_thread_in_the_queue) {
    Scene scene;
    ASSERT_EQ(scene.take(0).outcome, LockOutcome::taken);
    ASSERT_EQ(scene.take(1).outcome, LockOutcome::queued);
    const LockAnswer second = scene.take(2);
    EXPECT_EQ(scene.lock().release(Scene::party(1), scene.gone()).outcome, LockOutcome::not_holder);
    EXPECT_EQ(scene.lock().release(Scene::party(0), scene.gone()).grant.process, 2U);
    EXPECT_EQ(scene.lock().poll(Scene::party(2), second.ticket, scene.gone()).outcome,
              LockOutcome::taken);
    const LockParty neighbour{1, 5, 0};  // another thread of that process
    ASSERT_EQ(scene.lock().take(neighbour, true, {}, scene.gone()).outcome, LockOutcome::queued);
    EXPECT_EQ(scene.lock().release(Scene::party(1), scene.gone()).outcome, LockOutcome::not_holder);
    EXPECT_EQ(scene.lock().release(Scene::party(2), scene.gone()).grant.process, 1U);
    EXPECT_EQ(scene.lock().release(neighbour, scene.gone()).outcome, LockOutcome::released);
    std::uint32_t holder = 0;
    EXPECT_TRUE(scene.lock().retire(holder, scene.gone()));
}

// All threads of a process from the 64th on have one number in common.
TEST(QueuedLockTest, a_refused_release_keeps_the_places_of_threads_of_a_shared_number) {
    Scene scene;
    const LockParty shared{1, lock_thread_shared, 0};
    ASSERT_EQ(scene.take(0).outcome, LockOutcome::taken);
    const LockAnswer waiting = scene.lock().take(shared, true, {}, scene.gone());
    ASSERT_EQ(waiting.outcome, LockOutcome::queued);
    EXPECT_EQ(scene.lock().release(shared, scene.gone()).outcome, LockOutcome::not_holder);
    EXPECT_EQ(scene.lock().release(Scene::party(0), scene.gone()).grant.process, 1U);
    EXPECT_EQ(scene.lock().poll(shared, waiting.ticket, scene.gone()).outcome, LockOutcome::taken);
    EXPECT_EQ(scene.lock().release(shared, scene.gone()).outcome, LockOutcome::released);
}

// The holder has stopped after it granted the place, and the waiter does not know.
TEST(QueuedLockTest, a_release_of_a_granted_place_releases_the_lock) {
    for (const bool is_counted : {true, false}) {
        Scene scene;
        ASSERT_EQ(scene.take(0).outcome, LockOutcome::taken);
        const LockAnswer waiting = scene.take(1);
        const std::uint32_t ticket = waiting.ticket + (is_counted ? 0 : 1);
        const auto state = is_counted ? LockWaiterState::granted : LockWaiterState::waiting;
        const LockParty other = Scene::party(is_counted ? 1 : 2);
        scene.place_of(ticket).waiter.store(LockWaiter(ticket, other, state).word(),
                                            std::memory_order_seq_cst);
        EXPECT_EQ(scene.lock().release(other, scene.gone()).outcome,
                  is_counted ? LockOutcome::released : LockOutcome::not_holder);
        if (!is_counted) {
            EXPECT_EQ(LockWaiter(scene.place_of(ticket).waiter.peek()).state,
                      LockWaiterState::cancelled);
        }
    }
}

// Places of waiters that gave up are used again, so they do not fill the queue.
TEST(QueuedLockTest, only_waiters_fill_the_queue) {
    Scene scene;
    const auto join = [&scene](std::uint32_t serial) {
        return scene.lock().take({1, serial % 32, serial}, true, {}, scene.gone());
    };
    ASSERT_EQ(scene.lock().take(Scene::party(0), true, {}, scene.gone()).outcome,
              LockOutcome::taken);
    for (std::uint32_t i = 0; i < 100; ++i) {
        const LockAnswer waiting = join(i);
        ASSERT_EQ(waiting.outcome, LockOutcome::queued) << i;
        ASSERT_EQ(scene.lock().leave({1, i % 32, i}, waiting.ticket, scene.gone()).outcome,
                  LockOutcome::left);
    }
    std::vector<LockAnswer> waiting;
    for (std::uint32_t i = 0; i < places - 1; ++i) waiting.push_back(join(i));
    for (const LockAnswer& answer : waiting) ASSERT_EQ(answer.outcome, LockOutcome::queued);
    EXPECT_EQ(join(50).outcome, LockOutcome::full);
    ASSERT_EQ(scene.lock().leave({1, 2, 2}, waiting[2].ticket, scene.gone()).outcome,
              LockOutcome::left);
    EXPECT_EQ(join(51).ticket, waiting[2].ticket);
    EXPECT_EQ(join(52).outcome, LockOutcome::full);
    scene.dead[1].store(1, std::memory_order_seq_cst);
    for (std::uint32_t i = 0; i < places - 1; ++i) {
        EXPECT_EQ(scene.lock().take({2, i, i}, true, {}, scene.gone()).outcome,
                  LockOutcome::queued);
    }
    EXPECT_EQ(scene.take(3).outcome, LockOutcome::full);
}

}  // namespace
}  // namespace acp::sync::test
