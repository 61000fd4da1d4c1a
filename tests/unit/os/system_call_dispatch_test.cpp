// SPDX-License-Identifier: BSD-3-Clause
// Dispatched calls go to the handler, by whatever code they are made; handlers of signals, masks,
// threads and children of the code work as without the dispatch.
#include "os/system_call_dispatch.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "os/system_call.hpp"

#include "support/effort.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::os {
namespace {

constexpr std::int64_t made_up = 4711;

std::atomic<int> dispatched{0};
std::atomic<int> signals_seen{0};

// Answers getppid() itself; the kernel makes the others.
std::int64_t answer(std::int64_t number, const std::array<std::uint64_t, 6>& words) noexcept {
    ++dispatched;
    return number == SYS_getppid ? made_up : system_call(number, words);
}

void see_signal(int /*signal*/) {
    // A call of a handler.
    signals_seen += getppid() == made_up ? 1 : 0;
}

class SystemCallDispatch : public ::testing::Test {
protected:
    void SetUp() override {
        if (probe_system_call_dispatch() != 0) GTEST_SKIP() << "the machine has no user dispatch";
        if (test::is_sanitized) GTEST_SKIP() << "the sanitizer takes the signals";
        dispatched = 0;
    }

    // Runs body in a thread whose calls are dispatched.
    template <typename Body>
    static void run(const Body& body) {
        std::thread([&] {
            const Status status = prepare_system_call_dispatch(answer);
            ASSERT_TRUE(status.is_ok()) << status.message();
            EXPECT_NE(getppid(), made_up) << "prepared, but not on";
            dispatch_system_calls(true);
            body();
            dispatch_system_calls(false);
            EXPECT_NE(getppid(), made_up);
        }).join();
    }

    test::ScopedWatchdog watchdog_{"dispatched system calls"};
};

TEST_F(SystemCallDispatch, hands_calls_of_any_code_to_the_handler) {
    pid_t parent = 0;
    long by_number = 0;
    int error = 0;
    run([&] {
        parent = getppid();
        by_number = syscall(SYS_getppid);
        errno = 0;
        (void)close(-1);
        error = errno;
    });
    EXPECT_EQ(parent, made_up);
    EXPECT_EQ(by_number, made_up);
    EXPECT_EQ(error, EBADF);
    EXPECT_GE(dispatched, 3);
    EXPECT_NE(getppid(), made_up) << "another thread";
}

TEST_F(SystemCallDispatch, lets_handlers_of_signals_run_and_return) {
    struct sigaction action {};

    struct sigaction before {};

    action.sa_handler = see_signal;
    sigfillset(&action.sa_mask);
    signals_seen = 0;
    std::atomic<bool> is_ready{false};
    pthread_t self{};
    std::thread sender([&] {
        for (int i = 0; i < 10; ++i) {
            while (!is_ready || signals_seen < i) sched_yield();
            pthread_kill(self, SIGUSR1);
        }
    });
    int after = 0;
    run([&] {
        sigaction(SIGUSR1, &action, &before);
        self = pthread_self();
        is_ready = true;
        // Without calls, so that each signal interrupts this code and not the handler of a call.
        while (signals_seen < 10) continue;
        after = getppid();
    });
    sender.join();
    EXPECT_EQ(signals_seen, 10) << "signals whose handler's call was dispatched";
    EXPECT_EQ(after, made_up);
    sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(SystemCallDispatch, keeps_masks_and_stacks_that_the_code_sets) {
    bool is_blocked = false;
    bool is_open_again = true;
    stack_t found{};
    static char room[65'536];
    run([&] {
        sigset_t mask;
        sigemptyset(&mask);
        sigaddset(&mask, SIGUSR2);
        pthread_sigmask(SIG_BLOCK, &mask, nullptr);
        sigset_t now;
        pthread_sigmask(SIG_BLOCK, nullptr, &now);
        is_blocked = sigismember(&now, SIGUSR2) == 1;
        pthread_sigmask(SIG_UNBLOCK, &mask, nullptr);
        pthread_sigmask(SIG_BLOCK, nullptr, &now);
        is_open_again = sigismember(&now, SIGUSR2) == 0;
        stack_t stack{};
        stack.ss_sp = room;
        stack.ss_size = sizeof room;
        sigaltstack(&stack, nullptr);
        sigaltstack(nullptr, &found);
    });
    EXPECT_TRUE(is_blocked);
    EXPECT_TRUE(is_open_again);
    EXPECT_EQ(found.ss_sp, room);
}

TEST_F(SystemCallDispatch, lets_the_code_create_threads_children_and_programs) {
    pid_t in_thread = made_up;
    int forked = 0;
    int spawned = 0;
    int vforked = 0;
    pid_t parent = 0;
    run([&] {
        for (int i = 0; i < 10; ++i) {
            std::thread([&] { in_thread = getppid(); }).join();
            int status = 0;
            pid_t child = fork();
            if (child == 0) _exit(getppid() == made_up ? 1 : 7);
            waitpid(child, &status, 0);
            forked += WEXITSTATUS(status) == 7 ? 1 : 0;
            std::string name = "true";
            char* const arguments[] = {name.data(), nullptr};
            if (posix_spawn(&child, "/bin/true", nullptr, nullptr, arguments, environ) == 0 &&
                waitpid(child, &status, 0) == child && status == 0)
                ++spawned;
            vforked += std::system("exit 3") == 3 << 8 ? 1 : 0;
        }
        parent = getppid();
    });
    EXPECT_NE(in_thread, made_up) << "its calls are its own";
    EXPECT_EQ(forked, 10);
    EXPECT_EQ(spawned, 10);
    EXPECT_EQ(vforked, 10);
    EXPECT_EQ(parent, made_up);
}

}  // namespace
}  // namespace acp::os
