// SPDX-License-Identifier: BSD-3-Clause
// A companion shares descriptors and folder with its maker, is not seen by waits, and ends with it.
#include "os/companion.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/mapping.hpp"

#include "support/effort.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::os {
namespace {

std::atomic<int> signals_seen{0};

class CompanionTest : public ::testing::Test {
protected:
    void SetUp() override {
        auto made = Mapping::map_shared_anonymous(4096);
        ASSERT_TRUE(made.is_ok());
        shared_ = std::move(made).value();
    }

    std::atomic<int>& word(int index) {
        return reinterpret_cast<std::atomic<int>*>(shared_.data())[index];
    }

    void await(int index, int value) {
        while (word(index) != value) sched_yield();
    }

    // A companion that waits for word 9 after its work.
    std::unique_ptr<Companion> start(const std::function<void()>& work) {
        auto started = Companion::start(
            "test-companion",
            [this, work] {
                work();
                word(0) = 1;
                await(9, 1);
            },
            [this] { word(8) += 1; });
        EXPECT_TRUE(started.is_ok()) << started.failure().message();
        return std::move(started).value();
    }

    static int count_descriptors() {
        int count = 0;
        for (int fd = 0; fd < 1024; ++fd) count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
        return count;
    }

    // Runs body in a forked child that holds the writing end of a pipe and makes a companion.
    // Returns the reading end, whose other end is closed once both have ended.
    int make_in_child(pid_t& child, void (*body)()) {
        std::array<int, 2> pipe{};
        EXPECT_EQ(pipe2(pipe.data(), O_CLOEXEC), 0);
        child = fork();
        if (child == 0) {
            close(pipe[0]);
            const auto companion = start([] {});
            word(1) = companion->process();
            await(0, 1);
            body();
            _exit(1);
        }
        close(pipe[1]);
        return pipe[0];
    }

    static void expect_closed(int reading) {
        char byte = 0;
        EXPECT_EQ(read(reading, &byte, 1), 0);
        close(reading);
    }

    test::ScopedWatchdog watchdog_{"a companion"};
    Mapping shared_;
};

TEST_F(CompanionTest, shares_descriptors_and_the_current_folder) {
    std::array<char, 4096> before{};
    ASSERT_NE(getcwd(before.data(), before.size()), nullptr);
    const auto companion = start([this] {
        word(1) = open("/dev/null", O_RDONLY);
        word(2) = chdir("/");
        word(3) = getpid();
    });
    await(0, 1);
    EXPECT_EQ(word(3), companion->process());
    EXPECT_NE(word(3), getpid());
    EXPECT_EQ(close(word(1)), 0) << "a descriptor that the companion has opened";
    std::array<char, 4096> now{};
    ASSERT_NE(getcwd(now.data(), now.size()), nullptr);
    EXPECT_STREQ(now.data(), "/");
    EXPECT_EQ(chdir(before.data()), 0);
}

TEST_F(CompanionTest, has_memory_of_its_own) {
    int value = 1;
    const auto companion = start([this, &value] { word(1) = ++value; });
    await(0, 1);
    EXPECT_EQ(word(1), 2);
    EXPECT_EQ(value, 1);
}

TEST_F(CompanionTest, is_not_seen_by_waits_and_raises_no_signal) {
    auto* const before = std::signal(SIGCHLD, [](int) { ++signals_seen; });
    signals_seen = 0;
    {
        const auto companion = start([] {});
        await(0, 1);
        EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
        EXPECT_EQ(errno, ECHILD);
        EXPECT_EQ(kill(companion->process(), SIGKILL), 0);
        await(8, 1);
        EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
        EXPECT_EQ(errno, ECHILD);
    }
    EXPECT_EQ(signals_seen, 0);
    std::signal(SIGCHLD, before);
}

TEST_F(CompanionTest, is_reaped_and_reported_when_it_is_killed_or_returns) {
    {
        const auto companion = start([] {});
        EXPECT_EQ(kill(companion->process(), SIGKILL), 0);
        await(8, 1);
        EXPECT_EQ(kill(companion->process(), 0), -1);
    }
    word(9) = 1;
    const auto companion = start([] {});
    await(8, 2);
    EXPECT_EQ(kill(companion->process(), 0), -1);
}

TEST_F(CompanionTest, ends_with_its_object_and_leaves_no_descriptor) {
    const int before = count_descriptors();
    for (int i = 0; i < 20; ++i) {
        const auto companion = start([] {});
        const int process = companion->process();
        EXPECT_EQ(kill(process, 0), 0);
        EXPECT_EQ(count_descriptors(), before);
    }
    EXPECT_EQ(word(8), 20);
    EXPECT_EQ(waitpid(-1, nullptr, __WALL | WNOHANG), -1) << "a child is left";
    EXPECT_EQ(count_descriptors(), before);
}

TEST_F(CompanionTest, ends_when_its_maker_is_killed) {
    if (test::is_sanitized) GTEST_SKIP() << "TSan allows no thread in a fork of threads";
    pid_t child = 0;
    const int reading = make_in_child(child, [] {
        for (;;) pause();
    });
    await(0, 1);
    EXPECT_EQ(kill(child, SIGKILL), 0);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
    expect_closed(reading);
}

TEST_F(CompanionTest, ends_when_its_maker_ends_or_runs_another_program) {
    if (test::is_sanitized) GTEST_SKIP() << "TSan allows no thread in a fork of threads";
    pid_t child = 0;
    int reading = make_in_child(child, [] { _exit(0); });
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
    expect_closed(reading);
    word(0) = 0;
    reading = make_in_child(child, [] { execl("/bin/sleep", "sleep", "1000", nullptr); });
    expect_closed(reading);
    EXPECT_EQ(waitpid(child, nullptr, WNOHANG), 0) << "the other program runs";
    EXPECT_EQ(kill(child, SIGKILL), 0);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

}  // namespace
}  // namespace acp::os
