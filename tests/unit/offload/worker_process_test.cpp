// SPDX-License-Identifier: BSD-3-Clause
// Worker processes: calls of functions with all kinds of arguments, faults, deaths by every way,
// stops, and the end of each process.
#include "offload/worker_process.hpp"

#include <atomic>
#include <bit>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "os/memory_file.hpp"
#include "os/process.hpp"

#include "support/effort.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::offload {
namespace {

using base::Code;
using call::CallArguments;
using call::CallEnd;
using call::Cancel;
using call::Intent;
using call::WorkerOperation;

constexpr std::uint64_t device_bytes = 65'536;

class Worker : public ::testing::Test {
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

    void start() {
        auto started = WorkerProcess::start({program(), device_file_.get(), device_bytes});
        ASSERT_TRUE(started.is_ok()) << started.failure().message();
        worker_ = std::move(started).value();
        auto loaded = worker_->load(ACP_TEST_DEVICE_FUNCTIONS);
        ASSERT_TRUE(loaded.is_ok()) << loaded.failure().message();
        library_ = loaded.value();
        auto opened = worker_->open_context();
        ASSERT_TRUE(opened.is_ok()) << opened.failure().message();
        context_ = opened.value();
    }

    static std::string program() { return ACP_TEST_BIN_DIR "/acp-worker"; }

    std::uint64_t symbol(const char* name) {
        auto found = worker_->find_symbol(library_, name);
        EXPECT_TRUE(found.is_ok()) << found.failure().message();
        return found.is_ok() ? found.value() : 0;
    }

    static CallArguments integers(std::initializer_list<std::int64_t> values) {
        CallArguments arguments;
        std::uint32_t index = 0;
        for (const std::int64_t value : values)
            EXPECT_TRUE(arguments.set_integer(index++, static_cast<std::uint64_t>(value)).is_ok());
        return arguments;
    }

    static CallArguments addresses(std::initializer_list<std::uint64_t> offsets) {
        CallArguments arguments;
        std::uint32_t index = 0;
        for (const std::uint64_t offset : offsets)
            EXPECT_TRUE(arguments.set_address(index++, offset).is_ok());
        return arguments;
    }

    std::uint64_t post(std::uint64_t function, const CallArguments& arguments) {
        auto posted = context_->post(WorkerOperation::function, function, arguments);
        EXPECT_TRUE(posted.is_ok()) << posted.failure().message();
        return posted.is_ok() ? posted.value() : 0;
    }

    CallResult run(std::uint64_t function, const CallArguments& arguments) {
        auto waited = context_->wait(post(function, arguments));
        EXPECT_TRUE(waited.is_ok()) << waited.failure().message();
        return waited.is_ok() ? waited.value() : CallResult{CallEnd::refused, 0};
    }

    std::atomic<std::uint64_t>& word(std::uint64_t offset) {
        return *reinterpret_cast<std::atomic<std::uint64_t>*>(device_.data() + offset);
    }

    void await_word(std::uint64_t offset, std::uint64_t value) {
        while (word(offset).load() != value) sched_yield();
    }

    // Bytes of memory that the worker process shares with this one, for calls.
    static std::uint64_t committed_bytes() {
        for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
            std::error_code none;
            const auto target = std::filesystem::read_symlink(entry, none).string();

            struct stat status {};

            if (target.starts_with("/memfd:acp-worker") && stat(entry.path().c_str(), &status) == 0)
                return static_cast<std::uint64_t>(status.st_blocks) * 512;
        }
        return 0;
    }

    test::ScopedWatchdog watchdog_{"a worker process"};
    os::FileDescriptor device_file_;
    os::Mapping device_;
    std::unique_ptr<WorkerProcess> worker_;
    std::uint64_t library_ = 0;
    std::shared_ptr<CallContext> context_;
};

TEST_F(Worker, calls_functions_in_another_process) {
    EXPECT_EQ(run(symbol("add"), integers({40, 2})).value, 42U);
    EXPECT_EQ(static_cast<std::int64_t>(run(symbol("add"), integers({-5, 2})).value), -3);
    const std::uint64_t process = run(symbol("own_process"), {}).value;
    EXPECT_EQ(process, static_cast<std::uint64_t>(worker_->process()));
    EXPECT_NE(process, static_cast<std::uint64_t>(getpid()));
}

TEST_F(Worker, copies_buffers_to_the_function_and_back) {
    std::vector<double> values{1, 2, 3}, scaled(3);
    CallArguments arguments;
    ASSERT_TRUE(arguments.set_double(0, 2.5).is_ok());
    ASSERT_TRUE(arguments.set_buffer(1, Intent::in, values.data(), 24).is_ok());
    ASSERT_TRUE(arguments.set_integer(2, 3).is_ok());
    ASSERT_TRUE(arguments.set_buffer(3, Intent::out, scaled.data(), 24).is_ok());
    arguments.set_result(call::ResultKind::real);
    EXPECT_EQ(std::bit_cast<double>(run(symbol("scale"), arguments).value), 15.0);
    EXPECT_EQ(scaled, (std::vector<double>{2.5, 5, 7.5}));
}

TEST_F(Worker, takes_buffers_up_to_their_limit) {
    const std::uint64_t sum = symbol("sum_of_bytes");
    for (const std::uint64_t bytes :
         {std::uint64_t{1}, std::uint64_t{65'537},
          test::effort(call::buffer_bytes_max, std::uint64_t{1} << 20U)}) {
        std::vector<unsigned char> buffer(bytes, 3);
        for (int i = 0; i < 3; ++i) {
            CallArguments arguments;
            ASSERT_TRUE(arguments.set_buffer(0, Intent::in, buffer.data(), bytes).is_ok());
            ASSERT_TRUE(arguments.set_integer(1, bytes).is_ok());
            EXPECT_EQ(run(sum, arguments).value, 3 * bytes);
        }
    }
}

TEST_F(Worker, passes_addresses_of_device_memory_that_both_processes_see) {
    word(128) = 6;
    EXPECT_EQ(run(symbol("count_up"), addresses({128})).value, 7U);
    EXPECT_EQ(word(128).load(), 7U);
    EXPECT_EQ(run(symbol("count_up"), addresses({device_bytes})).end, CallEnd::refused);
}

TEST_F(Worker, runs_more_calls_than_its_ring_has_slots_in_order) {
    const std::uint64_t count_up = symbol("count_up");
    std::vector<std::uint64_t> calls;
    for (int i = 0; i < 300; ++i) calls.push_back(post(count_up, addresses({0})));
    for (std::size_t i = calls.size(); i-- > 0;) {
        auto waited = context_->wait(calls[i]);
        ASSERT_TRUE(waited.is_ok());
        EXPECT_EQ(waited.value().value, i + 1) << "results may be taken in any order";
    }
    EXPECT_EQ(context_->wait(calls[0]).failure().code(), Code::stale) << "taken twice";
    EXPECT_EQ(context_->wait(0).failure().code(), Code::stale);
    EXPECT_EQ(context_->wait(301).failure().code(), Code::stale);
}

TEST_F(Worker, shows_whether_a_call_has_ended) {
    const std::uint64_t call = post(symbol("wait_for"), addresses({0, 8}));
    await_word(0, 1);
    EXPECT_FALSE(context_->test(call).value().has_value());
    word(8) = 9;
    EXPECT_EQ(context_->wait(call).value().value, 9U);
    EXPECT_EQ(context_->test(call).failure().code(), Code::stale);
}

TEST_F(Worker, cancels_calls_that_have_not_begun) {
    const std::uint64_t first = post(symbol("wait_for"), addresses({0, 8}));
    const std::uint64_t second = post(symbol("count_up"), addresses({16}));
    const std::uint64_t third = post(symbol("count_up"), addresses({24}));
    await_word(0, 1);
    EXPECT_EQ(context_->cancel(first).value(), Cancel::begun);
    EXPECT_EQ(context_->cancel(second).value(), Cancel::cancelled);
    word(8) = 1;
    EXPECT_EQ(context_->wait(second).value().end, CallEnd::cancelled);
    EXPECT_EQ(context_->wait(third).value().value, 1U);
    EXPECT_EQ(context_->cancel(first).value(), Cancel::over);
    EXPECT_EQ(context_->wait(first).value().end, CallEnd::returned);
    EXPECT_EQ(context_->cancel(first).failure().code(), Code::stale);
    EXPECT_EQ(word(16).load(), 0U);
}

TEST_F(Worker, answers_faults_and_exceptions_and_lives_on) {
    if (test::is_sanitized) GTEST_SKIP() << "the sanitizer takes the signals";
    const std::uint64_t write_to = symbol("write_to");
    for (int i = 0; i < 100; ++i) {
        const CallResult faulted = run(write_to, integers({16}));
        EXPECT_EQ(faulted.end, CallEnd::faulted);
        EXPECT_EQ(faulted.value, static_cast<std::uint64_t>(SIGSEGV));
    }
    EXPECT_EQ(run(16, {}).end, CallEnd::faulted) << "an address that is no function";
    EXPECT_EQ(run(symbol("throw_something"), {}).end, CallEnd::thrown);
    EXPECT_EQ(run(symbol("divide_by"), addresses({0})).value, static_cast<std::uint64_t>(SIGFPE));
    EXPECT_EQ(run(symbol("add"), integers({1, 2})).value, 3U);
}

TEST_F(Worker, runs_contexts_side_by_side) {
    auto other = worker_->open_context();
    ASSERT_TRUE(other.is_ok());
    const std::uint64_t waiting = post(symbol("wait_for"), addresses({0, 8}));
    await_word(0, 1);
    auto call = other.value()->post(WorkerOperation::function, symbol("count_up"), addresses({16}));
    EXPECT_EQ(other.value()->wait(call.value()).value().value, 1U);
    word(8) = 1;
    EXPECT_EQ(context_->wait(waiting).value().value, 1U);
}

TEST_F(Worker, opens_contexts_again_up_to_their_limit) {
    std::vector<std::shared_ptr<CallContext>> contexts{context_};
    while (contexts.size() < WorkerProcess::contexts_max) {
        auto opened = worker_->open_context();
        ASSERT_TRUE(opened.is_ok()) << opened.failure().message();
        contexts.push_back(opened.value());
    }
    EXPECT_EQ(worker_->open_context().failure().code(), Code::limit);
    const std::uint64_t add = symbol("add");
    for (int i = 0; i < 20; ++i) {
        const auto closed = contexts[3];
        EXPECT_EQ(closed->post(WorkerOperation::function, add, integers({1, 1})).is_ok(), true);
        ASSERT_TRUE(worker_->close_context(*closed).is_ok());
        EXPECT_EQ(worker_->close_context(*closed).code(), Code::stale);
        EXPECT_EQ(closed->post(WorkerOperation::function, add, {}).failure().code(), Code::stale);
        auto opened = worker_->open_context();
        ASSERT_TRUE(opened.is_ok());
        contexts[3] = opened.value();
        auto call = contexts[3]->post(WorkerOperation::function, add, integers({i, 1}));
        EXPECT_EQ(contexts[3]->wait(call.value()).value().value, static_cast<unsigned>(i + 1));
    }
}

TEST_F(Worker, reports_libraries_and_symbols_that_do_not_exist) {
    auto refused = worker_->load("/no/such/library.so");
    EXPECT_EQ(refused.failure().code(), Code::argument);
    EXPECT_NE(refused.failure().message().find("/no/such/library.so: cannot open"),
              std::string::npos)
        << refused.failure().message();
    EXPECT_EQ(worker_->load("").failure().code(), Code::argument);
    EXPECT_EQ(worker_->load(std::string(5000, 'x')).failure().code(), Code::argument);
    EXPECT_EQ(worker_->find_symbol(library_, "no_such_symbol").failure().code(), Code::argument);
    EXPECT_EQ(worker_->find_symbol(7, "add").failure().code(), Code::argument);
    EXPECT_EQ(worker_->unload(7).code(), Code::argument);
    EXPECT_TRUE(worker_->unload(library_).is_ok());
    EXPECT_EQ(worker_->find_symbol(library_, "add").failure().code(), Code::argument);
}

TEST_F(Worker, reports_programs_that_are_no_worker) {
    EXPECT_EQ(WorkerProcess::start({"/no/such/program"}).failure().code(), Code::argument);
    EXPECT_EQ(WorkerProcess::start({"/"}).failure().code(), Code::argument);
    auto other = WorkerProcess::start({"/bin/true"});
    EXPECT_EQ(other.failure().code(), Code::peer);
    EXPECT_NE(other.failure().message().find("has ended with exit code 0"), std::string::npos)
        << other.failure().message();
}

TEST_F(Worker, kills_a_program_that_serves_no_calls_in_time) {
    const std::string path =
        std::string(ACP_TEST_DEVICE_FUNCTIONS) + "." + std::to_string(getpid()) + ".sh";
    std::ofstream(path) << "#!/bin/sh\nexec sleep 100\n";
    ASSERT_EQ(chmod(path.c_str(), 0700), 0);
    StartPlan plan{path};
    plan.serving_within_ns = 50'000'000;
    auto other = WorkerProcess::start(plan);
    EXPECT_EQ(other.failure().code(), Code::timeout);
    const std::string text(other.failure().message());
    EXPECT_NE(text.find(path + ", did not serve calls within 50 ms"), std::string::npos) << text;
    EXPECT_NE(text.find("must be acp-worker"), std::string::npos) << text;
    unlink(path.c_str());
    const int process = std::stoi(text.substr(text.find("process ") + 8));
    EXPECT_EQ(kill(process, 0), -1) << "process " << process << " is left";
}

TEST_F(Worker, gives_back_the_staging_memory_of_large_calls) {
    const std::uint64_t sum = symbol("sum_of_bytes");
    const std::uint64_t bytes = 4 * CallContext::staging_kept_bytes;
    std::vector<unsigned char> buffer(bytes, 3);
    const std::uint64_t before = committed_bytes();
    for (int i = 0; i < 3; ++i) {
        CallArguments arguments;
        ASSERT_TRUE(arguments.set_buffer(0, Intent::in, buffer.data(), bytes).is_ok());
        ASSERT_TRUE(arguments.set_integer(1, bytes).is_ok());
        const std::uint64_t call = post(sum, arguments);
        EXPECT_GE(committed_bytes(), before + bytes);
        EXPECT_EQ(context_->wait(call).value().value, 3 * bytes);
        EXPECT_LE(committed_bytes(), before + CallContext::staging_kept_bytes);
    }
    ASSERT_TRUE(worker_->close_context(*context_).is_ok());
    EXPECT_LE(committed_bytes(), before);
}

TEST_F(Worker, ends_with_its_exit_code_when_it_leaves_or_a_function_exits) {
    EXPECT_TRUE(worker_->leave().is_ok());
    ASSERT_TRUE(worker_->end().has_ended());
    EXPECT_EQ(worker_->end().status()->exit_code(), 0);
    EXPECT_EQ(context_->post(WorkerOperation::function, 1, {}).failure().code(), Code::peer);
    start();
    EXPECT_EQ(run(symbol("end_process"), integers({5})).end, CallEnd::ended);
    ASSERT_TRUE(worker_->end().has_ended());
    EXPECT_EQ(worker_->end().status()->exit_code(), 5);
    const Status failure = worker_->end().failure();
    EXPECT_NE(failure.message().find("has ended with exit code 5"), std::string::npos);
    EXPECT_EQ(worker_->leave().code(), Code::peer);
}

TEST_F(Worker, ends_when_a_function_ends_its_thread_or_runs_another_program) {
    EXPECT_EQ(run(symbol("end_thread"), {}).end, CallEnd::ended);
    EXPECT_EQ(worker_->end().status()->signal(), SIGABRT);
    start();
    const std::uint64_t waiting = post(symbol("wait_for"), addresses({0, 8}));
    await_word(0, 1);
    auto other = worker_->open_context();
    ASSERT_TRUE(other.is_ok());
    auto call = other.value()->post(WorkerOperation::function, symbol("run_program"), {});
    EXPECT_EQ(other.value()->wait(call.value()).value().end, CallEnd::ended);
    EXPECT_EQ(context_->wait(waiting).value().end, CallEnd::ended);
    EXPECT_EQ(worker_->end().status()->exit_code(), 3);
    start();
    EXPECT_EQ(run(symbol("run_for_long"), {}).end, CallEnd::ended);
    const Status failure = worker_->end().failure();
    EXPECT_NE(failure.message().find("runs another program"), std::string_view::npos)
        << failure.message();
}

TEST_F(Worker, ends_every_waiting_call_when_it_is_killed) {
    const std::uint64_t wait_for = symbol("wait_for");
    std::vector<std::thread> waiters;
    std::atomic<int> ended{0};
    for (int i = 0; i < 4; ++i) {
        const std::uint64_t call = post(wait_for, addresses({0, 8}));
        waiters.emplace_back([&, call] {
            if (context_->wait(call).value().end == CallEnd::ended) ++ended;
        });
    }
    await_word(0, 1);
    EXPECT_EQ(kill(worker_->process(), SIGKILL), 0);
    for (std::thread& waiter : waiters) waiter.join();
    EXPECT_EQ(ended.load(), 4);
    EXPECT_EQ(worker_->end().status()->signal(), SIGKILL);
    EXPECT_EQ(worker_->open_context().failure().code(), Code::peer);
    EXPECT_EQ(worker_->load(ACP_TEST_DEVICE_FUNCTIONS).failure().code(), Code::peer);
    EXPECT_EQ(worker_->close_context(*context_).code(), Code::peer);
}

TEST_F(Worker, is_delayed_by_a_stop_and_goes_on) {
    const std::uint64_t add = symbol("add");
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(kill(worker_->process(), SIGSTOP), 0);
        waitid(P_PID, static_cast<id_t>(worker_->process()), nullptr, WSTOPPED);
        const std::uint64_t call = post(add, integers({i, 1}));
        EXPECT_FALSE(context_->test(call).value().has_value());
        EXPECT_EQ(kill(worker_->process(), SIGCONT), 0);
        EXPECT_EQ(context_->wait(call).value().value, static_cast<unsigned>(i + 1));
    }
}

TEST_F(Worker, ends_calls_and_leaves_no_process_or_descriptor_after_many_kills) {
    const auto descriptors = [] {
        int count = 0;
        for (int fd = 0; fd < 1024; ++fd) count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
        return count;
    };
    context_.reset();
    worker_.reset();
    const int before = descriptors();
    for (int trial = 0; trial < test::effort(30, 5); ++trial) {
        start();
        const std::uint64_t add = symbol("add");
        const int process = worker_->process();
        std::thread killer([&] {
            for (int i = 0; i < trial * 3; ++i) sched_yield();
            (void)kill(process, SIGKILL);
        });
        std::uint64_t answered = 0;
        for (;;) {
            auto posted = context_->post(WorkerOperation::function, add, integers({1, 2}));
            if (!posted.is_ok()) {
                EXPECT_EQ(posted.failure().code(), Code::peer);
                break;
            }
            const CallResult result = context_->wait(posted.value()).value();
            if (result.end != CallEnd::returned) {
                EXPECT_EQ(result.end, CallEnd::ended);
                break;
            }
            EXPECT_EQ(result.value, 3U);
            ++answered;
        }
        killer.join();
        context_.reset();
        worker_.reset();
        EXPECT_EQ(kill(process, 0), -1) << "process " << process << " after " << answered;
    }
    EXPECT_EQ(descriptors(), before);
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
}

TEST_F(Worker, ends_itself_when_its_owner_is_killed) {
    if (test::is_sanitized) GTEST_SKIP() << "TSan allows no thread in a fork of threads";
    const pid_t owner = fork();
    if (owner == 0) {
        auto started = WorkerProcess::start({program()});
        if (!started.is_ok()) _exit(1);
        word(32) = static_cast<std::uint64_t>(started.value()->process());
        for (;;) pause();
    }
    while (word(32).load() == 0) sched_yield();
    const auto worker = static_cast<int>(word(32).load());
    auto handle = os::open_process(worker);
    ASSERT_TRUE(handle.is_ok());
    kill(owner, SIGKILL);
    waitpid(owner, nullptr, 0);
    while (!os::has_exited(handle.value().get())) sched_yield();
}

TEST_F(Worker, keeps_its_end_where_the_program_has_waited_for_it) {
    kill(worker_->process(), SIGSTOP);
    waitid(P_PID, static_cast<id_t>(worker_->process()), nullptr, WSTOPPED | WNOWAIT);
    kill(worker_->process(), SIGKILL);
    (void)waitpid(-1, nullptr, 0);  // either this or the thread of the library gets the status
    while (!worker_->end().has_ended()) sched_yield();
    EXPECT_EQ(worker_->end().failure().code(), Code::peer);
}

}  // namespace
}  // namespace acp::offload
