// SPDX-License-Identifier: BSD-3-Clause
// The detected ends of processes, and the queries of a process about itself.
#include "os/process.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <optional>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "os/thread.hpp"

#include "support/child_process.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::os {
namespace {

using base::Code;

int sleep_until_killed() {
    for (;;) pause();
}

// Lowers the limit of descriptors to the number that this process has open, for a scope.
class NoMoreDescriptors {
public:
    NoMoreDescriptors() {
        getrlimit(RLIMIT_NOFILE, &old_);
        rlimit tight = old_;
        tight.rlim_cur = 0;
        setrlimit(RLIMIT_NOFILE, &tight);
    }

    NoMoreDescriptors(const NoMoreDescriptors&) = delete;
    NoMoreDescriptors& operator=(const NoMoreDescriptors&) = delete;

    ~NoMoreDescriptors() { setrlimit(RLIMIT_NOFILE, &old_); }

private:
    rlimit old_{};
};

TEST(Process, sees_a_killed_child_exit_while_it_is_still_a_zombie) {
    const test::ScopedWatchdog watchdog(
        "Process sees a killed child exit while it is still a zombie");
    test::ChildProcess child(sleep_until_killed);
    auto process = open_process(child.pid());
    ASSERT_TRUE(process.is_ok()) << process.failure().message();
    EXPECT_FALSE(has_exited(process.value().get()));
    child.send(SIGKILL);
    child.wait_for_zombie();
    EXPECT_TRUE(has_exited(process.value().get()));
    EXPECT_EQ(child.exit_code(), 128 + SIGKILL);
    EXPECT_TRUE(has_exited(process.value().get())) << "and after it is reaped";
}

TEST(Process, sees_whether_a_child_is_stopped) {
    const test::ScopedWatchdog watchdog("Process sees whether a child is stopped");
    test::ChildProcess child(sleep_until_killed);
    EXPECT_FALSE(is_stopped(child.pid()));
    child.send(SIGSTOP);
    while (!is_stopped(child.pid())) std::this_thread::yield();
    child.send(SIGCONT);
    while (is_stopped(child.pid())) std::this_thread::yield();
    child.send(SIGKILL);
    EXPECT_EQ(child.exit_code(), 128 + SIGKILL);
    EXPECT_FALSE(is_stopped(child.pid())) << "there is no such process";
}

TEST(Process, sees_that_a_killed_child_ends_and_a_thread_that_lives_on_does_not) {
    EXPECT_EQ(is_ending(own_pid()), std::optional(false));
    // The first thread of the child ends, the second stays.
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        std::thread([&] {
            constexpr auto soon = std::chrono::milliseconds(20);
            std::this_thread::sleep_for(soon);  // lint: sleep is the subject
            (void)!write(pipe_ends[1], "x", 1);
            pause();
        }).detach();
        syscall(SYS_exit, 0);  // ends this thread alone
    }
    close(pipe_ends[1]);
    char byte = 0;
    ASSERT_EQ(read(pipe_ends[0], &byte, 1), 1);
    EXPECT_EQ(is_ending(child), std::optional(false)) << "its second thread lives";
    ASSERT_EQ(kill(child, SIGKILL), 0);
    EXPECT_EQ(is_ending(child), std::optional(true))
        << "from the kill on, whatever of it has ended already";
    siginfo_t ended{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(is_ending(child), std::optional(true)) << "a zombie";
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    EXPECT_EQ(is_ending(child), std::nullopt) << "there is no such process any more";
    close(pipe_ends[0]);
}

TEST(Process, does_not_take_a_stopped_child_for_an_exited_one) {
    test::ChildProcess child(sleep_until_killed);
    auto process = open_process(child.pid());
    ASSERT_TRUE(process.is_ok()) << process.failure().message();
    child.send(SIGSTOP);
    int status = 0;
    ASSERT_EQ(waitpid(child.pid(), &status, WUNTRACED), child.pid());
    EXPECT_TRUE(WIFSTOPPED(status));
    EXPECT_FALSE(has_exited(process.value().get()));
}

TEST(Process, cannot_be_opened_once_it_is_gone) {
    test::ChildProcess child([] { return 0; });
    const int pid = child.pid();
    child.wait();
    const auto process = open_process(pid);
    ASSERT_FALSE(process.is_ok());
    EXPECT_EQ(process.failure().code(), Code::peer);
    EXPECT_NE(process.failure().message().find(std::to_string(pid)), std::string::npos);
}

TEST(Process, cannot_be_opened_by_a_number_that_is_no_process) {
    for (const int pid : {0, -1}) {
        const auto process = open_process(pid);
        ASSERT_FALSE(process.is_ok());
        EXPECT_EQ(process.failure().code(), Code::argument);
    }
}

TEST(Process, names_the_limit_when_descriptors_are_used_up) {
    std::optional<Result<FileDescriptor>> process;
    {
        const NoMoreDescriptors none;
        process = open_process(own_pid());
    }
    ASSERT_FALSE(process->is_ok());
    EXPECT_EQ(process->failure().code(), Code::limit);
    EXPECT_NE(process->failure().message().find("ulimit -n"), std::string::npos);
}

TEST(Process, knows_its_own_number_also_after_a_fork) {
    EXPECT_EQ(own_pid(), getpid());
    const int parent = own_pid();
    test::ChildProcess child([parent] { return own_pid() != parent && own_pid() == getpid(); });
    EXPECT_EQ(child.exit_code(), 1);
}

TEST(Process, knows_its_names) {
    EXPECT_FALSE(host_name().empty());
    EXPECT_EQ(executable_name(), "unit_os");
}

TEST(Process, lists_its_environment) {
    ASSERT_EQ(setenv("OS_TEST_VARIABLE", "a=b", 1), 0);
    const std::vector<std::string> entries = environment();
    EXPECT_EQ(std::count(entries.begin(), entries.end(), "OS_TEST_VARIABLE=a=b"), 1);
    ASSERT_EQ(unsetenv("OS_TEST_VARIABLE"), 0);
}

int forks_seen = 0;

TEST(Process, calls_back_in_a_forked_child_and_nowhere_else) {
    ASSERT_TRUE(call_in_forked_child([] { ++forks_seen; }));
    test::ChildProcess child([] { return forks_seen; });
    EXPECT_EQ(child.exit_code(), 1);
    EXPECT_EQ(forks_seen, 0);
}

TEST(Process, ends_by_the_abort_signal) {
    test::ChildProcess child([]() -> int { end_by_abort(); });
    EXPECT_EQ(child.exit_code(), 128 + SIGABRT);
}

TEST(ProcessTest, the_last_thread_knows_that_it_is_the_last) {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "ThreadSanitizer has a thread of its own";
#endif
    test::ChildProcess child([] {
        std::atomic<bool> is_over{false};
        std::thread other([&] { is_over.wait(false); });
        const bool is_last_before = is_last_thread();
        is_over = true;
        is_over.notify_one();
        other.join();
        return !is_last_before && is_last_thread() ? 0 : 1;
    });
    EXPECT_EQ(child.exit_code(), 0);
}

TEST(ProcessTest, threads_of_the_library_do_not_count) {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "ThreadSanitizer has a thread of its own";
#endif
    test::ChildProcess child([] {
        std::atomic<int> number{0};
        std::atomic<bool> is_over{false};
        auto own = Thread::start("own", [&] {
            number = gettid();
            number.notify_one();
            is_over.wait(false);
        });
        number.wait(0);
        const bool is_known = is_own_thread(number) && !is_own_thread(gettid());
        const bool is_last = is_last_thread();
        is_over = true;
        is_over.notify_one();
        own.value().join();
        return is_known && is_last && !is_own_thread(number) ? 0 : 1;
    });
    EXPECT_EQ(child.exit_code(), 0);
}

// namespace acp::os
}  // namespace
}  // namespace acp::os
