// SPDX-License-Identifier: BSD-3-Clause
// Threads of the ranks of one node that take a lock, wait for it and release it, while others die.
#include "lock/locks.hpp"

#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/format.hpp"
#include "data/remote_call.hpp"
#include "node/awaited.hpp"
#include "node/death.hpp"
#include "os/clock.hpp"

#include "support/rank_node.hpp"
#include "support/scoped_watchdog.hpp"
#include "unit/lock/lock_scene.hpp"

namespace acp::lock::test {
namespace {

using base::Code;

constexpr std::uint32_t ranks = 4;

class LocksTest : public testing::Test {
protected:
    LocksTest() {
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            locks_.push_back(std::make_unique<Locks>(*node_[rank].gma, *node_[rank].allocator));
            contenders_.push_back(std::make_unique<Contender>(*locks_[rank], lock()));
        }
    }

    // The lock of the tests, in the heap of rank 0.
    GlobalAddress lock() {
        if (lock_ == 0) lock_ = locks_[0]->make(0).value();
        return lock_;
    }

    Locks& locks(std::uint32_t rank) { return *locks_[rank]; }

    Contender& rank(std::uint32_t rank) { return *contenders_[rank]; }

    LockWords words() { return {node_[0].gma->space(), lock()}; }

    // Rank 0 takes the lock, and all others wait for it in their order.   stopped  this one takes
    // its place in the queue and does nothing more
    void queue_all(std::uint32_t stopped = ranks) {
        ASSERT_EQ(rank(0).take(), taken);
        for (std::uint32_t other = 1; other < ranks; ++other) {
            if (other == stopped) {
                operations::LockTake step;
                step.call = {lock(), other, 0, 0, 0};
                step.may_wait = 1;
                auto end = data::RemoteCall<operations::TakeLock>(*node_[other].gma,
                                                                  *node_[other].allocator)
                               .run(0, step);
                ASSERT_EQ(end.value().output.outcome, sync::LockOutcome::queued);
            } else {
                rank(other).begin_take();
            }
            words().await_waiters(other);
        }
    }

    void die(std::uint32_t rank) { node_.die(rank); }

    acp::test::ScopedWatchdog watchdog_{"unit_lock: a thread waits for ever"};
    acp::test::RankNode node_{ranks};
    std::vector<std::unique_ptr<Locks>> locks_;
    GlobalAddress lock_ = 0;
    std::vector<std::unique_ptr<Contender>> contenders_;
};

TEST_F(LocksTest, waiters_get_the_lock_in_the_order_in_which_they_came) {
    queue_all();
    for (std::uint32_t holder = 0; holder + 1 < ranks; ++holder) {
        rank(holder).release_well();
        EXPECT_EQ(words().holder(), holder + 1);
        EXPECT_EQ(words().waiters(), ranks - holder - 2);
        EXPECT_EQ(rank(holder + 1).end(), taken);
    }
    rank(ranks - 1).release_well();
    EXPECT_FALSE(words().state().is_held());
}

TEST_F(LocksTest, a_take_without_time_gets_only_a_free_lock_and_leaves_no_place_in_the_queue) {
    EXPECT_EQ(rank(0).take(no_time), taken);
    EXPECT_EQ(rank(1).take(no_time), not_taken);
    EXPECT_EQ(words().waiters(), 0U);
    rank(0).release_well();
    EXPECT_EQ(rank(1).take(no_time), taken);
    EXPECT_EQ(words().holder(), 1U);
}

TEST_F(LocksTest, a_thread_whose_time_is_over_does_not_get_the_lock_later) {
    ASSERT_EQ(rank(0).take(), taken);
    EXPECT_EQ(rank(1).take(short_time), not_taken);
    rank(2).begin_take();
    words().await_waiters(1);  // it uses the place of rank 1, which left
    rank(0).release_well();
    EXPECT_EQ(rank(2).end(), taken);
    rank(2).release_well();
    EXPECT_FALSE(words().state().is_held());
}

TEST_F(LocksTest, a_thread_gets_a_lock_that_is_released_within_its_time) {
    ASSERT_EQ(rank(0).take(), taken);
    rank(1).begin_take(std::int64_t{3600} * 1'000'000'000);
    words().await_waiters(1);
    rank(0).release_well();
    EXPECT_EQ(rank(1).end(), taken);
}

TEST_F(LocksTest, only_the_holder_releases_and_the_refusal_says_who_holds_the_lock) {
    base::Status status = rank(1).release();
    EXPECT_EQ(status.code(), Code::state);
    EXPECT_EQ(status.message(), "no thread holds the lock");
    ASSERT_EQ(rank(0).take(), taken);
    status = rank(1).release();
    EXPECT_EQ(status.code(), Code::state);
    EXPECT_NE(status.message().find("the calling thread does not hold the lock: rank 0"),
              std::string::npos)
        << status.message();
    Contender neighbour(locks(0), lock());
    status = neighbour.release();
    EXPECT_EQ(status.code(), Code::state);
    EXPECT_EQ(status.message(), "another thread of this rank holds the lock");
    EXPECT_EQ(words().holder(), 0U);
    rank(0).release_well();
}

TEST_F(LocksTest, threads_of_one_rank_exclude_each_other) {
    Contender neighbour(locks(0), lock());
    ASSERT_EQ(rank(0).take(), taken);
    EXPECT_EQ(neighbour.take(no_time), not_taken);
    neighbour.begin_take();
    words().await_waiters(1);
    const std::uint32_t before = words().state().thread;
    rank(0).release_well();
    EXPECT_EQ(neighbour.end(), taken);
    EXPECT_NE(words().state().thread, before);
    EXPECT_EQ(rank(0).release().code(), Code::state);
    neighbour.release_well();
}

TEST_F(LocksTest, a_thread_that_holds_the_lock_is_refused_it_whatever_its_time) {
    ASSERT_EQ(rank(0).take(), taken);
    for (const std::int64_t timeout_ns : {no_time, short_time, for_ever}) {
        EXPECT_EQ(rank(0).take(timeout_ns), "the calling thread holds the lock already");
        EXPECT_EQ(rank(0).failed(), Code::state);
    }
    EXPECT_EQ(words().waiters(), 0U);
    rank(0).release_well();
}

// The 64th thread of a rank and all later ones have one number, by which the lock knows them.
TEST_F(LocksTest, threads_that_share_a_number_exclude_each_other_and_wait_in_order) {
    std::vector<std::unique_ptr<Contender>> crowd;
    for (std::uint32_t i = 0; i < sync::lock_thread_shared; ++i) {
        crowd.push_back(std::make_unique<Contender>(locks(1), lock()));
        ASSERT_EQ(crowd.back()->take(no_time), taken);
        crowd.back()->release_well();
    }
    Contender first(locks(1), lock());
    Contender second(locks(1), lock());
    Contender third(locks(1), lock());
    ASSERT_EQ(first.take(), taken);
    EXPECT_EQ(words().state().thread, sync::lock_thread_shared);
    EXPECT_EQ(second.take(no_time), not_taken);
    EXPECT_EQ(first.take(no_time), not_taken);  // its number does not say that it is the holder
    EXPECT_EQ(rank(0).release().code(), Code::state);
    second.begin_take();
    words().await_waiters(1);
    third.begin_take();
    words().await_waiters(2);
    first.release_well();
    EXPECT_EQ(second.end(), taken);
    EXPECT_EQ(words().waiters(), 1U);
    second.release_well();
    EXPECT_EQ(third.end(), taken);
    third.release_well();
    EXPECT_FALSE(words().state().is_held());
}

TEST_F(LocksTest, a_thread_holds_several_locks_and_releases_them_in_any_order) {
    std::vector<GlobalAddress> all;
    for (const std::uint32_t home : {0U, 1U, 0U}) all.push_back(locks(0).make(home).value());
    rank(0).thread().run([&] {
        for (const GlobalAddress one : all)
            EXPECT_EQ(text_of(locks(0).take(one, for_ever, nullptr)), taken);
        EXPECT_TRUE(locks(0).release(all[1]).is_ok());
    });
    rank(1).thread().run([&] {
        EXPECT_EQ(text_of(locks(1).take(all[0], no_time, nullptr)), not_taken);
        EXPECT_EQ(text_of(locks(1).take(all[1], no_time, nullptr)), taken);
        EXPECT_EQ(text_of(locks(1).take(all[2], no_time, nullptr)), not_taken);
    });
    rank(0).thread().run([&] {
        EXPECT_TRUE(locks(0).release(all[0]).is_ok());
        EXPECT_TRUE(locks(0).release(all[2]).is_ok());
    });
}

class DeadHolderTest : public LocksTest, public testing::WithParamInterface<std::int64_t> {};

TEST_P(DeadHolderTest, the_next_thread_learns_of_the_death_and_no_later_one) {
    ASSERT_EQ(rank(0).take(), taken);
    die(0);
    EXPECT_EQ(rank(1).take(GetParam()), taken_from_dead);
    rank(1).release_well();
    EXPECT_EQ(rank(2).take(GetParam()), taken);
    EXPECT_EQ(rank(3).take(no_time), not_taken);
}

INSTANTIATE_TEST_SUITE_P(with,
                         DeadHolderTest,
                         testing::Values(no_time, short_time, for_ever),
                         [](const testing::TestParamInfo<std::int64_t>& time) {
                             return time.param == no_time      ? "no_time"
                                    : time.param == short_time ? "some_time"
                                                               : "all_time";
                         });

TEST_F(LocksTest, the_first_waiter_gets_the_lock_of_a_dead_holder) {
    queue_all();
    die(0);
    EXPECT_EQ(rank(1).end(), taken_from_dead);
    EXPECT_EQ(words().holder(), 1U);
    rank(1).release_well();
    EXPECT_EQ(rank(2).end(), taken);
    rank(2).release_well();
    EXPECT_EQ(rank(3).end(), taken);
    rank(3).release_well();
}

// The holder stopped, or was killed, after it granted the first place and before it handed the lock
// over.
TEST_F(LocksTest, a_waiter_completes_the_release_that_its_holder_has_begun) {
    for (const bool is_killed : {false, true}) {
        ASSERT_EQ(rank(0).take(), taken);
        rank(1).begin_take();
        words().await_waiters(1);
        words().grant_first();
        if (is_killed) die(0);
        node::wake_everybody(node_.segment());
        EXPECT_EQ(rank(1).end(), is_killed ? taken_from_dead : taken);
        rank(1).release_well();
    }
}

TEST_F(LocksTest, the_lock_of_a_waiter_that_died_with_its_place_granted_goes_to_the_next_one) {
    queue_all(1);
    words().grant_first();
    die(1);
    EXPECT_EQ(rank(2).end(), taken_from_dead);
    EXPECT_EQ(words().holder(), 2U);
    EXPECT_EQ(rank(0).release().code(), Code::state);
    rank(2).release_well();
    EXPECT_EQ(rank(3).end(), taken);
    rank(3).release_well();
}

class DeadWaiterTest : public LocksTest, public testing::WithParamInterface<std::uint32_t> {};

TEST_P(DeadWaiterTest, the_others_get_the_lock_in_their_order) {
    queue_all(GetParam());
    die(GetParam());
    for (std::uint32_t holder = 0; holder < ranks;) {
        rank(holder).release_well();
        if (++holder == GetParam()) ++holder;
        if (holder >= ranks) break;
        EXPECT_EQ(words().holder(), holder);
        EXPECT_EQ(rank(holder).end(), taken);  // the dead rank held nothing
    }
    EXPECT_FALSE(words().state().is_held());
    EXPECT_EQ(words().waiters(), 0U);
}

INSTANTIATE_TEST_SUITE_P(of,
                         DeadWaiterTest,
                         testing::Values(1U, 2U, 3U),
                         [](const testing::TestParamInfo<std::uint32_t>& victim) {
                             return victim.param == 1   ? "the_first_place"
                                    : victim.param == 2 ? "a_middle_place"
                                                        : "the_last_place";
                         });

// A node that is given up may still run.
TEST_F(LocksTest, a_waiter_that_counts_as_dead_is_refused_the_lock_when_others_have_passed_it) {
    queue_all();
    die(1);
    rank(0).release_well();
    EXPECT_EQ(rank(2).end(), taken);
    node::wake_everybody(node_.segment());
    EXPECT_EQ(rank(1).failed(), Code::stale);
    rank(2).release_well();
    EXPECT_EQ(rank(3).end(), taken);
}

TEST_F(LocksTest, a_full_queue_takes_no_further_waiter) {
    ASSERT_EQ(rank(0).take(), taken);
    constexpr std::uint32_t room = 63;  // the queue has 64 places, and keeps one free
    std::vector<std::unique_ptr<Contender>> queue;
    for (std::uint32_t i = 0; i < room; ++i) {
        queue.push_back(std::make_unique<Contender>(locks(1 + i % 2), lock()));
        queue.back()->begin_take();
        words().await_waiters(i + 1);
    }
    const std::string refusal = rank(3).take();
    EXPECT_EQ(rank(3).failed(), Code::limit);
    EXPECT_NE(refusal.find("(63)"), std::string::npos) << refusal;
    EXPECT_EQ(rank(3).take(no_time), not_taken);
    rank(0).release_well();
    for (auto& waiter : queue) {
        ASSERT_EQ(waiter->end(), taken);
        waiter->release_well();
    }
    EXPECT_EQ(rank(3).take(), taken);
}

TEST_F(LocksTest, a_lock_is_freed_when_no_thread_holds_it_or_waits) {
    ASSERT_EQ(rank(0).take(), taken);
    base::Status status = locks(1).free(lock());
    EXPECT_EQ(status.code(), Code::state);
    EXPECT_NE(status.message().find("the lock is held by rank 0"), std::string::npos)
        << status.message();
    rank(1).begin_take();
    words().await_waiters(1);
    EXPECT_EQ(locks(1).free(lock()).code(), Code::state);
    rank(0).release_well();
    EXPECT_EQ(rank(1).end(), taken);
    EXPECT_EQ(locks(0).free(lock()).code(), Code::state);
    rank(1).release_well();
    status = locks(2).free(lock());
    EXPECT_TRUE(status.is_ok()) << status.message();
}

TEST_F(LocksTest, the_lock_of_a_dead_holder_is_freed_unless_a_thread_waits) {
    ASSERT_EQ(rank(0).take(), taken);
    die(0);
    EXPECT_TRUE(locks(1).free(lock()).is_ok());
}

TEST_F(LocksTest, a_freed_lock_is_stale_for_all_calls_and_leaves_no_memory_in_use) {
    const std::vector<std::uint64_t> used = node_.used();
    const GlobalAddress other = locks(1).make(2).value();
    EXPECT_GT(node_.used()[2], used[2]);
    ASSERT_TRUE(locks(1).free(other).is_ok());
    EXPECT_EQ(node_.used(), used);
    for (const std::int64_t timeout_ns : {no_time, short_time, for_ever}) {
        const auto end = locks(1).take(other, timeout_ns, nullptr);
        ASSERT_FALSE(end.is_ok());
        EXPECT_EQ(end.failure().code(), Code::stale);
        EXPECT_NE(text_of(end).find("no lock begins at global address " + base::hex(other) +
                                    " of rank 2"),
                  std::string::npos)
            << text_of(end);
    }
    EXPECT_EQ(locks(1).release(other).code(), Code::stale);
    EXPECT_EQ(locks(1).free(other).code(), Code::stale);
    node_.check_heaps();
}

TEST_F(LocksTest, an_address_at_which_no_lock_begins_is_refused) {
    const GlobalAddress starter = node_[0].gma->space().starter_address(1);
    for (const GlobalAddress bad : {GlobalAddress{0}, starter, lock() + 8, ~GlobalAddress{0}}) {
        EXPECT_EQ(locks(0).take(bad, for_ever, nullptr).failure().code(), Code::address);
        EXPECT_EQ(locks(0).release(bad).code(), Code::address);
        EXPECT_EQ(locks(0).free(bad).code(), Code::address);
    }
    EXPECT_EQ(locks(0).take(lock() + 64, for_ever, nullptr).failure().code(), Code::stale);
}

TEST_F(LocksTest, a_lock_for_which_the_heap_has_no_room_is_not_made) {
    std::vector<GlobalAddress> blocks;
    for (std::uint64_t bytes = 4 << 20; bytes >= 64;) {
        auto block = node_[1].allocator->allocate(1, bytes, 64);
        if (block.is_ok()) {
            blocks.push_back(block.value());
        } else {
            bytes /= 2;
        }
    }
    const auto made = locks(0).make(1);
    ASSERT_FALSE(made.is_ok());
    EXPECT_EQ(made.failure().code(), Code::memory);
    for (const GlobalAddress block : blocks) EXPECT_TRUE(node_[1].allocator->free(block).is_ok());
    EXPECT_TRUE(locks(0).make(1).is_ok());
}

TEST_F(LocksTest, a_step_at_once_changes_only_a_lock) {
    const local::View& view = node_[0].gma->space().view();
    memory::HazardLine& line = *node_[0].hazards.own_line();
    const sync::LockParty me{0, node_[0].hazards.index_of(line), 0};
    const auto take = [&](GlobalAddress at) {
        return change_inline(view, line, at, [&me](sync::LockHead<>& head) {
            return sync::QueuedLock<>::take_if_free(head, me);
        });
    };
    EXPECT_TRUE(take(lock()));
    EXPECT_EQ(words().holder(), 0U);
    EXPECT_FALSE(take(lock()));
    const GlobalAddress freed = locks(0).make(0).value();
    ASSERT_TRUE(locks(0).free(freed).is_ok());
    const GlobalAddress starter = node_[0].gma->space().starter_address(0);
    for (const GlobalAddress bad : {freed, starter, lock() + 8, lock() + 64, GlobalAddress{0}})
        EXPECT_FALSE(take(bad)) << base::hex(bad);
    EXPECT_FALSE(memory::is_entered(line));
    EXPECT_TRUE(locks(0).release(lock()).is_ok());
}

// A waiter calls LongWait between two of its sleeps.
TEST_F(LocksTest, a_wait_is_shown_since_its_beginning_also_between_two_sleeps) {
    ASSERT_EQ(rank(0).take(), taken);
    node::Doing shown;
    std::string until;
    std::promise<void> reported;
    rank(1).thread().begin([&] {
        auto end = locks(1).take(lock(), for_ever, [&](std::int64_t, const std::string& what) {
            shown = node::look_at(node_.segment(), 1, os::now_ns());
            until = what;
            reported.set_value();
        });
        EXPECT_EQ(text_of(end), taken);
        EXPECT_TRUE(locks(1).release(lock()).is_ok());
    });
    reported.get_future().wait();
    rank(0).release_well();
    rank(1).thread().end();
    EXPECT_EQ(shown.what, node::WaitFor::object);
    EXPECT_EQ(shown.text, "holds the lock");
    EXPECT_GT(shown.waited_ns, 0U);
    EXPECT_NE(until.find("releases lock " + base::hex(lock()) + " of rank 0"), std::string::npos)
        << until;
    EXPECT_EQ(node::look_at(node_.segment(), 1, os::now_ns()).what, node::WaitFor::nothing);
}

}  // namespace
}  // namespace acp::lock::test
