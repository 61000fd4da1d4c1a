// SPDX-License-Identifier: BSD-3-Clause
// Locks on another node: a waiter is notified by its grant word, and gets the lock also where the
// thread that notifies it dies, where the death of the holder is known on one node only, and where
// an answer is lost. Ranks 0 and 1 are on the lock's node, 2 and 3 on the other one.
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "data/ask.hpp"
#include "data/remote_call.hpp"
#include "gma/under_way.hpp"

#include "unit/lock/two_node_locks.hpp"

namespace acp::lock::test {
namespace {

using base::Code;
using data::test::NodeAnswer;
using operations::GrantLock;
using operations::PollLock;
using operations::ReleaseLock;
using operations::TakeLock;
using sync::LockOutcome;

using RunStep = std::function<void()>;

// The lock's node says that a waiter waits, without a look at the lock.
data::test::Interception says_queued(std::uint32_t times) {
    return [left = std::make_shared<std::atomic<std::uint32_t>>(times)](NodeAnswer& answer,
                                                                        const RunStep& run) {
        if (*left == 0) return run();
        --*left;
        answer.bytes = sizeof(operations::LockReply);
        answer.change<PollLock>([](operations::LockReply& reply) {
            reply = operations::LockReply{};
            reply.outcome = LockOutcome::queued;
        });
    };
}

class FarLocksTest : public TwoNodeLocksTest<Contender> {
protected:
    // A rank waits behind the waiters that are there.
    void queue(std::uint32_t other) {
        rank(other).begin_take();
        words().await_waiter(other);
    }

    // Takes all memory of the heap of a rank.
    std::vector<GlobalAddress> fill_heap(std::uint32_t rank) {
        std::vector<GlobalAddress> blocks;
        for (std::uint64_t bytes = 4 << 20; bytes >= 64;) {
            auto block = node_[rank].allocator->allocate(rank, bytes, 64);
            if (block.is_ok()) {
                blocks.push_back(block.value());
            } else {
                bytes /= 2;
            }
        }
        return blocks;
    }
};

TEST_F(FarLocksTest, ranks_of_both_nodes_get_the_lock_in_the_order_in_which_they_came) {
    ASSERT_EQ(rank(0).take(), taken);
    for (const std::uint32_t other : {2U, 1U, 3U}) queue(other);
    std::uint32_t holder = 0;
    for (const std::uint32_t next : {2U, 1U, 3U}) {
        rank(holder).release_well();
        EXPECT_EQ(words().holder(), next);
        EXPECT_EQ(rank(next).end(), taken);
        holder = next;
    }
    rank(holder).release_well();
    EXPECT_FALSE(words().state().is_held());
}

TEST_F(FarLocksTest, a_free_lock_is_taken_and_released_without_a_grant_word) {
    const std::uint64_t used = node_.used(2);
    EXPECT_EQ(rank(2).take(no_time), taken);
    EXPECT_EQ(words().holder(), 2U);
    EXPECT_EQ(rank(3).take(no_time), not_taken);
    EXPECT_EQ(rank(1).take(no_time), not_taken);
    EXPECT_EQ(rank(2).take(no_time), "the calling thread holds the lock already");
    rank(2).release_well();
    EXPECT_FALSE(words().state().is_held());
    EXPECT_EQ(node_.used(2), used);
    EXPECT_EQ(words().waiters(), 0U);
}

TEST_F(FarLocksTest, one_notification_wakes_a_waiter_of_another_node) {
    ASSERT_EQ(rank(0).take(), taken);
    for (const std::uint32_t releasing : {0U, 1U}) {
        queue(2);
        rank(releasing).release_well();
        EXPECT_EQ(rank(2).end(), taken);
        EXPECT_EQ(grants_, releasing + 1);
        rank(2).release_well();
        ASSERT_EQ(rank(1).take(), taken);
    }
}

TEST_F(FarLocksTest, a_waiter_on_the_lock_s_node_needs_no_notification) {
    ASSERT_EQ(rank(2).take(), taken);
    queue(1);
    rank(2).release_well();
    EXPECT_EQ(rank(1).end(), taken);
    EXPECT_EQ(grants_, 0U);
}

TEST_F(FarLocksTest, a_wait_of_a_short_time_ends_and_leaves_the_lock_to_others) {
    ASSERT_EQ(rank(0).take(), taken);
    EXPECT_EQ(rank(2).take(short_time), not_taken);
    queue(3);
    rank(0).release_well();
    EXPECT_EQ(rank(3).end(), taken);
    rank(3).release_well();
    EXPECT_FALSE(words().state().is_held());
}

// The notification of a wait that is over comes while the thread waits again.
TEST_F(FarLocksTest, a_late_notification_does_not_grant_the_next_wait) {
    ASSERT_EQ(rank(0).take(), taken);
    EXPECT_EQ(rank(2).take(short_time), not_taken);
    queue(2);
    const std::uint64_t word = words().place().grant_word.load();
    const std::uint64_t number = words().place().grant_number.load();
    ASSERT_EQ(number, 2U);
    const operations::LockNotification late{word, sync::GrantState::of_grant(number - 1, false)};
    gma::Invocation call;
    call.process = 2;
    call.operation = local::operation_number<GrantLock>;
    call.arguments = data::wire_of(late);
    ASSERT_TRUE(data::ask(*node_[0].gma, call).is_ok());
    char* place = nullptr;
    ASSERT_TRUE(node_[2].gma->space().view().find_direct(word, 8, place));
    EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(place), number << 2U);
    EXPECT_EQ(words().holder(), 0U);
    rank(0).release_well();
    EXPECT_EQ(rank(2).end(), taken);
}

// The thread that released the lock was killed before it notified the next holder.
TEST_F(FarLocksTest, a_waiter_that_is_not_notified_finds_that_the_lock_is_its) {
    ASSERT_EQ(rank(0).take(), taken);
    queue(2);
    node_.refuse<GrantLock>(Code::peer);
    rank(0).release_well();
    EXPECT_EQ(words().holder(), 2U);
    node_.die(0);  // wakes the waiter, which asks the lock's node
    EXPECT_EQ(rank(2).end(), taken);
    EXPECT_GE(polls_, 1U);
}

TEST_F(FarLocksTest, a_waiter_of_another_node_learns_that_the_holder_died) {
    for (const std::uint32_t holder : {1U, 3U}) {
        ASSERT_EQ(rank(holder).take(), taken);
        queue(2);
        node_.die(holder);
        EXPECT_EQ(rank(2).end(), taken_from_dead);
        rank(2).release_well();
    }
    EXPECT_EQ(rank(0).take(), taken);
}

// A rank of the lock's node that does not wait itself finds the holder dead.
TEST_F(FarLocksTest, the_notification_says_that_the_holder_died) {
    ASSERT_EQ(rank(1).take(), taken);
    queue(2);
    node_.intercept<PollLock>(says_queued(~0U));  // the waiter learns nothing by itself
    node_.tell_death(1, 0);
    EXPECT_EQ(rank(0).take(no_time), not_taken);
    EXPECT_EQ(rank(2).end(), taken_from_dead);
    EXPECT_EQ(grants_, 1U);
}

TEST_F(FarLocksTest, a_death_that_the_lock_s_node_does_not_know_yet_is_asked_for_again) {
    ASSERT_EQ(rank(3).take(), taken);
    queue(2);
    node_.tell_death(3, 1);
    while (polls_ < 3) std::this_thread::yield();
    EXPECT_EQ(words().holder(), 3U);
    node_.tell_death(3, 0);
    EXPECT_EQ(rank(2).end(), taken_from_dead);
}

TEST_F(FarLocksTest, a_dead_waiter_of_another_node_is_passed) {
    ASSERT_EQ(rank(0).take(), taken);
    queue(3);
    queue(2);
    node_.tell_death(3, 0);
    rank(0).release_well();
    EXPECT_EQ(rank(2).end(), taken);
    node_.tell_death(3, 1);  // wakes its thread, which runs in this test
    EXPECT_EQ(rank(3).failed(), Code::stale);
}

// Changes the lock at the moment at which a thread of a rank has announced that it sleeps.
class BeforeSleep final : public gma::WorkUnderWay {
public:
    BeforeSleep(gma::AllUnderWay& all, std::function<void()> change)
        : WorkUnderWay(all), change_(std::move(change)) {}

    void begin() { count_begun(); }

    void go_on(bool is_thorough) noexcept override {
        if (!is_thorough || change_ == nullptr) return;
        change_();
        change_ = nullptr;
        count_ended();
    }

private:
    std::function<void()> change_;
};

// A waiter on the lock's node completes the grant of the place before it: then that waiter is
// notified, whenever the first one polls.
TEST_F(FarLocksTest, a_waiter_that_completes_a_grant_notifies_the_new_holder) {
    ASSERT_EQ(rank(0).take(), taken);
    queue(2);
    node_.intercept<PollLock>(says_queued(2));
    BeforeSleep change(node_[1].gma->under_way(), [this] { words().grant_first(); });
    change.begin();
    rank(1).begin_take();
    words().await_holder(2);
    EXPECT_EQ(rank(2).end(), taken);
    EXPECT_EQ(grants_, 1U);
    rank(2).release_well();
    EXPECT_EQ(rank(1).end(), taken);
}

TEST_F(FarLocksTest, a_heap_without_room_for_the_grant_word_refuses_waits_and_nothing_else) {
    ASSERT_EQ(rank(0).take(), taken);
    const std::vector<GlobalAddress> blocks = fill_heap(2);
    for (const std::int64_t timeout_ns : {short_time, for_ever}) {
        EXPECT_NE(rank(2).take(timeout_ns), not_taken);
        EXPECT_EQ(rank(2).failed(), Code::memory);
    }
    EXPECT_EQ(rank(2).take(no_time), not_taken);
    EXPECT_EQ(words().waiters(), 0U);
    rank(0).release_well();
    EXPECT_FALSE(words().state().is_held());
    EXPECT_EQ(rank(2).take(), taken);  // a free lock needs no word
    rank(2).release_well();
    ASSERT_EQ(rank(0).take(), taken);
    for (const GlobalAddress block : blocks) EXPECT_TRUE(node_[2].allocator->free(block).is_ok());
    queue(2);
    rank(0).release_well();
    EXPECT_EQ(rank(2).end(), taken);
    node_.check_heap(2);
}

TEST_F(FarLocksTest, waits_of_a_thread_use_one_word_of_its_heap) {
    std::uint64_t used = 0;
    for (int round = 0; round < 3; ++round) {
        ASSERT_EQ(rank(0).take(), taken);
        queue(2);
        rank(0).release_well();
        EXPECT_EQ(rank(2).end(), taken);
        rank(2).release_well();
        if (round == 0) used = node_.used(2);
        EXPECT_EQ(node_.used(2), used);
    }
}

// The answer to a question is lost with the node's gateway: the lock must not be the waiter's later.
TEST_F(FarLocksTest, a_wait_that_fails_leaves_the_queue) {
    ASSERT_EQ(rank(0).take(), taken);
    queue(2);
    node_.refuse<PollLock>(Code::limit);
    node_.tell_death(3, 1);  // wakes the waiter, which asks the lock's node
    EXPECT_NE(rank(2).end(), taken);
    EXPECT_EQ(rank(2).failed(), Code::limit);
    rank(0).release_well();
    EXPECT_FALSE(words().state().is_held());
}

TEST_F(FarLocksTest, a_wait_that_fails_after_the_grant_has_the_lock) {
    ASSERT_EQ(rank(0).take(), taken);
    queue(2);
    node_.refuse<GrantLock>(Code::peer);
    node_.intercept<PollLock>([this](NodeAnswer& answer, const RunStep&) {
        while (words().holder() != 2) std::this_thread::yield();
        answer.code = Code::limit;
        node_.count<PollLock>(polls_);
    });
    node_.tell_death(3, 1);
    rank(0).release_well();  // the question is answered when the lock is the waiter's
    EXPECT_EQ(rank(2).end(), taken);
    EXPECT_EQ(words().holder(), 2U);
}

TEST_F(FarLocksTest, a_step_that_others_disturb_is_repeated_and_fails_by_name_if_they_never_stop) {
    std::atomic<std::uint32_t> steps{0};
    const auto disturb = [&steps](std::uint32_t times) {
        return [&steps, times](NodeAnswer& answer, const RunStep& run) {
            if (steps++ < times) {
                answer.bytes = sizeof(operations::LockReply);
                answer.change<TakeLock>([](operations::LockReply& reply) {
                    reply = operations::LockReply{};
                    reply.outcome = LockOutcome::again;
                });
            } else {
                run();
            }
        };
    };
    node_.intercept<TakeLock>(disturb(3));
    EXPECT_EQ(rank(2).take(), taken);
    EXPECT_EQ(steps, 4U);
    rank(2).release_well();
    node_.intercept<TakeLock>(disturb(~0U));
    EXPECT_EQ(rank(2).take(), "other threads change the lock all the time");
    EXPECT_EQ(rank(2).failed(), Code::limit);
}

TEST_F(FarLocksTest, an_answer_that_is_too_short_is_refused) {
    node_.intercept<TakeLock>([](NodeAnswer& answer, const RunStep& run) {
        run();
        answer.bytes -= 8;
    });
    (void)rank(2).take();
    EXPECT_EQ(rank(2).failed(), Code::mismatch);
}

TEST_F(FarLocksTest, calls_on_a_lock_of_a_lost_node_fail_and_end_the_wait) {
    ASSERT_EQ(rank(1).take(), taken);
    queue(2);
    node_.lose_node(0);
    (void)rank(2).end();
    EXPECT_EQ(rank(2).failed(), Code::peer);
    EXPECT_EQ(locks(3).take(lock(), no_time, nullptr).failure().code(), Code::peer);
    EXPECT_EQ(locks(3).release(lock()).code(), Code::peer);
    EXPECT_EQ(locks(3).free(lock()).code(), Code::peer);
    EXPECT_EQ(locks(3).make(0).failure().code(), Code::peer);
}

TEST_F(FarLocksTest, a_lock_of_another_node_is_made_and_freed_there) {
    const std::uint64_t used = node_.used(3);
    const GlobalAddress other = locks(0).make(3).value();
    EXPECT_GT(node_.used(3), used);
    EXPECT_EQ(text_of(locks(0).take(other, no_time, nullptr)), taken);
    const base::Status refused = locks(1).free(other);
    EXPECT_EQ(refused.code(), Code::state);
    EXPECT_NE(refused.message().find("the lock is held by rank 0"), std::string::npos)
        << refused.message();
    EXPECT_TRUE(locks(0).release(other).is_ok());
    EXPECT_TRUE(locks(1).free(other).is_ok());
    EXPECT_EQ(node_.used(3), used);
    EXPECT_EQ(locks(0).take(other, for_ever, nullptr).failure().code(), Code::stale);
    const std::vector<GlobalAddress> blocks = fill_heap(3);
    EXPECT_EQ(locks(0).make(3).failure().code(), Code::memory);
}

}  // namespace
}  // namespace acp::lock::test
