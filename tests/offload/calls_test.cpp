// SPDX-License-Identifier: BSD-3-Clause
// Calls of functions in device processes of each rank: arguments, memory that ranks and functions
// share, failures, bad input, and the seven steps of figure 2 of paper 004.
#include <atomic>
#include <bit>
#include <csignal>
#include <cstring>
#include <sched.h>
#include <string>
#include <vector>

#include <acp/offload.h>

#include "support/ranked.hpp"

namespace acp::test {
namespace {

class OffloadTest : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        process_ = acp_create_process(0, nullptr);
        ASSERT_NE(process_, ACP_PROCESS_NULL) << acp_error_message();
        library_ = acp_load_library(process_, ACP_TEST_DEVICE_FUNCTIONS);
        ASSERT_EQ(library_, 1) << acp_error_message();
        context_ = acp_open_context(process_);
        ASSERT_NE(context_, ACP_CONTEXT_NULL) << acp_error_message();
        args_ = acp_create_args();
    }

    void TearDown() override {
        if (args_ != ACP_ARGS_NULL) {
            EXPECT_EQ(acp_free_args(args_), 0);
        }
        if (process_ != ACP_PROCESS_NULL) {
            EXPECT_EQ(acp_destroy_process(process_), 0) << acp_error_message();
        }
        RankedTest::TearDown();
    }

    std::uint64_t symbol(const char* name) {
        const std::uint64_t address = acp_find_symbol(process_, library_, name);
        EXPECT_NE(address, UINT64_MAX) << acp_error_message();
        return address;
    }

    // Calls a function with the arguments and waits for it.
    int run(const char* function, std::uint64_t* result = nullptr) {
        const std::int64_t call = acp_begin_call(context_, symbol(function), args_);
        EXPECT_GT(call, 0) << acp_error_message();
        return acp_wait_call(context_, call, result);
    }

    acp_process_t process_ = ACP_PROCESS_NULL;
    int library_ = 0;
    acp_context_t context_ = ACP_CONTEXT_NULL;
    acp_args_t args_ = ACP_ARGS_NULL;
};

TEST_F(OffloadTest, calls_a_function_in_another_process) {
    EXPECT_EQ(acp_set_int_args(args_, 0, -40), 0);
    EXPECT_EQ(acp_set_int_args(args_, 1, -2), 0);
    std::uint64_t sum = 0;
    EXPECT_EQ(run("add", &sum), ACP_CALL_RETURNED);
    EXPECT_EQ(static_cast<std::int64_t>(sum), -42);
    std::uint64_t process = 0;
    EXPECT_EQ(run("own_process", &process), ACP_CALL_RETURNED);
    EXPECT_EQ(process, static_cast<std::uint64_t>(acp_query_process(process_)));
    EXPECT_NE(process, static_cast<std::uint64_t>(getpid()));
}

TEST_F(OffloadTest, passes_doubles_and_buffers_and_returns_a_double) {
    const std::vector<double> values{1, 2, 3};
    std::vector<double> given = values, scaled(3);
    EXPECT_EQ(acp_set_double_args(args_, 0, 2.5), 0);
    EXPECT_EQ(acp_set_buffer_args(args_, 1, ACP_BUFFER_IN, given.data(), 24), 0);
    EXPECT_EQ(acp_set_int_args(args_, 2, 3), 0);
    EXPECT_EQ(acp_set_buffer_args(args_, 3, ACP_BUFFER_OUT, scaled.data(), 24), 0);
    EXPECT_EQ(acp_set_result_args(args_, ACP_RESULT_DOUBLE), 0);
    std::uint64_t sum = 0;
    EXPECT_EQ(run("scale", &sum), ACP_CALL_RETURNED);
    EXPECT_EQ(std::bit_cast<double>(sum), 15.0);
    EXPECT_EQ(scaled, (std::vector<double>{2.5, 5, 7.5}));
    EXPECT_EQ(given, values);
}

TEST_F(OffloadTest, shares_the_heaps_of_the_node_with_the_function) {
    const acp_ga_t memory = acp_malloc(4096, rank_);
    ASSERT_NE(memory, ACP_GA_NULL) << acp_error_message();
    EXPECT_EQ(acp_set_address_args(args_, 0, memory + 8), 0) << acp_error_message();
    auto* word = static_cast<std::uint64_t*>(acp_query_address(memory + 8));
    *word = 6;
    std::uint64_t result = 0;
    EXPECT_EQ(run("count_up", &result), ACP_CALL_RETURNED);
    EXPECT_EQ(result, 7U);
    EXPECT_EQ(*word, 7U);
    // The neighbour's starter memory: on this node the function reaches it, on another one not.
    const acp_ga_t neighbour = acp_query_starter_ga((rank_ + 1) % procs_) + 8;
    const bool is_near = acp_query_address(neighbour) != nullptr;
    acp_clear_errno();
    EXPECT_EQ(acp_set_address_args(args_, 0, neighbour), is_near ? 0 : -1);
    if (!is_near) expect_error(ACP_ERR_UNSUPPORTED, {"acp_set_address_args", "its own node alone"});
    EXPECT_EQ(acp_free(memory), 0);
}

TEST_F(OffloadTest, refuses_addresses_that_no_device_process_reaches) {
    EXPECT_EQ(acp_set_address_args(args_, 0, ACP_GA_NULL), -1);
    expect_error(ACP_ERR_ADDRESS, {"acp_set_address_args"});
    std::uint64_t own = 0;
    const acp_atkey_t key = acp_register_memory(&own, sizeof own, 0);
    ASSERT_NE(key, ACP_ATKEY_NULL);
    EXPECT_EQ(acp_set_address_args(args_, 0, acp_query_ga(key, &own)), -1);
    expect_error(ACP_ERR_UNSUPPORTED, {"pass it as a buffer"});
    EXPECT_EQ(acp_unregister_memory(key), 0);
}

TEST_F(OffloadTest, runs_calls_in_order_and_cancels_those_that_have_not_begun) {
    const acp_ga_t memory = acp_malloc(64, rank_);
    auto* words = static_cast<std::atomic<std::uint64_t>*>(acp_query_address(memory));
    for (int i = 0; i < 3; ++i) words[i] = 0;
    EXPECT_EQ(acp_set_address_args(args_, 0, memory), 0);
    EXPECT_EQ(acp_set_address_args(args_, 1, memory + 8), 0);
    const std::int64_t first = acp_begin_call(context_, symbol("wait_for"), args_);
    EXPECT_EQ(acp_set_address_args(args_, 0, memory + 16), 0);
    const std::int64_t second = acp_begin_call(context_, symbol("count_up"), args_);
    while (words[0] == 0) sched_yield();
    std::uint64_t result = 0;
    EXPECT_EQ(acp_test_call(context_, first, &result), ACP_NONE);
    EXPECT_EQ(acp_cancel_call(context_, first), 1);
    EXPECT_EQ(acp_cancel_call(context_, second), 0);
    words[1] = 5;
    EXPECT_EQ(acp_wait_call(context_, second, nullptr), ACP_CALL_CANCELLED);
    EXPECT_EQ(acp_wait_call(context_, first, &result), ACP_CALL_RETURNED);
    EXPECT_EQ(result, 5U);
    EXPECT_EQ(words[2], 0U);
    EXPECT_EQ(acp_wait_call(context_, first, &result), -1);
    expect_error(ACP_ERR_STALE, {"acp_wait_call"});
    EXPECT_EQ(acp_sync_context(context_), 0);
    EXPECT_EQ(acp_free(memory), 0);
}

TEST_F(OffloadTest, survives_faults_and_exceptions_of_functions) {
    EXPECT_EQ(run("throw_something"), ACP_CALL_THREW);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_EQ(acp_set_int_args(args_, 0, 16), 0);
    std::uint64_t signal = 0;
    EXPECT_EQ(run("write_to", &signal), ACP_CALL_FAULTED);
    EXPECT_EQ(signal, static_cast<std::uint64_t>(SIGSEGV));
#endif
    EXPECT_EQ(acp_set_int_args(args_, 0, 1), 0);
    EXPECT_EQ(acp_set_int_args(args_, 1, 2), 0);
    EXPECT_EQ(run("add"), ACP_CALL_RETURNED);
}

TEST_F(OffloadTest, fails_all_calls_of_a_process_that_was_killed) {
    const int process = acp_query_process(process_);
    ASSERT_GT(process, 0);
    EXPECT_EQ(kill(process, SIGKILL), 0);
    while (acp_query_process(process_) != ACP_NONE) sched_yield();
    EXPECT_EQ(acp_begin_call(context_, 1, args_), -1);
    expect_error(ACP_ERR_PEER, {"acp_begin_call", std::to_string(process), "killed by signal 9"});
    EXPECT_EQ(acp_open_context(process_), ACP_CONTEXT_NULL);
    EXPECT_EQ(acp_sync_context(context_), -1);
    EXPECT_EQ(acp_destroy_process(process_), 128 + SIGKILL);
    EXPECT_EQ(acp_destroy_process(process_), -1);
    expect_error(ACP_ERR_STALE, {"acp_destroy_process"});
    process_ = ACP_PROCESS_NULL;
}

TEST_F(OffloadTest, names_bad_input) {
    EXPECT_EQ(acp_create_process(1, nullptr), ACP_PROCESS_NULL);
    expect_error(ACP_ERR_ARGUMENT, {"acp_create_process", "device 1"});
    EXPECT_EQ(acp_create_process(0, "/no/such/program"), ACP_PROCESS_NULL);
    expect_error(ACP_ERR_ARGUMENT, {"/no/such/program"});
    EXPECT_EQ(acp_load_library(process_, "/no/such.so"), -1);
    expect_error(ACP_ERR_ARGUMENT, {"acp_load_library", "/no/such.so"});
    EXPECT_EQ(acp_load_library(process_, nullptr), -1);
    EXPECT_EQ(acp_find_symbol(process_, library_, "no_such_symbol"), UINT64_MAX);
    expect_error(ACP_ERR_ARGUMENT, {"no_such_symbol"});
    for (const int number : {-3, 9}) {
        EXPECT_EQ(acp_unload_library(process_, number), -1);
        expect_error(ACP_ERR_ARGUMENT, {"no library " + std::to_string(number)});
    }
    EXPECT_EQ(acp_find_symbol(process_, -3, "add"), UINT64_MAX);
    expect_error(ACP_ERR_ARGUMENT, {"acp_find_symbol", "no library -3"});
    for (const int index : {-1, 256}) {
        EXPECT_EQ(acp_set_int_args(args_, index, 0), -1);
        expect_error(
            ACP_ERR_ARGUMENT,
            {"acp_set_int_args", "argument " + std::to_string(index) + " ", "256 arguments"});
    }
    char buffer[8];
    EXPECT_EQ(acp_set_buffer_args(args_, 0, 3, buffer, 8), -1);
    expect_error(ACP_ERR_ARGUMENT, {"intent 3"});
    EXPECT_EQ(acp_set_buffer_args(args_, 0, ACP_BUFFER_IN, buffer, std::size_t{64} << 20U), -1);
    expect_error(ACP_ERR_LIMIT, {"67108864"});
    EXPECT_EQ(acp_set_result_args(args_, 3), -1);
    EXPECT_EQ(acp_wait_call(context_, 77, nullptr), -1);
    expect_error(ACP_ERR_STALE, {"call 77"});
    EXPECT_EQ(acp_begin_call(ACP_CONTEXT_NULL, 1, args_), -1);
    expect_error(ACP_ERR_STALE, {"acp_begin_call"});
    EXPECT_EQ(acp_close_context(context_), 0);
    EXPECT_EQ(acp_close_context(context_), -1);
    expect_error(ACP_ERR_STALE, {"acp_close_context"});
}

// Figure 2 of paper 004: a process, a context, memory, a copy to it and back, the end of both.
TEST_F(OffloadTest, follows_the_seven_steps_of_the_paper) {
    constexpr std::size_t bytes = 128;
    acp_process_t process = acp_create_process(0, nullptr);
    ASSERT_NE(process, ACP_PROCESS_NULL);
    acp_context_t context = acp_open_context(process);
    ASSERT_NE(context, ACP_CONTEXT_NULL);
    const acp_ga_t memory = acp_malloc(bytes, rank_);
    ASSERT_NE(memory, ACP_GA_NULL);
    std::vector<unsigned char> sent(bytes, 0x5a), back(bytes, 0);
    expect_done(acp_put(memory, sent.data(), bytes, ACP_HANDLE_NULL));
    expect_done(acp_get(back.data(), memory, bytes, ACP_HANDLE_NULL));
    EXPECT_EQ(back, sent);
    EXPECT_EQ(acp_close_context(context), 0);
    EXPECT_EQ(acp_destroy_process(process), 0);
    EXPECT_EQ(acp_free(memory), 0);
}

}  // namespace
}  // namespace acp::test
