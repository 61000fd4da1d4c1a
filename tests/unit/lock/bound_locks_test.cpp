// SPDX-License-Identifier: BSD-3-Clause
// Bytes that travel with a lock, between two nodes: they come in the answer that gives the lock, or in
// the notification, and go with the release. Ranks 0 and 1 are on the lock's node, 2 and 3 on the
// other one.
#include <atomic>
#include <cstddef>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "unit/lock/two_node_locks.hpp"

namespace acp::lock::test {
namespace {

using base::Code;
using operations::GrantLock;
using operations::PollLock;
using operations::ReadBoundBytes;
using operations::TakeLock;

using Bytes = std::vector<std::byte>;

Bytes filled(std::size_t count, int value) {
    return Bytes(count, static_cast<std::byte>(value));
}

// A thread of a rank that takes the lock with its bytes.
class BoundContender {
public:
    BoundContender(Locks& locks, GlobalAddress lock) : locks_(locks), lock_(lock) {}

    void begin_take(std::size_t count, std::int64_t timeout_ns = for_ever) {
        thread_.begin([this, count, timeout_ns] {
            bytes = filled(count, 0xee);
            taken_ = locks_.take(lock_, timeout_ns, nullptr, bytes);
        });
    }

    std::string end() {
        thread_.end();
        return text_of(*taken_);
    }

    base::Code failed() {
        thread_.end();
        return taken_->is_ok() ? Code::ok : taken_->failure().code();
    }

    std::string take(std::size_t count, std::int64_t timeout_ns = for_ever) {
        begin_take(count, timeout_ns);
        return end();
    }

    base::Status release(const Bytes& now) {
        base::Status status;
        thread_.run([&] { status = locks_.release(lock_, now); });
        return status;
    }

    void release_well(const Bytes& now) {
        const base::Status status = release(now);
        EXPECT_TRUE(status.is_ok()) << status.message();
    }

    Bytes bytes;  // that came with the lock

private:
    Locks& locks_;
    GlobalAddress lock_;
    std::optional<base::Result<TakeResult>> taken_;
    CallingThread thread_;  // ends first
};

class BoundLocksTest : public TwoNodeLocksTest<BoundContender> {
protected:
    static constexpr std::size_t count = operations::lock_bytes_max;

    BoundLocksTest() {
        const base::Status status = locks_[2]->bind(lock_, filled(count, 1));
        EXPECT_TRUE(status.is_ok()) << status.message();
        node_.count<TakeLock>(takes_);
        node_.count<ReadBoundBytes>(reads_);
    }

    void queue(std::uint32_t other) {
        rank(other).begin_take(count);
        words().await_waiter(other);
    }

    void expect_bytes(std::uint32_t other, int value) {
        EXPECT_EQ(rank(other).bytes, filled(count, value)) << other;
    }

    std::atomic<std::uint32_t> takes_{0};
    std::atomic<std::uint32_t> reads_{0};
};

TEST_F(BoundLocksTest, a_free_lock_and_its_bytes_come_in_one_answer) {
    int value = 1;
    for (const std::uint32_t holder : {2U, 0U, 3U, 1U, 2U}) {
        EXPECT_EQ(rank(holder).take(count), taken);
        expect_bytes(holder, value);
        rank(holder).release_well(filled(count, ++value));
    }
    EXPECT_EQ(takes_, 3U);
    EXPECT_EQ(polls_ + reads_ + grants_, 0U);
}

TEST_F(BoundLocksTest, a_notification_brings_the_bytes_of_the_release) {
    ASSERT_EQ(rank(0).take(count), taken);
    for (const std::uint32_t releasing : {0U, 3U}) {
        queue(2);
        rank(releasing).release_well(filled(count, 10 + static_cast<int>(releasing)));
        EXPECT_EQ(rank(2).end(), taken);
        expect_bytes(2, 10 + static_cast<int>(releasing));
        queue(3);
        rank(2).release_well(filled(count, 5));
        EXPECT_EQ(rank(3).end(), taken);
        expect_bytes(3, 5);
    }
    EXPECT_EQ(grants_, 1U);  // the others were between ranks of one node
    EXPECT_EQ(reads_, 0U);
}

TEST_F(BoundLocksTest, a_waiter_on_the_lock_s_node_reads_the_bytes_there) {
    ASSERT_EQ(rank(2).take(count), taken);
    queue(1);
    rank(2).release_well(filled(count, 9));
    EXPECT_EQ(rank(1).end(), taken);
    expect_bytes(1, 9);
    EXPECT_EQ(grants_ + reads_, 0U);
}

TEST_F(BoundLocksTest, after_a_death_the_bytes_are_those_of_the_last_release) {
    for (const std::uint32_t holder : {1U, 3U}) {
        ASSERT_EQ(rank(holder).take(count), taken);
        queue(2);
        node_.die(holder);
        EXPECT_EQ(rank(2).end(), taken_from_dead);
        expect_bytes(2, holder == 1 ? 1 : 7);
        rank(2).release_well(filled(count, 7));
    }
    EXPECT_EQ(rank(0).take(count), taken);
    expect_bytes(0, 7);
}

// Another thread than the one that released the lock notifies the waiter, and has no bytes.
TEST_F(BoundLocksTest, a_notification_without_bytes_lets_the_waiter_read_them) {
    ASSERT_EQ(rank(1).take(count), taken);
    queue(2);
    node_.intercept<PollLock>([](data::test::NodeAnswer& answer, const auto&) {
        answer.bytes = sizeof(operations::LockReply);
        answer.change<PollLock>([](operations::LockReply& reply) {
            reply = operations::LockReply{};
            reply.outcome = sync::LockOutcome::queued;
        });
    });
    node_.tell_death(1, 0);
    EXPECT_EQ(rank(0).take(count, no_time), not_taken);
    EXPECT_EQ(rank(2).end(), taken_from_dead);
    expect_bytes(2, 1);
    EXPECT_EQ(grants_, 1U);
    EXPECT_EQ(reads_, 1U);
}

TEST_F(BoundLocksTest, a_waiter_that_is_not_notified_gets_the_bytes_with_the_answer) {
    ASSERT_EQ(rank(0).take(count), taken);
    queue(2);
    node_.refuse<GrantLock>(Code::peer);
    rank(0).release_well(filled(count, 4));
    node_.die(0);  // wakes the waiter, which asks the lock's node
    EXPECT_EQ(rank(2).end(), taken);
    expect_bytes(2, 4);
    EXPECT_EQ(reads_, 0U);
}

TEST_F(BoundLocksTest, a_release_without_bytes_leaves_those_before) {
    ASSERT_EQ(rank(2).take(count), taken);
    queue(3);
    rank(2).release_well({});
    EXPECT_EQ(rank(3).end(), taken);
    expect_bytes(3, 1);
    EXPECT_EQ(reads_, 1U);
    rank(3).release_well({});
}

TEST_F(BoundLocksTest, a_wrong_number_of_bytes_is_refused_and_the_lock_is_free_or_kept) {
    for (const std::uint32_t holder : {0U, 2U}) {
        EXPECT_NE(rank(holder).take(8), taken);
        EXPECT_EQ(rank(holder).failed(), Code::mismatch);
        EXPECT_FALSE(words().state().is_held());
        ASSERT_EQ(rank(holder).take(count), taken);
        EXPECT_EQ(rank(holder).release(filled(8, 1)).code(), Code::argument);
        EXPECT_EQ(words().holder(), holder);
        rank(holder).release_well(filled(count, 1));
    }
    EXPECT_EQ(rank(3).release(filled(count, 3)).code(), Code::state);
    ASSERT_EQ(rank(0).take(count), taken);
    EXPECT_EQ(rank(3).release(filled(count, 3)).code(), Code::state);
    EXPECT_EQ(rank(1).release(filled(count, 3)).code(), Code::state);
    rank(0).release_well({});
    ASSERT_EQ(rank(2).take(count), taken);
    expect_bytes(2, 1);
}

TEST_F(BoundLocksTest, bytes_are_bound_anew_while_no_thread_holds_the_lock) {
    ASSERT_EQ(rank(1).take(count), taken);
    for (const std::uint32_t other : {0U, 2U}) {
        const base::Status status = locks_[other]->bind(lock_, filled(16, 3));
        EXPECT_EQ(status.code(), Code::state);
        EXPECT_NE(status.message().find("rank 1"), std::string::npos) << status.message();
    }
    rank(1).release_well(filled(count, 2));
    EXPECT_TRUE(locks_[0]->bind(lock_, filled(16, 3)).is_ok());
    ASSERT_EQ(rank(2).take(16), taken);
    EXPECT_EQ(rank(2).bytes, filled(16, 3));
    rank(2).release_well(filled(16, 4));
    EXPECT_TRUE(locks_[2]->bind(lock_, {}).is_ok());
    EXPECT_EQ(rank(2).take(0), taken);
    rank(2).release_well({});
    EXPECT_EQ(rank(0).take(16), "0 bytes are bound to the lock, but this rank has bound 16");
}

TEST_F(BoundLocksTest, a_freed_lock_leaves_no_block) {
    const std::uint64_t used = node_.used(0);
    const GlobalAddress other = locks_[2]->make(0).value();
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(locks_[2]->bind(other, filled(100 + static_cast<std::size_t>(i), i)).is_ok());
    ASSERT_TRUE(locks_[2]->free(other).is_ok());
    EXPECT_EQ(node_.used(0), used);
    EXPECT_EQ(locks_[2]->bind(other, filled(1, 1)).code(), Code::stale);
    node_.check_heap(0);
}

}  // namespace
}  // namespace acp::lock::test
