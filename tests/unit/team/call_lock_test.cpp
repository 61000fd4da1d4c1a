// SPDX-License-Identifier: BSD-3-Clause
// An object with this lock is used by one thread at a time: lock() fails while another thread is in
// a call on it, and waits while another thread uses it for a moment.
#include "team/call_lock.hpp"

#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace acp::team {
namespace {

using Use = CallLock::Use;

TEST(CallLock, returns_the_use_for_which_another_thread_holds_it) {
    CallLock lock;
    EXPECT_EQ(lock.try_lock(Use::call), Use::none);
    EXPECT_EQ(lock.try_lock(Use::moment), Use::call);
    EXPECT_FALSE(lock.lock(Use::call));
    EXPECT_FALSE(lock.lock(Use::moment));
    lock.unlock();
    EXPECT_EQ(lock.try_lock(Use::moment), Use::none);
    EXPECT_EQ(lock.try_lock(Use::call), Use::moment);
    lock.unlock();
    EXPECT_TRUE(lock.lock(Use::call));
}

TEST(CallLock, threads_that_use_it_for_a_moment_wait_for_each_other) {
    CallLock lock;
    std::uint64_t count = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 2000; ++i) {
                if (!lock.lock(Use::moment)) continue;
                ++count;
                lock.unlock();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(count, 6000U);
}

}  // namespace
}  // namespace acp::team
