// SPDX-License-Identifier: BSD-3-Clause
// When at_exit is called for the exit of a thread, and with which value.
#include "os/thread_exit.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

namespace acp::os::test {
namespace {

std::atomic<int> told_count{0};

void tell(void* value) {
    told_count.fetch_add(*static_cast<int*>(value));
}

ThreadExit make() {
    told_count.store(0);
    auto made = ThreadExit::create(tell);
    EXPECT_TRUE(made.is_ok());
    return std::move(made).value();
}

TEST(ThreadExitTest, calls_once_with_the_value_of_the_thread_that_ends) {
    ThreadExit exit = make();
    int value = 7;
    int here = 100;
    EXPECT_TRUE(exit.set(&here));
    std::thread([&] {
        EXPECT_EQ(exit.get(), nullptr);
        EXPECT_TRUE(exit.set(&value));
        EXPECT_EQ(exit.get(), &value);
    }).join();
    EXPECT_EQ(told_count.load(), 7);
    EXPECT_EQ(exit.get(), &here);
    EXPECT_TRUE(exit.set(nullptr));
}

TEST(ThreadExitTest, makes_no_call_for_a_thread_without_a_value) {
    ThreadExit exit = make();
    std::thread([&] { EXPECT_EQ(exit.get(), nullptr); }).join();
    EXPECT_EQ(told_count.load(), 0);
}

TEST(ThreadExitTest, is_silent_once_it_is_gone_and_stores_nothing_when_it_was_never_made) {
    int value = 1;
    std::atomic<int> step{0};
    std::thread thread;
    {
        ThreadExit exit = make();
        thread = std::thread([&] {
            EXPECT_TRUE(exit.set(&value));
            step.store(1);
            step.notify_all();
            step.wait(1);
        });
        step.wait(0);
    }
    step.store(2);
    step.notify_all();
    thread.join();
    EXPECT_EQ(told_count.load(), 0);
    ThreadExit none;
    EXPECT_FALSE(none.is_open());
    EXPECT_FALSE(none.set(&value));
    EXPECT_EQ(none.get(), nullptr);
}

// namespace acp::os::test
}  // namespace
}  // namespace acp::os::test
