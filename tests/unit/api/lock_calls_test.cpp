// SPDX-License-Identifier: BSD-3-Clause
// The calls of <acp/lock.h> in a job of one rank, whose threads exclude each other: the result of
// each call for the holder, for another thread, and for a freed lock; and a queue with all places
// taken.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <acp.h>

#include "unit/api/called.hpp"
#include "unit/api/one_rank_job.hpp"

namespace acp::api::test {
namespace {

// Each way to take a lock; the waits of the last ones are over at once.
struct Take {
    const char* name;
    std::function<int(acp_lock_t)> call;
    bool does_wait;
};

const std::vector<Take>& takes() {
    static const std::vector<Take> all{
        {"acp_lock", [](acp_lock_t lock) { return acp_lock(lock); }, true},
        {"acp_lock_timeout", [](acp_lock_t lock) { return acp_lock_timeout(lock, -1); }, true},
        {"acp_lock_timeout",
         [](acp_lock_t lock) {
             return acp_lock_timeout(lock, std::numeric_limits<std::int64_t>::min());
         },
         true},
        {"acp_try_lock", [](acp_lock_t lock) { return acp_try_lock(lock); }, false},
        {"acp_lock_timeout", [](acp_lock_t lock) { return acp_lock_timeout(lock, 0); }, false},
        {"acp_lock_timeout", [](acp_lock_t lock) { return acp_lock_timeout(lock, 1); }, false},
        {"acp_lock_timeout", [](acp_lock_t lock) { return acp_lock_timeout(lock, 2'000'000); },
         false},
    };
    return all;
}

class LockCalls : public OneRankJob {
protected:
    void SetUp() override {
        OneRankJob::SetUp();
        lock_ = acp_create_lock(0);
        ASSERT_NE(lock_.ga, ACP_GA_NULL) << acp_error_message();
    }

    void TearDown() override {
        EXPECT_EQ(acp_free_lock(lock_), 0) << acp_error_message();
        expect_unchanged();
    }

    template <typename Body>
    static void in_another_thread(const Body& body) {
        std::thread(body).join();
    }

    acp_lock_t lock_{};
};

TEST_F(LockCalls, a_free_lock_is_taken_by_each_call_and_released) {
    for (const Take& take : takes()) {
        acp_clear_errno();
        EXPECT_EQ(take.call(lock_), 0) << take.name << acp_error_message();
        EXPECT_EQ(acp_unlock(lock_), 0) << acp_error_message();
        EXPECT_EQ(acp_errno(), ACP_OK) << acp_error_message();
        expect_refused(ACP_REFUSED(acp_unlock, ACP_ERR_STATE, "", lock_));
    }
}

TEST_F(LockCalls, the_holder_does_not_take_its_lock_again) {
    ASSERT_EQ(acp_lock(lock_), 0);
    for (const Take& take : takes()) {
        expect_refused({take.name, ACP_ERR_STATE, "lock ", [&] { return take.call(lock_) == -1; }});
    }
    EXPECT_EQ(acp_unlock(lock_), 0) << "one release is enough";
    in_another_thread([&] {
        EXPECT_EQ(acp_try_lock(lock_), 0);
        EXPECT_EQ(acp_unlock(lock_), 0);
    });
}

TEST_F(LockCalls, another_thread_gets_none_while_the_lock_is_held_and_cannot_release_it) {
    ASSERT_EQ(acp_lock(lock_), 0);
    in_another_thread([&] {
        for (const Take& take : takes()) {
            if (!take.does_wait) {
                EXPECT_EQ(take.call(lock_), ACP_NONE) << take.name;
            }
        }
        EXPECT_EQ(acp_errno(), ACP_OK) << "a held lock is no failure: " << acp_error_message();
        expect_refused(ACP_REFUSED(acp_unlock, ACP_ERR_STATE, "lock ", lock_));
        expect_refused(ACP_REFUSED(acp_free_lock, ACP_ERR_STATE, "rank 0", lock_));
    });
    EXPECT_EQ(acp_unlock(lock_), 0) << acp_error_message();
    in_another_thread([&] {
        for (const Take& take : takes()) {
            EXPECT_EQ(take.call(lock_), 0) << take.name << acp_error_message();
            EXPECT_EQ(acp_unlock(lock_), 0) << acp_error_message();
        }
    });
}

TEST_F(LockCalls, a_thread_holds_several_locks_and_releases_them_in_any_order) {
    acp_lock_t locks[3] = {lock_, acp_create_lock(0), acp_create_lock(0)};
    for (const acp_lock_t& lock : locks) ASSERT_EQ(acp_lock(lock), 0);
    EXPECT_EQ(acp_unlock(locks[1]), 0);
    in_another_thread([&] {
        EXPECT_EQ(acp_try_lock(locks[0]), ACP_NONE);
        EXPECT_EQ(acp_try_lock(locks[1]), 0);
        EXPECT_EQ(acp_unlock(locks[1]), 0);
        EXPECT_EQ(acp_try_lock(locks[2]), ACP_NONE);
    });
    EXPECT_EQ(acp_unlock(locks[0]), 0);
    EXPECT_EQ(acp_unlock(locks[2]), 0);
    EXPECT_EQ(acp_free_lock(locks[1]), 0);
    EXPECT_EQ(acp_free_lock(locks[2]), 0);
}

TEST_F(LockCalls, a_thread_that_ends_keeps_its_lock) {
    acp_lock_t kept = acp_create_lock(0);
    in_another_thread([&] { ASSERT_EQ(acp_lock(kept), 0); });
    EXPECT_EQ(acp_try_lock(kept), ACP_NONE);
    expect_refused(ACP_REFUSED(acp_free_lock, ACP_ERR_STATE, "", kept));
    // No thread can release this lock any more, so its block stays.
    ASSERT_EQ(acp_heap_stat(0, &before_), 0);
    before_.blocks -= 1;  // lock_, which TearDown frees
}

TEST_F(LockCalls, threads_of_a_rank_exclude_each_other) {
    constexpr std::uint64_t turns = 2000;
    std::uint64_t count = 0;  // guarded by lock_; not atomic
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            for (std::uint64_t turn = 0; turn < turns; ++turn) {
                while (takes()[i].call(lock_) != 0) std::this_thread::yield();
                const std::uint64_t seen = count;
                count = seen + 1;
                ASSERT_EQ(acp_unlock(lock_), 0) << acp_error_message();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(count, 4 * turns);
}

TEST_F(LockCalls, more_waiting_threads_than_the_queue_has_places_are_refused_and_may_come_again) {
    constexpr int threads_all = 72;  // the queue has 64 places, of which one stays free
    std::mutex mutex;
    std::condition_variable has_changed;
    int refused = 0;
    bool is_released = false;
    int count = 0;  // guarded by lock_
    ASSERT_EQ(acp_lock(lock_), 0);
    std::vector<std::thread> threads;
    for (int i = 0; i < threads_all; ++i) {
        threads.emplace_back([&] {
            while (acp_lock(lock_) != 0) {
                ASSERT_EQ(acp_errno(), ACP_ERR_LIMIT) << acp_error_message();
                std::unique_lock guard(mutex);
                ++refused;
                has_changed.notify_all();
                has_changed.wait(guard, [&] { return is_released; });
            }
            ++count;
            ASSERT_EQ(acp_unlock(lock_), 0) << acp_error_message();
        });
    }
    {
        std::unique_lock guard(mutex);
        has_changed.wait(guard, [&] { return refused == threads_all - 63; });
    }
    EXPECT_EQ(acp_unlock(lock_), 0) << acp_error_message();
    {
        const std::scoped_lock guard(mutex);
        is_released = true;
    }
    has_changed.notify_all();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(count, threads_all);
}

TEST_F(LockCalls, a_freed_lock_is_stale_for_every_call) {
    const acp_lock_t gone = acp_create_lock(0);
    ASSERT_EQ(acp_free_lock(gone), 0);
    for (const Take& take : takes()) {
        expect_refused({take.name, ACP_ERR_STALE, "lock ", [&] { return take.call(gone) == -1; }});
    }
    expect_refused(ACP_REFUSED(acp_unlock, ACP_ERR_STALE, "lock ", gone));
    expect_refused(ACP_REFUSED(acp_free_lock, ACP_ERR_STALE, "lock ", gone));
}

TEST_F(LockCalls, locks_fill_the_heap_and_say_so) {
    std::vector<acp_lock_t> locks;
    for (acp_lock_t lock = acp_create_lock(0); lock.ga != ACP_GA_NULL; lock = acp_create_lock(0))
        locks.push_back(lock);
    EXPECT_EQ(acp_errno(), ACP_ERR_MEMORY);
    const std::string message = acp_error_message();
    EXPECT_TRUE(message.starts_with("acp_create_lock(rank 0) by rank 0 on ")) << message;
    EXPECT_GT(locks.size(), 1000U);
    for (const acp_lock_t& lock : locks) ASSERT_EQ(acp_free_lock(lock), 0) << acp_error_message();
}

}  // namespace
}  // namespace acp::api::test
