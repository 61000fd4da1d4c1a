// SPDX-License-Identifier: BSD-3-Clause
// Calls of functions as commands: their order with copies of any rank's memory, their failures, the
// death of their process, cancels, and who makes progress on them.
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <ctime>
#include <sched.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <acp/offload.h>

#include "support/ranked.hpp"

namespace acp::test {
namespace {

class OffloadCommandsTest : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        process_ = acp_create_process(0, nullptr);
        ASSERT_NE(process_, ACP_PROCESS_NULL) << acp_error_message();
        library_ = acp_load_library(process_, ACP_TEST_DEVICE_FUNCTIONS);
        ASSERT_GT(library_, 0) << acp_error_message();
        context_ = acp_open_context(process_);
        ASSERT_NE(context_, ACP_CONTEXT_NULL) << acp_error_message();
        args_ = acp_create_args();
        starter_ = acp_query_starter_ga(rank_);
        words_ = static_cast<std::atomic<std::uint64_t>*>(acp_query_address(starter_));
        for (int i = 0; i < 64; ++i) words_[i] = 0;
        neighbour_ = acp_query_starter_ga((rank_ + 1) % procs_) + 1024;
        acp_sync();
    }

    void TearDown() override {
        acp_sync();
        if (args_ != ACP_ARGS_NULL) {
            EXPECT_EQ(acp_free_args(args_), 0);
        }
        if (process_ != ACP_PROCESS_NULL) {
            EXPECT_EQ(acp_destroy_process(process_), status_) << acp_error_message();
        }
        RankedTest::TearDown();
    }

    std::uint64_t symbol(const char* name) {
        const std::uint64_t address = acp_find_symbol(process_, library_, name);
        EXPECT_NE(address, UINT64_MAX) << acp_error_message();
        return address;
    }

    [[nodiscard]] acp_ga_t word(int index) const {
        return starter_ + 8 * static_cast<acp_ga_t>(index);
    }

    // A call that runs until release() was called.
    acp_handle_t issue_endless(acp_handle_t order = ACP_HANDLE_NULL) {
        EXPECT_EQ(acp_clear_args(args_), 0);
        EXPECT_EQ(acp_set_address_args(args_, 0, word(60)), 0);
        EXPECT_EQ(acp_set_address_args(args_, 1, word(61)), 0);
        return acp_call(context_, symbol("wait_for"), args_, nullptr, order);
    }

    void await_endless() const {
        while (words_[60] == 0) sched_yield();
    }

    void release() const { words_[61] = 1; }

    // count_up(word(index)).
    acp_handle_t issue_count(int index,
                             acp_handle_t order,
                             std::uint64_t* result = nullptr,
                             acp_context_t context = ACP_CONTEXT_NULL) {
        EXPECT_EQ(acp_clear_args(args_), 0);
        EXPECT_EQ(acp_set_address_args(args_, 0, word(index)), 0);
        return acp_call(context != ACP_CONTEXT_NULL ? context : context_, symbol("count_up"), args_,
                        result, order);
    }

    void kill_process() {
        const int process = acp_query_process(process_);
        ASSERT_GT(process, 0);
        EXPECT_EQ(kill(process, SIGKILL), 0);
        status_ = 128 + SIGKILL;
    }

    acp_process_t process_ = ACP_PROCESS_NULL;
    int status_ = 0;  // that acp_destroy_process returns
    int library_ = 0;
    acp_context_t context_ = ACP_CONTEXT_NULL;
    acp_args_t args_ = ACP_ARGS_NULL;
    acp_ga_t starter_ = ACP_GA_NULL;
    acp_ga_t neighbour_ = ACP_GA_NULL;
    std::atomic<std::uint64_t>* words_ = nullptr;
};

TEST_F(OffloadCommandsTest, a_call_has_a_handle_and_its_result_is_there_when_the_handle_has_ended) {
    EXPECT_EQ(acp_set_int_args(args_, 0, -40), 0);
    EXPECT_EQ(acp_set_int_args(args_, 1, -2), 0);
    std::uint64_t sum = 0;
    const acp_handle_t handle = acp_call(context_, symbol("add"), args_, &sum, ACP_HANDLE_NULL);
    EXPECT_EQ(acp_wait(handle, -1), 0) << acp_error_message();
    EXPECT_EQ(static_cast<std::int64_t>(sum), -42);
    EXPECT_EQ(acp_inquire(handle), 0);
}

TEST_F(OffloadCommandsTest,
       buffers_are_read_when_the_call_begins_and_back_when_its_handle_has_ended) {
    std::vector<double> given{0, 0, 0}, scaled(3);
    const acp_handle_t running = issue_endless();
    EXPECT_EQ(acp_clear_args(args_), 0);
    EXPECT_EQ(acp_set_double_args(args_, 0, 2.5), 0);
    EXPECT_EQ(acp_set_buffer_args(args_, 1, ACP_BUFFER_IN, given.data(), 24), 0);
    EXPECT_EQ(acp_set_int_args(args_, 2, 3), 0);
    EXPECT_EQ(acp_set_buffer_args(args_, 3, ACP_BUFFER_OUT, scaled.data(), 24), 0);
    EXPECT_EQ(acp_set_result_args(args_, ACP_RESULT_DOUBLE), 0);
    double sum = 0;
    const acp_handle_t handle =
        acp_call(context_, symbol("scale"), args_, reinterpret_cast<std::uint64_t*>(&sum), running);
    EXPECT_EQ(acp_clear_args(args_), 0) << "the list was copied";
    given = {1, 2, 3};  // the call has not begun yet
    release();
    expect_done(handle);
    EXPECT_EQ(sum, 15.0);
    EXPECT_EQ(scaled, (std::vector<double>{2.5, 5, 7.5}));
}

// A copy to the memory of the function, the function, a copy of what it wrote to another rank's
// memory, and back: one chain of handles, one wait.
TEST_F(OffloadCommandsTest, calls_and_copies_between_all_ranks_run_in_the_order_of_their_handles) {
    const acp_ga_t back = word(20);
    words_[10] = 6;
    std::uint64_t first = 0, second = 0;
    acp_handle_t last = issue_endless();
    last = acp_copy(word(11), word(10), 8, last);
    last = issue_count(11, last, &first);
    last = acp_copy(neighbour_, word(11), 8, last);
    last = acp_copy(back, neighbour_, 8, last);
    last = issue_count(20, last, &second);
    await_endless();
    EXPECT_EQ(words_[11], 0U);
    release();
    expect_done(last);
    EXPECT_EQ(first, 7U);
    EXPECT_EQ(second, 8U);
    EXPECT_EQ(words_[20], 8U);
}

TEST_F(OffloadCommandsTest, a_chain_runs_while_the_program_makes_no_call) {
    constexpr int links = 50;
    acp_handle_t last = issue_endless();
    for (int i = 0; i < links; ++i) {
        last = issue_count(1, last);
        last = acp_copy(word(2), word(1), 8, last);
    }
    last = issue_count(3, last);
    await_endless();
    release();
    while (words_[3] == 0) sched_yield();  // no call of ACP
    EXPECT_EQ(words_[2], std::uint64_t{links});
    expect_done(last);
}

TEST_F(OffloadCommandsTest, calls_of_several_contexts_run_side_by_side_and_are_ordered_by_handles) {
    const acp_context_t other = acp_open_context(process_);
    ASSERT_NE(other, ACP_CONTEXT_NULL);
    const acp_handle_t running = issue_endless();
    std::uint64_t first = 0, second = 0;
    const acp_handle_t here = issue_count(5, running, &first);
    const acp_handle_t there = issue_count(6, ACP_HANDLE_NULL, nullptr, other);
    const acp_handle_t behind = issue_count(5, here, &second, other);
    while (words_[6] == 0) sched_yield();
    EXPECT_EQ(acp_inquire(running), 1);
    EXPECT_EQ(words_[5], 0U);
    release();
    expect_done(behind);
    expect_done(there);
    EXPECT_EQ(first, 1U);
    EXPECT_EQ(second, 2U);
    EXPECT_EQ(acp_close_context(other), 0);
}

TEST_F(OffloadCommandsTest, more_calls_than_the_ring_holds_are_issued_without_waiting) {
    constexpr std::uint64_t count = 5000;
    const acp_handle_t running = issue_endless();
    std::vector<std::uint64_t> results(count);
    acp_handle_t last = running;
    for (std::uint64_t& result : results) last = issue_count(7, ACP_HANDLE_NULL, &result);
    await_endless();
    EXPECT_EQ(words_[7], 0U);
    release();
    expect_done(last);
    for (std::uint64_t i = 0; i < count; ++i) EXPECT_EQ(results[i], i + 1);
}

TEST_F(OffloadCommandsTest, numbered_calls_and_commands_share_a_context) {
    const acp_handle_t running = issue_endless();
    EXPECT_EQ(acp_clear_args(args_), 0);
    EXPECT_EQ(acp_set_address_args(args_, 0, word(8)), 0);
    const std::int64_t numbered = acp_begin_call(context_, symbol("count_up"), args_);
    std::uint64_t by_handle = 0, by_number = 0;
    const acp_handle_t handle = issue_count(8, ACP_HANDLE_NULL, &by_handle);
    release();
    EXPECT_EQ(acp_wait_call(context_, numbered, &by_number), ACP_CALL_RETURNED);
    expect_done(handle);
    expect_done(running);
    EXPECT_EQ(by_number, 1U);
    EXPECT_EQ(by_handle, 2U);
    EXPECT_EQ(acp_sync_context(context_), 0);
}

TEST_F(OffloadCommandsTest,
       a_fault_or_an_exception_fails_the_handle_and_names_function_and_signal) {
    const acp_handle_t thrown =
        acp_call(context_, symbol("throw_something"), ACP_ARGS_NULL, nullptr, ACP_HANDLE_NULL);
    expect_failure(thrown, ACP_ERR_EXCEPTION,
                   {"acp_call", "an exception of C++", "throw_something", "device 0",
                    std::to_string(acp_query_process(process_))});
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_EQ(acp_set_int_args(args_, 0, 16), 0);
    std::uint64_t result = 77;
    const acp_handle_t faulted =
        acp_call(context_, symbol("write_to"), args_, &result, ACP_HANDLE_NULL);
    const acp_handle_t behind = acp_copy(word(1), word(2), 8, faulted);
    expect_failure(faulted, ACP_ERR_EXCEPTION, {"SIGSEGV", "write_to"});
    expect_failure(behind, ACP_ERR_ORDER);
    EXPECT_EQ(result, 77U);
#endif
    expect_done(issue_count(1, ACP_HANDLE_NULL));
}

TEST_F(OffloadCommandsTest, a_call_behind_a_failed_command_does_not_run) {
    const acp_handle_t bad = acp_copy(ACP_GA_NULL, word(0), 8, ACP_HANDLE_NULL);
    const acp_handle_t call = issue_count(9, bad);
    const acp_handle_t behind = acp_copy(word(10), word(9), 8, call);
    expect_failure(bad, ACP_ERR_ADDRESS);
    expect_failure(call, ACP_ERR_ORDER, {"acp_call", "not run"});
    expect_failure(behind, ACP_ERR_ORDER);
    expect_done(issue_count(11, ACP_HANDLE_NULL));
    EXPECT_EQ(words_[9], 0U);
}

TEST_F(OffloadCommandsTest, a_cancelled_call_does_not_run_before_its_order_is_met_or_in_the_ring) {
    const acp_handle_t running = issue_endless();
    const acp_handle_t posted = issue_count(12, ACP_HANDLE_NULL);
    const acp_handle_t ordered = issue_count(13, running);
    const acp_handle_t behind = issue_count(14, ordered);
    await_endless();
    EXPECT_EQ(acp_cancel(running), 1) << "it runs";
    EXPECT_EQ(acp_cancel(posted), 0);
    EXPECT_EQ(acp_cancel(ordered), 0);
    EXPECT_EQ(acp_cancel(ordered), 0);
    release();
    expect_done(running);
    expect_failure(posted, ACP_ERR_CANCELLED, {"acp_call", "acp_cancel", "count_up"});
    expect_failure(ordered, ACP_ERR_CANCELLED);
    expect_failure(behind, ACP_ERR_ORDER);
    EXPECT_EQ(acp_cancel(running), 1) << "it has ended";
    EXPECT_EQ(acp_cancel(ACP_HANDLE_NULL), 1);
    for (int i = 12; i < 15; ++i) EXPECT_EQ(words_[i], 0U) << i;
}

TEST_F(OffloadCommandsTest, every_handle_fails_when_the_process_is_killed) {
    constexpr int count = 100;
    const std::uint64_t count_up = symbol("count_up");
    std::vector<acp_handle_t> handles{issue_endless()};
    for (int i = 0; i < count; ++i) handles.push_back(issue_count(15, ACP_HANDLE_NULL));
    const acp_handle_t waiting = issue_count(15, handles.back());
    await_endless();
    const std::string process = std::to_string(acp_query_process(process_));
    kill_process();
    for (const acp_handle_t handle : handles)
        expect_failure(handle, ACP_ERR_PEER, {"acp_call", process, "killed by signal 9"});
    expect_failure(waiting, ACP_ERR_ORDER);
    EXPECT_EQ(words_[15], 0U);
    expect_failure(acp_call(context_, count_up, args_, nullptr, ACP_HANDLE_NULL), ACP_ERR_PEER,
                   {process});
}

TEST_F(OffloadCommandsTest,
       a_thread_that_sleeps_in_acp_wait_is_woken_by_the_answer_and_by_the_death) {
    const auto cpu_ms = [] {
        timespec used{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
        return used.tv_sec * 1000 + used.tv_nsec / 1'000'000;
    };
    const acp_handle_t running = issue_endless();
    await_endless();
    std::thread releaser([this] {
        usleep(300'000);  // lint: sleep is the subject
        release();
    });
    const auto before = cpu_ms();
    expect_done(running);
    EXPECT_LT(cpu_ms() - before, 150);
    releaser.join();
    words_[60] = words_[61] = 0;
    const acp_handle_t killed = issue_endless();
    await_endless();
    std::thread killer([this] {
        usleep(100'000);  // lint: sleep is the subject
        kill_process();
    });
    expect_failure(killed, ACP_ERR_PEER);
    killer.join();
}

TEST_F(OffloadCommandsTest, a_call_begins_on_a_closed_context_as_a_failure) {
    const acp_context_t other = acp_open_context(process_);
    const acp_handle_t running = issue_endless();
    const acp_handle_t late = issue_count(16, running, nullptr, other);
    EXPECT_EQ(acp_close_context(other), 0);
    release();
    expect_failure(late, ACP_ERR_STALE, {"acp_call", "closed before the call began"});
    expect_failure(issue_count(16, ACP_HANDLE_NULL, nullptr, other), ACP_ERR_STALE, {"acp_call"});
    EXPECT_EQ(words_[16], 0U);
    expect_failure(acp_call(ACP_CONTEXT_NULL, 1, ACP_ARGS_NULL, nullptr, ACP_HANDLE_NULL),
                   ACP_ERR_STALE, {"acp_call"});
}

TEST_F(OffloadCommandsTest, an_epoch_ends_when_its_calls_have_ended) {
    std::uint64_t result = 0;
    (void)issue_count(17, ACP_HANDLE_NULL, &result);
    EXPECT_EQ(acp_reset(rank_), 0) << acp_error_message();
    EXPECT_EQ(result, 1U);
    EXPECT_EQ(acp_free_args(args_), -1) << "of the old epoch";
    args_ = ACP_ARGS_NULL;
    process_ = ACP_PROCESS_NULL;
}

TEST_F(OffloadCommandsTest, threads_issue_calls_and_wait_for_them_at_the_same_time) {
    constexpr std::size_t threads = 4;
    constexpr int rounds = 300;
    const std::uint64_t count_up = symbol("count_up");
    std::array<acp_context_t, threads> contexts{context_, acp_open_context(process_), context_,
                                                acp_open_context(process_)};
    std::vector<std::thread> all;
    for (std::size_t t = 0; t < threads; ++t) {
        all.emplace_back([&, t] {
            const acp_args_t args = acp_create_args();
            EXPECT_EQ(acp_set_address_args(args, 0, word(30 + static_cast<int>(t))), 0);
            acp_handle_t last = ACP_HANDLE_NULL;
            for (int i = 0; i < rounds; ++i) {
                std::uint64_t result = 0;
                last = acp_call(contexts[t], count_up, args, &result, last);
                if (i % 3 != 0) {
                    last = acp_copy(word(40 + static_cast<int>(t)), word(50), 8, last);
                }
                EXPECT_EQ(acp_wait(last, -1), 0) << acp_error_message();
                EXPECT_EQ(result, static_cast<std::uint64_t>(i) + 1);
            }
            EXPECT_EQ(acp_free_args(args), 0);
        });
    }
    for (std::thread& thread : all) thread.join();
}

}  // namespace
}  // namespace acp::test
