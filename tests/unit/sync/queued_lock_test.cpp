// SPDX-License-Identifier: BSD-3-Clause
// The lock under the seeded scheduler: one holder at a time, in the order of the queue, whichever
// thread is killed or stopped before whichever of its operations.
#include "sync/queued_lock.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "support/interleave.hpp"

namespace acp::sync {
namespace {

namespace sched = test::sched;

using Lock = QueuedLock<sched::Atomic>;

constexpr std::uint64_t seeds = 500;
constexpr std::uint64_t seeds_of_death = 40;
constexpr std::uint32_t rounds = 2;
constexpr std::uint32_t places = 8;
constexpr std::uint64_t mark = 4711;

// Each fiber is a process with one thread. A dead one is known to be so when no other can run, or
// from the start of the scene on.
struct Scene {
    static constexpr std::uint32_t processes = 4;

    LockHead<sched::Atomic> head;
    std::array<LockPlace<sched::Atomic>, places> place;
    std::array<sched::Atomic<std::uint32_t>, processes> bell;
    std::array<sched::Atomic<std::uint32_t>, processes> dead;
    // Plain data, which the lock orders; the next holder after a death uses another place.
    std::array<std::uint64_t, 2> guarded{};
    int inside = -1;
    std::uint32_t sections = 0;
    std::uint32_t deaths_told = 0;
    std::uint32_t left = 0;
    std::string wrong;

    Scene() { Lock(head, place.data(), places).make(); }

    [[nodiscard]] Lock lock() { return {head, place.data(), places}; }

    [[nodiscard]] auto gone() {
        return [this](std::uint32_t process) {
            return process < processes && dead[process].load(std::memory_order_seq_cst) != 0;
        };
    }

    static LockParty party(std::uint32_t process, std::uint32_t round = 0) {
        return {process, process, round};
    }

    void notify(const LockGrant& grant) {
        if (grant.process == LockGrant::no_process) return;
        bell[grant.process].fetch_add(1, std::memory_order_seq_cst);
        sched::wake_all(&bell[grant.process]);
    }

    void note_wrong(const std::string& what) {
        if (wrong.empty()) wrong = what;
    }

    // Waits with a ticket; gives up after some looks if `is_hasty`.
    LockAnswer wait(const LockParty& me, std::uint32_t ticket, bool is_hasty) {
        for (int looks = 0;; ++looks) {
            const std::uint32_t value = bell[me.process].load(std::memory_order_seq_cst);
            LockAnswer answer = lock().poll(me, ticket, gone());
            notify(answer.grant);
            if (answer.outcome != LockOutcome::queued) return answer;
            if (is_hasty && looks == 1) {
                answer = lock().leave(me, ticket, gone());
                notify(answer.grant);
                if (answer.outcome != LockOutcome::queued) return answer;
            }
            sched::sleep_while_is(bell[me.process], value);
        }
    }

    void work(std::uint32_t process, bool is_hasty) {
        for (std::uint32_t round = 0; round < rounds; ++round) {
            const LockParty me = party(process, round);
            LockAnswer answer;
            if (Lock::take_if_free(head, me)) {
                answer.outcome = LockOutcome::taken;
            } else {
                answer = lock().take(me, true, 0, gone());
            }
            notify(answer.grant);
            if (answer.outcome == LockOutcome::again) {
                --round;
                sched::pause();
                continue;
            }
            if (answer.outcome == LockOutcome::queued) answer = wait(me, answer.ticket, is_hasty);
            if (answer.outcome == LockOutcome::left) {
                ++left;
                continue;
            }
            if (answer.outcome != LockOutcome::taken &&
                answer.outcome != LockOutcome::taken_from_dead) {
                note_wrong("outcome " + std::to_string(static_cast<int>(answer.outcome)));
                return;
            }
            critical_section(process, answer.outcome == LockOutcome::taken_from_dead);
            release(me);
        }
    }

    void release(const LockParty& me) {
        if (Lock::release_if_alone(head, me)) return;
        LockAnswer answer;
        do {
            answer = lock().release(me, gone());
            notify(answer.grant);
        } while (answer.outcome == LockOutcome::again);
        if (answer.outcome != LockOutcome::released) note_wrong("no release");
    }

    LockAnswer take(std::uint32_t process, bool may_wait = true) {
        return lock().take(party(process), may_wait, 0, gone());
    }

    [[nodiscard]] LockPlace<sched::Atomic>& place_of(std::uint32_t ticket) {
        return place[ticket % places];
    }

    void critical_section(std::uint32_t process, bool is_from_dead) {
        deaths_told += is_from_dead ? 1 : 0;
        if (inside >= 0 && dead[static_cast<std::size_t>(inside)].peek() == 0)
            note_wrong(std::to_string(process) + " entered while " + std::to_string(inside) +
                       " was inside");
        inside = static_cast<int>(process);
        sched::note_write(&guarded[deaths_told]);
        ++guarded[deaths_told];
        sched::pause();
        sched::note_write(&guarded[deaths_told]);
        ++sections;
        inside = -1;
    }

    void announce_death(std::uint32_t process) {
        dead[process].store(1, std::memory_order_seq_cst);
        for (std::uint32_t other = 0; other < processes; ++other) {
            bell[other].fetch_add(1, std::memory_order_seq_cst);
            sched::wake_all(&bell[other]);
        }
    }
};

std::vector<std::function<void()>> workers(Scene& scene, bool is_hasty) {
    std::vector<std::function<void()>> fibers;
    for (std::uint32_t process = 0; process < Scene::processes; ++process) {
        fibers.emplace_back(
            [&scene, process, is_hasty] { scene.work(process, is_hasty && process % 2 == 1); });
    }
    return fibers;
}

void expect_free(Scene& scene, std::uint64_t seed) {
    std::uint32_t holder = 0;
    EXPECT_TRUE(scene.lock().retire(holder, scene.gone()))
        << "holder " << holder << ", seed " << seed;
}

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
        ASSERT_EQ(scene.lock().take(Scene::party(0), false, 0, scene.gone()).outcome,
                  LockOutcome::taken);
        LockAnswer queued;
        if (has_waiter) {
            queued = scene.lock().take(Scene::party(1), true, 0, scene.gone());
            ASSERT_EQ(queued.outcome, LockOutcome::queued);
        }
        scene.dead[0].store(1, std::memory_order_seq_cst);
        const LockAnswer second =
            has_waiter ? scene.lock().poll(Scene::party(1), queued.ticket, scene.gone())
                       : scene.lock().take(Scene::party(1), true, 0, scene.gone());
        EXPECT_EQ(second.outcome, LockOutcome::taken_from_dead);
        EXPECT_EQ(scene.lock().release(Scene::party(1), scene.gone()).outcome,
                  LockOutcome::released);
        EXPECT_EQ(scene.lock().take(Scene::party(2), true, 0, scene.gone()).outcome,
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
    ASSERT_EQ(scene.lock().take(Scene::party(0), true, 0, scene.gone()).outcome,
              LockOutcome::taken);
    for (std::uint32_t i = 1; i < Scene::processes; ++i) {
        ASSERT_EQ(scene.lock().take(Scene::party(i), true, 100 + i, scene.gone()).outcome,
                  LockOutcome::queued);
    }
    for (std::uint32_t i = 0; i + 1 < Scene::processes; ++i) {
        const LockAnswer answer = scene.lock().release(Scene::party(i), scene.gone());
        EXPECT_EQ(answer.outcome, LockOutcome::released);
        EXPECT_EQ(answer.grant.process, i + 1);
        EXPECT_EQ(answer.grant.grant_word, 101U + i);
        EXPECT_EQ(scene.lock().holder(), i + 1);
    }
}

TEST(QueuedLockTest, what_the_caller_may_not_do_is_refused) {
    Scene scene;
    EXPECT_EQ(scene.lock().release(Scene::party(0), scene.gone()).outcome, LockOutcome::not_holder);
    ASSERT_EQ(scene.lock().take(Scene::party(0), true, 0, scene.gone()).outcome,
              LockOutcome::taken);
    EXPECT_EQ(scene.lock().take(Scene::party(0), true, 0, scene.gone()).outcome, LockOutcome::own);
    EXPECT_EQ(scene.lock().take(Scene::party(1), false, 0, scene.gone()).outcome,
              LockOutcome::held);
    EXPECT_EQ(scene.lock().release(Scene::party(1), scene.gone()).outcome, LockOutcome::not_holder);
    EXPECT_EQ(scene.lock().release({0, 5, 0}, scene.gone()).outcome, LockOutcome::not_holder);
    std::uint32_t holder = 0;
    EXPECT_FALSE(scene.lock().retire(holder, scene.gone()));
    EXPECT_EQ(holder, 0U);
    EXPECT_EQ(scene.lock().release(Scene::party(0), scene.gone()).outcome, LockOutcome::released);
    EXPECT_TRUE(scene.lock().retire(holder, scene.gone()));
    EXPECT_EQ(scene.lock().take(Scene::party(1), true, 0, scene.gone()).outcome,
              LockOutcome::freed);
}

// Places of waiters that gave up are used again, so they do not fill the queue.
TEST(QueuedLockTest, only_waiters_fill_the_queue) {
    Scene scene;
    const auto join = [&scene](std::uint32_t serial) {
        return scene.lock().take({1, serial % 32, serial}, true, 0, scene.gone());
    };
    ASSERT_EQ(scene.lock().take(Scene::party(0), true, 0, scene.gone()).outcome,
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
        EXPECT_EQ(scene.lock().take({2, i, i}, true, 0, scene.gone()).outcome, LockOutcome::queued);
    }
    EXPECT_EQ(scene.take(3).outcome, LockOutcome::full);
}

}  // namespace
}  // namespace acp::sync
