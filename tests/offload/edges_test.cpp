// SPDX-License-Identifier: BSD-3-Clause
// Device processes at the edges of their lives and of the rank's: forks of the rank, acp_reset, the
// destruction of a process whose functions run, and deaths and stops while a process is created,
// called and destroyed.
#include <atomic>
#include <csignal>
#include <fstream>
#include <sched.h>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <acp/offload.h>

#include "support/ranked.hpp"

namespace acp::test {
namespace {

// Whether a process exists that has not ended.
bool is_alive(int process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string word;
    file >> word >> word >> word;
    return file.good() && word != "Z" && word != "X";
}

class OffloadEdgesTest : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        start();
    }

    void TearDown() override {
        if (process_ != ACP_PROCESS_NULL) {
            EXPECT_EQ(acp_destroy_process(process_), 0) << acp_error_message();
        }
        RankedTest::TearDown();
    }

    void start() {
        process_ = acp_create_process(0, nullptr);
        ASSERT_NE(process_, ACP_PROCESS_NULL) << acp_error_message();
        library_ = acp_load_library(process_, ACP_TEST_DEVICE_FUNCTIONS);
        ASSERT_GT(library_, 0) << acp_error_message();
        context_ = acp_open_context(process_);
        ASSERT_NE(context_, ACP_CONTEXT_NULL) << acp_error_message();
        auto* const words = static_cast<std::atomic<std::uint64_t>*>(
            acp_query_address(acp_query_starter_ga(rank_)));
        begun_ = words;
        flag_ = words + 1;
        *begun_ = 0;
        *flag_ = 0;
    }

    // Begins a call that runs until the flag is set, and waits until it runs.
    std::int64_t begin_endless_call() {
        const acp_args_t args = acp_create_args();
        EXPECT_EQ(acp_set_address_args(args, 0, acp_query_starter_ga(rank_)), 0);
        EXPECT_EQ(acp_set_address_args(args, 1, acp_query_starter_ga(rank_) + 8), 0);
        const std::int64_t call =
            acp_begin_call(context_, acp_find_symbol(process_, library_, "wait_for"), args);
        EXPECT_GT(call, 0) << acp_error_message();
        while (*begun_ == 0) sched_yield();
        EXPECT_EQ(acp_free_args(args), 0);
        return call;
    }

    // Returns what a call of "add" returns.
    std::uint64_t add(int a, int b) {
        const acp_args_t args = acp_create_args();
        EXPECT_EQ(acp_set_int_args(args, 0, a), 0);
        EXPECT_EQ(acp_set_int_args(args, 1, b), 0);
        const std::int64_t call =
            acp_begin_call(context_, acp_find_symbol(process_, library_, "add"), args);
        std::uint64_t result = 0;
        EXPECT_EQ(acp_wait_call(context_, call, &result), ACP_CALL_RETURNED) << acp_error_message();
        EXPECT_EQ(acp_free_args(args), 0);
        return result;
    }

    // A program for acp_create_process: a shell runs the line, whose $@ are the arguments of
    // acp-worker.
    std::string program(const std::string& line) {
        std::string path = "/tmp/acp_edges_" + std::to_string(getpid()) + ".sh";
        std::ofstream(path) << "#!/bin/sh\n" << line << "\n";
        EXPECT_EQ(chmod(path.c_str(), 0700), 0);
        return path;
    }

    acp_process_t process_ = ACP_PROCESS_NULL;
    int library_ = 0;
    acp_context_t context_ = ACP_CONTEXT_NULL;
    std::atomic<std::uint64_t>* begun_ = nullptr;
    std::atomic<std::uint64_t>* flag_ = nullptr;
};

TEST_F(OffloadEdgesTest, a_forked_child_may_not_use_them_and_its_end_harms_nothing) {
    const std::int64_t call = begin_endless_call();
    for (const bool runs_exit_handlers : {false, true}) {
        const pid_t child = fork();
        if (child == 0) {
            const bool is_refused = acp_find_symbol(process_, library_, "add") == UINT64_MAX &&
                                    acp_errno() == ACP_ERR_FORKED &&
                                    acp_create_process(0, nullptr) == ACP_PROCESS_NULL &&
                                    acp_destroy_process(process_) == -1 &&
                                    acp_wait_call(context_, call, nullptr) == -1;
            if (runs_exit_handlers) std::exit(is_refused ? 0 : 1);
            _exit(is_refused ? 0 : 1);
        }
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
        EXPECT_TRUE(is_alive(acp_query_process(process_)));
    }
    // A child that is killed, and one that runs another program.
    for (const int way : {0, 1}) {
        const pid_t child = fork();
        if (child == 0) {
            if (way == 0) raise(SIGKILL);
            execl("/bin/true", "true", nullptr);
            _exit(1);
        }
        ASSERT_EQ(waitpid(child, nullptr, 0), child);
    }
    *flag_ = 7;
    std::uint64_t result = 0;
    EXPECT_EQ(acp_wait_call(context_, call, &result), ACP_CALL_RETURNED) << acp_error_message();
    EXPECT_EQ(result, 7U);
    EXPECT_EQ(add(40, 2), 42U);
}

TEST_F(OffloadEdgesTest, acp_reset_ends_processes_whose_functions_run) {
    const std::int64_t call = begin_endless_call();
    const int process = acp_query_process(process_);
    const acp_process_t former = process_;
    const acp_context_t former_context = context_;
    ASSERT_EQ(acp_reset(rank_), 0) << acp_error_message();
    EXPECT_FALSE(is_alive(process));
    EXPECT_EQ(acp_query_process(former), -1);
    expect_error(ACP_ERR_STALE, {"acp_query_process"});
    EXPECT_EQ(acp_wait_call(former_context, call, nullptr), -1);
    expect_error(ACP_ERR_STALE, {"acp_wait_call"});
    start();
    EXPECT_NE(process_, former);
    EXPECT_EQ(add(40, 2), 42U);
}

TEST_F(OffloadEdgesTest, destroying_a_process_waits_for_its_calls) {
    const std::int64_t call = begin_endless_call();
    std::atomic<int> code{-2};
    std::thread destroyer([&] { code = acp_destroy_process(process_); });
    // Destroying makes the process and its contexts stale at once, while its functions run on.
    while (acp_query_process(process_) != -1) sched_yield();
    EXPECT_EQ(acp_wait_call(context_, call, nullptr), -1);
    expect_error(ACP_ERR_STALE, {"acp_wait_call"});
    EXPECT_EQ(code, -2);
    *flag_ = 1;
    destroyer.join();
    EXPECT_EQ(code, 0);
    process_ = ACP_PROCESS_NULL;
}

TEST_F(OffloadEdgesTest, a_kill_ends_a_thread_that_waits_for_a_call_and_one_that_destroys) {
    const std::int64_t call = begin_endless_call();
    const int process = acp_query_process(process_);
    int waited = 0;
    std::atomic<bool> is_waiting{false};
    std::thread waiter([&] {
        is_waiting = true;
        waited = acp_wait_call(context_, call, nullptr);
    });
    while (!is_waiting) sched_yield();
    int code = 0;
    std::thread destroyer([&] { code = acp_destroy_process(process_); });
    while (acp_query_process(process_) != -1) sched_yield();
    EXPECT_EQ(kill(process, SIGKILL), 0);
    waiter.join();
    destroyer.join();
    EXPECT_EQ(waited, -1);
    EXPECT_EQ(code, 128 + SIGKILL);
    EXPECT_FALSE(is_alive(process));
    process_ = ACP_PROCESS_NULL;
}

TEST_F(OffloadEdgesTest, a_stop_delays_calls_and_the_end_of_a_process) {
    const int process = acp_query_process(process_);
    EXPECT_EQ(kill(process, SIGSTOP), 0);
    waitid(P_PID, static_cast<id_t>(process), nullptr, WSTOPPED | WNOWAIT);
    int code = -2;
    std::thread destroyer([&] { code = acp_destroy_process(process_); });
    while (acp_query_process(process_) != -1) sched_yield();
    EXPECT_TRUE(is_alive(process));
    EXPECT_EQ(kill(process, SIGCONT), 0);
    destroyer.join();
    EXPECT_EQ(code, 0);
    process_ = ACP_PROCESS_NULL;
}

TEST_F(OffloadEdgesTest, deaths_and_stops_while_a_process_is_created) {
    const std::string worker = ACP_TEST_BIN_DIR "/acp-worker";
    std::string path = program("kill -9 $$");
    EXPECT_EQ(acp_create_process(0, path.c_str()), ACP_PROCESS_NULL);
    expect_error(ACP_ERR_PEER, {"acp_create_process", "killed by signal 9", "before it served"});
    path = program("exit 7");
    EXPECT_EQ(acp_create_process(0, path.c_str()), ACP_PROCESS_NULL);
    expect_error(ACP_ERR_PEER, {"exit code 7"});
    // One that lets go of its owner and runs on.
    path = program(
        "for fd in 3 4 5 6 7 8 9; do eval \"exec $fd>&-\"; done\n"
        "exec env -i python3 -c 'import os, time; os.closerange(3, 1000); time.sleep(1000)'");
    EXPECT_EQ(acp_create_process(0, path.c_str()), ACP_PROCESS_NULL);
    expect_error(ACP_ERR_PEER, {"closed the descriptors", "before it served"});
    // One that stops itself, and is continued by a child that it started before.
    path = program(
        "(while kill -0 $$ && ! grep -q 'State:.T' /proc/$$/status; do sleep 0.01; done;"
        " kill -CONT $$) &\nkill -STOP $$\nexec " +
        worker + " \"$@\"");
    const acp_process_t process = acp_create_process(0, path.c_str());
    ASSERT_NE(process, ACP_PROCESS_NULL) << acp_error_message();
    EXPECT_EQ(acp_destroy_process(process), 0);
    unlink(path.c_str());
}

TEST_F(OffloadEdgesTest, pointers_of_functions_are_pointers_of_the_rank) {
    const acp_ga_t memory = acp_malloc(64, rank_);
    void* const pointer = acp_query_device_pointer(process_, memory + 8);
    ASSERT_NE(pointer, nullptr) << acp_error_message();
    EXPECT_NE(pointer, acp_query_address(memory + 8));
    auto* const word = static_cast<std::atomic<std::uint64_t>*>(pointer);
    *word = 6;
    const acp_args_t args = acp_create_args();
    EXPECT_EQ(acp_set_int_args(
                  args, 0, static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(pointer))),
              0);
    const std::int64_t call =
        acp_begin_call(context_, acp_find_symbol(process_, library_, "count_up"), args);
    EXPECT_EQ(acp_wait_call(context_, call, nullptr), ACP_CALL_RETURNED);
    EXPECT_EQ(word->load(), 7U);
    EXPECT_EQ(*static_cast<std::uint64_t*>(acp_query_address(memory + 8)), 7U);
    EXPECT_EQ(acp_free_args(args), 0);
    EXPECT_EQ(acp_free(memory), 0);
    EXPECT_EQ(acp_query_device_pointer(process_, ACP_GA_NULL), nullptr);
    expect_error(ACP_ERR_ADDRESS, {"acp_query_device_pointer"});
    EXPECT_EQ(acp_query_device_pointer(ACP_PROCESS_NULL, acp_query_starter_ga(rank_)), nullptr);
    expect_error(ACP_ERR_STALE, {"acp_query_device_pointer"});
}

TEST_F(OffloadEdgesTest, library_0_is_the_program_of_the_process) {
    EXPECT_NE(acp_find_symbol(process_, 0, "memcpy"), UINT64_MAX) << acp_error_message();
    EXPECT_EQ(acp_find_symbol(process_, 0, "add"), UINT64_MAX);
    expect_error(ACP_ERR_ARGUMENT, {"library 0", "\"add\""});
}

}  // namespace
}  // namespace acp::test
