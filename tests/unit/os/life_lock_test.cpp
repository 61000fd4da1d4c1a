// SPDX-License-Identifier: BSD-3-Clause
// A life lock ends with its process's memory, in whatever way, and by no other event.
#include "os/life_lock.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <poll.h>
#include <sched.h>
#include <thread>
#include <unistd.h>

#include "os/memory_file.hpp"
#include "os/pipe.hpp"

#include "support/child_process.hpp"

namespace acp::os {
namespace {

class LifeLockTest : public testing::Test {
protected:
    // Runs `then` in a child that holds the lock of byte 5; returns once it does.
    template <typename Then>
    std::unique_ptr<test::ChildProcess> child_that_holds(Then then) {
        auto child = std::make_unique<test::ChildProcess>([&] {
            const auto taken = LifeLock::take(file_.get(), 5);
            if (!taken.is_ok() || write(told_.writing.get(), "t", 1) != 1) return 1;
            then();
            return 0;
        });
        char byte = 0;
        EXPECT_EQ(read(told_.reading.get(), &byte, 1), 1);
        return child;
    }

    [[nodiscard]] LifeLook look() const { return look_at_life(file_.get(), 5); }

    FileDescriptor file_ = create_memory_file("life", 4096).value();
    Pipe told_ = make_pipe().value();
};

void pause_for_ever() {
    for (;;) pause();
}

TEST_F(LifeLockTest, is_held_by_a_living_process_and_free_after_it_was_killed) {
    EXPECT_EQ(look(), LifeLook::free);
    auto child = child_that_holds(pause_for_ever);
    EXPECT_EQ(look(), LifeLook::held);
    EXPECT_EQ(look_at_life(file_.get(), 4), LifeLook::free) << "one byte of many";
    child->send(SIGKILL);
    child->wait();
    EXPECT_EQ(look(), LifeLook::free);
}

TEST_F(LifeLockTest, is_refused_while_another_has_it) {
    auto child = child_that_holds(pause_for_ever);
    const auto second = LifeLock::take(file_.get(), 5);
    ASSERT_FALSE(second.is_ok());
    EXPECT_EQ(second.failure().code(), base::Code::state);
    EXPECT_EQ(look(), LifeLook::held) << "and asking changes nothing";
}

TEST_F(LifeLockTest, outlives_the_closing_of_all_descriptors) {
    auto child = child_that_holds([this] {
        const int kept = dup2(told_.writing.get(), 3);
        closefrom(4);
        static_cast<void>(!write(kept, "c", 1));
        pause_for_ever();
    });
    char byte = 0;
    ASSERT_EQ(read(told_.reading.get(), &byte, 1), 1);
    EXPECT_EQ(look(), LifeLook::held);
}

TEST_F(LifeLockTest, ends_with_exec_although_a_forked_child_continues) {
    auto watch = CloseWatch::create(file_.get());
    ASSERT_TRUE(watch.is_ok()) << watch.failure().message();
    Pipe going = make_pipe().value();
    auto child = child_that_holds([&] {
        going.writing.close();
        char byte = 0;
        if (fork() == 0) {
            static_cast<void>(!read(going.reading.get(), &byte, 1));  // until the test ends
            _exit(0);
        }
        execl("/bin/sleep", "sleep", "1000", nullptr);
    });
    pollfd event{watch.value().fd(), POLLIN, 0};
    ASSERT_EQ(poll(&event, 1, -1), 1);
    EXPECT_TRUE(watch.value().take());
    // the kernel reports the close just before it releases the lock
    while (look() == LifeLook::held) std::this_thread::yield();
    EXPECT_EQ(look(), LifeLook::free);
}

TEST_F(LifeLockTest, is_seen_from_another_pid_namespace) {
    auto child = child_that_holds(pause_for_ever);
    test::ChildProcess apart([this] {
        if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return 77;
        test::ChildProcess inside([this] { return look() == LifeLook::held ? 0 : 1; });
        return inside.exit_code();
    });
    const int code = apart.exit_code();
    if (code == 77) GTEST_SKIP() << "this system gives nobody a pid namespace";
    EXPECT_EQ(code, 0);
}

TEST_F(LifeLockTest, nothing_is_known_by_a_descriptor_that_is_not_open) {
    EXPECT_EQ(look_at_life(-1, 0), LifeLook::unknown);
    EXPECT_EQ(identity_of_file(-1), FileIdentity{});
    EXPECT_FALSE(LifeLock::take(-1, 0).is_ok());
}

TEST_F(LifeLockTest, distinguishes_files) {
    const FileDescriptor other = create_memory_file("life", 4096).value();
    const FileDescriptor same(dup(file_.get()));
    EXPECT_NE(identity_of_file(file_.get()), identity_of_file(other.get()));
    EXPECT_EQ(identity_of_file(file_.get()), identity_of_file(same.get()));
}

// namespace acp::os
}  // namespace
}  // namespace acp::os
