// SPDX-License-Identifier: BSD-3-Clause
// Functions of worker processes whose system calls an executor makes: who makes them, what waits of
// the program see, and the ends of each process.
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "offload/worker_process.hpp"
#include "os/memory_file.hpp"
#include "os/system_call_dispatch.hpp"

#include "support/effort.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::offload {
namespace {

using call::CallArguments;
using call::CallEnd;
using call::Intent;
using call::WorkerOperation;

constexpr std::uint64_t device_bytes = 4096;

// Whether a process exists that has not ended.
bool is_alive(int process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string word;
    file >> word >> word >> word;
    return file.good() && word != "Z" && word != "X";
}

class WorkerSystemCalls : public ::testing::Test {
protected:
    void SetUp() override {
        auto file = os::create_memory_file("device", device_bytes);
        ASSERT_TRUE(file.is_ok());
        device_file_ = std::move(file).value();
        auto mapped = os::Mapping::map_shared(device_file_.get(), device_bytes);
        ASSERT_TRUE(mapped.is_ok());
        device_ = std::move(mapped).value();
        start();
    }

    void start(bool dispatches = false) {
        StartPlan plan{ACP_TEST_BIN_DIR "/acp-worker", device_file_.get(), device_bytes};
        plan.dispatches_system_calls = dispatches;
        auto started = WorkerProcess::start(plan);
        ASSERT_TRUE(started.is_ok()) << started.failure().message();
        worker_ = std::move(started).value();
        auto loaded = worker_->load(ACP_TEST_DEVICE_SYSTEM_CALLS);
        ASSERT_TRUE(loaded.is_ok()) << loaded.failure().message();
        library_ = loaded.value();
        auto opened = worker_->open_context();
        ASSERT_TRUE(opened.is_ok()) << opened.failure().message();
        context_ = opened.value();
    }

    std::uint64_t post(CallContext& context, const char* name, const CallArguments& arguments) {
        auto found = worker_->find_symbol(library_, name);
        EXPECT_TRUE(found.is_ok()) << found.failure().message();
        auto posted = context.post(WorkerOperation::function, found.value(), arguments);
        EXPECT_TRUE(posted.is_ok()) << posted.failure().message();
        return posted.value();
    }

    CallResult run(const char* name, const CallArguments& arguments = {}) {
        auto waited = context_->wait(post(*context_, name, arguments));
        EXPECT_TRUE(waited.is_ok()) << waited.failure().message();
        return waited.value();
    }

    std::int64_t result_of(const char* name, const CallArguments& arguments = {}) {
        const CallResult result = run(name, arguments);
        EXPECT_EQ(result.end, CallEnd::returned);
        return static_cast<std::int64_t>(result.value);
    }

    int executor() { return static_cast<int>(result_of("process_of_calls")); }

    // Begins to read from a pipe, and waits until that is so.
    std::uint64_t read_for_ever(CallContext& context) {
        const std::uint64_t before = begun();
        CallArguments arguments;
        EXPECT_TRUE(arguments.set_address(0, 0).is_ok());
        const std::uint64_t call = post(context, "read_for_ever", arguments);
        while (begun() == before) sched_yield();
        return call;
    }

    [[nodiscard]] std::uint64_t begun() const {
        return reinterpret_cast<std::atomic<std::uint64_t>*>(device_.data())->load();
    }

    test::ScopedWatchdog watchdog_{"system calls of a worker process"};
    os::FileDescriptor device_file_;
    os::Mapping device_;
    std::unique_ptr<WorkerProcess> worker_;
    std::uint64_t library_ = 0;
    std::shared_ptr<CallContext> context_;
};

TEST_F(WorkerSystemCalls, are_made_by_a_child_of_the_worker_that_no_wait_sees) {
    const int process = executor();
    EXPECT_GT(process, 0);
    EXPECT_NE(process, worker_->process());
    std::string word;
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    file >> word >> word;
    EXPECT_EQ(word, "(acp-executor)");
    int parent = 0;
    file >> word >> parent;
    EXPECT_EQ(parent, worker_->process());
    EXPECT_EQ(result_of("count_seen_children"), 0);
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), 0) << "the worker is the only child here";
}

TEST_F(WorkerSystemCalls, write_files_that_the_functions_read_and_report_bad_addresses) {
    std::string path = "acp_worker_" + std::to_string(getpid()) + ".tmp";
    CallArguments arguments;
    ASSERT_TRUE(arguments.set_buffer(0, Intent::in, path.data(), path.size() + 1).is_ok());
    ASSERT_TRUE(arguments.set_integer(1, 4711).is_ok());
    EXPECT_EQ(result_of("write_and_read_back", arguments), 4711);
    if (!test::is_sanitized) {
        EXPECT_EQ(result_of("write_from_nowhere"), -EFAULT);
    }
}

TEST_F(WorkerSystemCalls, of_a_rank_without_functions_of_its_own_are_symbols_of_the_worker) {
    auto found = worker_->find_symbol(0, "acp_sys_write");
    ASSERT_TRUE(found.is_ok()) << found.failure().message();
    std::string text = "text";
    CallArguments arguments;
    ASSERT_TRUE(arguments.set_integer(0, static_cast<std::uint64_t>(-1)).is_ok());
    ASSERT_TRUE(arguments.set_buffer(1, Intent::in, text.data(), text.size()).is_ok());
    ASSERT_TRUE(arguments.set_integer(2, text.size()).is_ok());
    auto posted = context_->post(WorkerOperation::function, found.value(), arguments);
    EXPECT_EQ(static_cast<std::int64_t>(context_->wait(posted.value()).value().value), -EBADF);
}

TEST_F(WorkerSystemCalls, of_several_contexts_wait_apart) {
    auto other = worker_->open_context();
    ASSERT_TRUE(other.is_ok());
    (void)read_for_ever(*other.value());
    for (int i = 0; i < 50; ++i) EXPECT_GT(executor(), 0);
    // A context that takes the place of another one has its system calls made too.
    for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(worker_->close_context(*context_).is_ok());
        auto opened = worker_->open_context();
        ASSERT_TRUE(opened.is_ok());
        context_ = opened.value();
        EXPECT_GT(executor(), 0);
        EXPECT_NE(executor(), worker_->process());
    }
}

TEST_F(WorkerSystemCalls, fail_with_EIO_in_every_context_when_the_executor_is_killed) {
    const int process = executor();
    auto other = worker_->open_context();
    ASSERT_TRUE(other.is_ok());
    const std::uint64_t first = read_for_ever(*context_);
    const std::uint64_t second = read_for_ever(*other.value());
    EXPECT_EQ(kill(process, SIGKILL), 0);
    EXPECT_EQ(static_cast<std::int64_t>(context_->wait(first).value().value), -EIO);
    EXPECT_EQ(static_cast<std::int64_t>(other.value()->wait(second).value().value), -EIO);
    EXPECT_FALSE(is_alive(process));
    EXPECT_FALSE(worker_->end().has_ended()) << "the worker lives on";
    EXPECT_EQ(result_of("process_of_calls"), -1);
    EXPECT_TRUE(worker_->leave().is_ok());
}

TEST_F(WorkerSystemCalls, leave_no_process_when_the_worker_ends_in_any_way) {
    for (const char* const way : {"leaves", "is killed", "runs another program", "is destroyed"}) {
        SCOPED_TRACE(way);
        const int process = executor();
        EXPECT_TRUE(is_alive(process));
        if (std::string(way) == "leaves") {
            EXPECT_TRUE(worker_->leave().is_ok());
            EXPECT_EQ(kill(process, 0), -1) << "the worker has reaped it";
        } else if (std::string(way) == "is killed") {
            const std::uint64_t waiting = read_for_ever(*context_);
            EXPECT_EQ(kill(worker_->process(), SIGKILL), 0);
            EXPECT_EQ(context_->wait(waiting).value().end, CallEnd::ended);
        } else if (std::string(way) == "runs another program") {
            EXPECT_EQ(run("run_another_program").end, CallEnd::ended);
            EXPECT_NE(worker_->end().failure().message().find("runs another program"),
                      std::string_view::npos);
        }
        context_.reset();
        worker_.reset();
        while (is_alive(process)) sched_yield();
        start();
    }
}

TEST_F(WorkerSystemCalls, of_code_that_knows_nothing_of_ACP_are_dispatched) {
    EXPECT_EQ(result_of("process_of_plain_calls"), worker_->process()) << "without dispatch";
    EXPECT_EQ(result_of("count_ended_children"), 3);
    if (os::probe_system_call_dispatch() != 0) GTEST_SKIP() << "the machine has no user dispatch";
    if (test::is_sanitized) GTEST_SKIP() << "the sanitizer takes the signals";
    start(true);
    const int process = executor();
    EXPECT_NE(process, worker_->process());
    for (int i = 0; i < 3; ++i) EXPECT_EQ(result_of("process_of_plain_calls"), process);
    EXPECT_EQ(result_of("count_ended_children"), 3);
    EXPECT_EQ(result_of("count_seen_children"), 0);
    EXPECT_EQ(result_of("write_from_nowhere"), -EFAULT);
    EXPECT_EQ(result_of("process_of_plain_calls"), process);
    EXPECT_TRUE(worker_->leave().is_ok());
}

TEST_F(WorkerSystemCalls, end_with_the_rank) {
    if (test::is_sanitized) GTEST_SKIP() << "TSan allows no thread in a fork of threads";
    context_.reset();
    worker_.reset();
    std::array<int, 2> report{};
    ASSERT_EQ(pipe2(report.data(), O_CLOEXEC), 0);
    const pid_t rank = fork();
    if (rank == 0) {
        start();
        const int process = executor();
        (void)read_for_ever(*context_);
        (void)!write(report[1], &process, sizeof process);
        for (;;) pause();
    }
    int process = 0;
    ASSERT_EQ(read(report[0], &process, sizeof process), static_cast<ssize_t>(sizeof process));
    EXPECT_TRUE(is_alive(process));
    kill(rank, SIGKILL);
    waitpid(rank, nullptr, 0);
    while (is_alive(process)) sched_yield();
    for (const int end : report) close(end);
}

}  // namespace
}  // namespace acp::offload
