// SPDX-License-Identifier: BSD-3-Clause
// Children from start to end. Each test runs in a process of its own, because adopting orphans and
// ending all children concern the whole process.
#include "os/child.hpp"

#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/clock.hpp"
#include "os/pipe.hpp"
#include "os/process.hpp"
#include "os/signal_fd.hpp"
#include "os/standard_streams.hpp"

namespace acp::os::test {
namespace {

constexpr std::uint64_t patience_ns = 60'000'000'000;  // a watchdog

ChildPlan shell(const std::string& script) {
    ChildPlan plan;
    plan.path = "/bin/sh";
    plan.arguments = {"sh", "-c", script};
    plan.environment = {"COLOUR=red"};
    return plan;
}

int start(const ChildPlan& plan) {
    auto pid = start_child(plan);
    EXPECT_TRUE(pid.is_ok()) << pid.failure().message();
    return pid.value();
}

// The output of a child, up to the close of its standard output.
std::string output_of(ChildPlan plan) {
    auto pipe = make_pipe();
    EXPECT_TRUE(pipe.is_ok());
    plan.output = pipe.value().writing.get();
    const int pid = start(plan);
    pipe.value().writing.close();
    std::string text;
    std::array<char, 256> room{};
    for (;;) {
        const ReadResult result = read_some(pipe.value().reading.get(), room);
        if (result.outcome != ReadOutcome::some) break;
        text.append(room.data(), result.bytes);
    }
    wait_for_end(pid);
    reap(pid);
    return text;
}

TEST(ChildTest, gets_its_arguments_environment_and_streams) {
    EXPECT_EQ(output_of(shell("echo $COLOUR $HOME; echo hidden >/dev/null")), "red\n");
    auto input = make_pipe();
    ASSERT_TRUE(input.is_ok());
    ASSERT_EQ(write_all(input.value().writing.get(), "question"), 0);
    input.value().writing.close();
    ChildPlan plan = shell("cat");
    plan.environment.push_back("PATH=/usr/bin:/bin");
    plan.input = input.value().reading.get();
    EXPECT_EQ(output_of(plan), "question");
}

TEST(ChildTest, inherits_the_one_descriptor_it_is_given) {
    auto given = make_pipe();
    auto kept = make_pipe();
    ASSERT_TRUE(given.is_ok() && kept.is_ok());
    const auto number = [](const FileDescriptor& descriptor) {
        return std::to_string(descriptor.get());
    };
    ChildPlan plan =
        shell("for n in " + number(given.value().reading) + " " + number(kept.value().reading) +
              "; do [ -e /proc/self/fd/$n ] && echo has $n; done");
    plan.inherited = {given.value().reading.get()};
    EXPECT_EQ(output_of(plan), "has " + number(given.value().reading) + "\n");
}

TEST(ChildTest, its_end_is_reported_as_exit_code_or_signal_until_it_is_reaped) {
    const int exits = start(shell("exit 3"));
    EXPECT_EQ(wait_for_end(exits).exit_code(), 3);
    ASSERT_TRUE(ended_child(exits).has_value());
    EXPECT_EQ(ended_child(exits)->status.shell_code(), 3);
    reap(exits);
    EXPECT_FALSE(ended_child(exits).has_value());
    const int killed = start(shell("kill -9 $$"));
    const WaitStatus status = wait_for_end(killed);
    EXPECT_FALSE(status.is_exit());
    EXPECT_EQ(status.signal(), 9);
    EXPECT_EQ(status.shell_code(), 137);
    reap(killed);
}

TEST(ChildTest, a_process_that_has_ended_is_distinguished_from_one_after_exec) {
    ChildPlan plan;
    plan.path = "/bin/sleep";
    plan.arguments = {"sleep", "1000"};
    const auto child = start_child(plan);
    ASSERT_TRUE(child.is_ok()) << child.failure().message();
    EXPECT_EQ(is_ending(child.value()), std::optional<bool>(false));
    send_signal(child.value(), SIGKILL);
    static_cast<void>(wait_for_end(child.value()));
    EXPECT_EQ(is_ending(child.value()), std::optional<bool>(true)) << "a zombie";
    reap(child.value());
    EXPECT_EQ(is_ending(child.value()), std::nullopt);
}

TEST(ChildTest, a_program_that_cannot_be_run_is_reported_through_the_pipe) {
    auto failures = make_pipe();
    ASSERT_TRUE(failures.is_ok());
    ChildPlan plan = shell("");
    plan.path = "/no/such/program";
    plan.failures = failures.value().writing.get();
    plan.number = 42;
    const int pid = start(plan);
    EXPECT_EQ(wait_for_end(pid).exit_code(), 127);
    reap(pid);
    ExecFailure failure{};
    const ReadResult result = read_some(failures.value().reading.get(),
                                        {reinterpret_cast<char*>(&failure), sizeof failure});
    ASSERT_EQ(result.bytes, sizeof failure);
    EXPECT_EQ(failure.number, 42U);
    EXPECT_EQ(failure.error, ENOENT);
}

TEST(ChildDeathTest, ending_all_children_ends_orphans_stopped_and_deaf_ones) {
    const pid_t asked = ::fork();
    if (asked == 0) ::_exit(adopt_orphans().is_ok() ? 0 : 1);
    if (wait_for_end(asked).exit_code() != 0) GTEST_SKIP() << "an emulator that adopts no orphans";
    reap(asked);
    const auto in_own_process = [] {
        block_all_signals();
        if (!adopt_orphans().is_ok()) std::_Exit(2);
        auto ready = make_pipe();
        if (!ready.is_ok()) std::_Exit(3);
        ChildPlan plan = shell(
            "trap '' TERM; (sh -c 'kill -STOP $$' & (echo x; while :; do read y; done) &) & wait; "
            "echo x; kill -STOP $$");
        plan.environment.push_back("PATH=/usr/bin:/bin");
        plan.output = ready.value().writing.get();
        for (int i = 0; i < 3; ++i) static_cast<void>(start_child(plan));
        char byte = 0;
        static_cast<void>(read_some(ready.value().reading.get(), {&byte, 1}));
        const bool is_clear = end_all_children(now_ns() + patience_ns);
        std::_Exit(is_clear && !has_children() ? 0 : 1);
    };
    EXPECT_EXIT(in_own_process(), testing::ExitedWithCode(0), "");
}

TEST(ChildDeathTest, children_that_only_wait_for_a_cpu_are_waited_for_beyond_the_deadline) {
    const auto in_own_process = [] {
        block_all_signals();
        for (int i = 0; i < 20; ++i) static_cast<void>(start_child(shell("read x")));
        const bool is_clear = end_all_children(now_ns());
        std::_Exit(is_clear && !has_children() ? 0 : 1);
    };
    EXPECT_EXIT(in_own_process(), testing::ExitedWithCode(0), "");
}

// A thread that waits for a child of vfork has the same state in /proc as one that waits for a
// disk.
TEST(ChildTest, a_thread_in_an_uninterruptible_wait_is_reported) {
    auto ready = make_pipe();
    auto go = make_pipe();
    ASSERT_TRUE(ready.is_ok() && go.is_ok());
    const pid_t child = ::fork();
    if (child == 0) {
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): as vfork(), with a stack of its own
        const long inner = ::syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);
        char byte = 'x';
        if (inner == 0) {
            static_cast<void>(write_all(ready.value().writing.get(), {&byte, 1}));
            static_cast<void>(read_some(go.value().reading.get(), {&byte, 1}));
        }
        ::_exit(0);
    }
    char byte = 0;
    static_cast<void>(read_some(ready.value().reading.get(), {&byte, 1}));
    // The parent may not have begun to wait yet.
    const std::uint64_t until = now_ns() + patience_ns;
    while (!is_uninterruptible(child) && now_ns() < until) ::sched_yield();
    EXPECT_TRUE(is_uninterruptible(child));
    EXPECT_TRUE(is_any_child_uninterruptible());
    EXPECT_EQ(write_all(go.value().writing.get(), "x"), 0);
    static_cast<void>(wait_for_end(child));
    EXPECT_FALSE(is_uninterruptible(child)) << "a zombie";
    reap(child);
    EXPECT_FALSE(is_uninterruptible(child)) << "nothing";
}

TEST(ChildDeathTest, a_child_may_die_with_its_parent) {
    auto lifeline = make_pipe();
    ASSERT_TRUE(lifeline.is_ok());
    const auto in_own_process = [&] {
        ChildPlan plan = shell("echo ready; kill -STOP $$");
        plan.output = lifeline.value().writing.get();
        plan.dies_with_parent = true;
        static_cast<void>(start_child(plan));
        std::array<char, 6> line{};
        static_cast<void>(read_some(lifeline.value().reading.get(), line));
        std::raise(SIGKILL);
    };
    EXPECT_EXIT(in_own_process(), testing::KilledBySignal(SIGKILL), "");
    lifeline.value().writing.close();
    char byte = 0;  // blocks for ever if the child, which holds the other end, lives on
    EXPECT_EQ(read_some(lifeline.value().reading.get(), {&byte, 1}).outcome, ReadOutcome::end);
}

// namespace acp::os::test
}  // namespace
}  // namespace acp::os::test
