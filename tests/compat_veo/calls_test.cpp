// SPDX-License-Identifier: BSD-3-Clause
// Arguments, calls and the order of requests by acp/compat_veo.h: results and failures.
#include <atomic>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <sched.h>
#include <string>
#include <thread>
#include <vector>

#include "compat_veo/veo_program.hpp"

namespace acp::test {
namespace {

TEST_F(CompatVeo, passes_integers_of_all_widths_and_signs) {
    EXPECT_EQ(veo_args_set_i8(args_, 0, -1), 0);
    EXPECT_EQ(veo_args_set_u8(args_, 1, 255), 0);
    EXPECT_EQ(veo_args_set_i16(args_, 2, -2), 0);
    EXPECT_EQ(veo_args_set_u16(args_, 3, 65'535), 0);
    EXPECT_EQ(veo_args_set_i32(args_, 4, -3), 0);
    EXPECT_EQ(veo_args_set_u32(args_, 5, 4'294'967'295U), 0);
    EXPECT_EQ(veo_args_set_i64(args_, 6, -4), 0);
    EXPECT_EQ(veo_args_set_u64(args_, 7, 1ULL << 63U), 0);
    std::uint64_t count = 0;
    EXPECT_EQ(run("count_expected_integers", &count), VEO_COMMAND_OK);
    EXPECT_EQ(count, 8U);
    for (const int index : {-1, VEO_MAX_NUM_ARGS}) {
        errno = 0;
        EXPECT_EQ(veo_args_set_i64(args_, index, 0), -1);
        EXPECT_EQ(errno, EINVAL);
    }
    EXPECT_EQ(veo_args_set_u64(nullptr, 0, 0), -1);
}

TEST_F(CompatVeo, passes_doubles_and_floats_and_returns_them_where_that_is_said) {
    EXPECT_EQ(veo_args_set_float(args_, 0, 0.5F), 0);
    EXPECT_EQ(veo_args_set_double(args_, 1, 2.25), 0);
    EXPECT_EQ(acp_veo_args_set_result(args_, ACP_RESULT_DOUBLE), 0);
    std::uint64_t sum = 0;
    EXPECT_EQ(run("sum_of_reals", &sum), VEO_COMMAND_OK);
    EXPECT_EQ(std::bit_cast<double>(sum), 2.75);
    EXPECT_EQ(acp_veo_args_set_result(args_, 9), -1);
    EXPECT_EQ(acp_veo_args_set_result(nullptr, ACP_RESULT_INT), -1);
}

TEST_F(CompatVeo, copies_stack_buffers_by_their_intents) {
    std::vector<double> values{1, 2, 3}, scaled(3);
    EXPECT_EQ(veo_args_set_double(args_, 0, 2.5), 0);
    EXPECT_EQ(
        veo_args_set_stack(args_, VEO_INTENT_IN, 1, reinterpret_cast<char*>(values.data()), 24), 0);
    EXPECT_EQ(veo_args_set_i64(args_, 2, 3), 0);
    EXPECT_EQ(
        veo_args_set_stack(args_, VEO_INTENT_OUT, 3, reinterpret_cast<char*>(scaled.data()), 24),
        0);
    EXPECT_EQ(run("scale"), VEO_COMMAND_OK);
    EXPECT_EQ(scaled, (std::vector<double>{2.5, 5, 7.5}));
    veo_args_clear(args_);
    std::uint64_t word = 6;
    EXPECT_EQ(veo_args_set_stack(args_, VEO_INTENT_INOUT, 0, reinterpret_cast<char*>(&word), 8), 0);
    EXPECT_EQ(run("count_up"), VEO_COMMAND_OK);
    EXPECT_EQ(word, 7U);
    EXPECT_EQ(veo_args_set_stack(args_, VEO_INTENT_IN, 0, nullptr, 8), -1);
    EXPECT_EQ(veo_args_set_stack(args_, static_cast<enum veo_args_intent>(3), 0,
                                 reinterpret_cast<char*>(&word), 8),
              -1);
    errno = 0;
    EXPECT_EQ(veo_args_set_stack(args_, VEO_INTENT_IN, 0, reinterpret_cast<char*>(&word),
                                 std::size_t{64} << 20U),
              -1);
    EXPECT_EQ(errno, EAGAIN);
}

TEST_F(CompatVeo, keeps_requests_of_a_context_in_order) {
    auto* const words = make_words();
    const std::uint64_t running = begin_endless_call(words);
    const auto address = reinterpret_cast<std::uint64_t>(words + 2);
    std::uint64_t first = 40, then = 0, after = 0;
    const std::uint64_t written = veo_async_write_mem(context_, address, &first, 8);
    EXPECT_EQ(veo_args_set_u64(args_, 0, address), 0);
    const std::uint64_t counted = call("count_up");
    veo_args_clear(args_);
    const std::uint64_t read = veo_async_read_mem(context_, &then, address, 8);

    struct Argument {
        std::uint64_t* seen;
        std::uint64_t* copied;
    } argument{&after, &then};

    const std::uint64_t host = veo_call_async_vh(
        context_,
        [](void* at) -> std::uint64_t {
            const auto& both = *static_cast<Argument*>(at);
            *both.seen = *both.copied;
            return 99;
        },
        &argument);
    const std::uint64_t counted_again = [&] {
        EXPECT_EQ(veo_args_set_u64(args_, 0, address), 0);
        return call("count_up");
    }();
    for (const std::uint64_t request : {written, counted, read, host, counted_again}) {
        EXPECT_NE(request, VEO_REQUEST_ID_INVALID);
        EXPECT_EQ(veo_call_peek_result(context_, request, nullptr), VEO_COMMAND_UNFINISHED);
    }
    EXPECT_EQ(words[2], 0U);
    words[1] = 3;
    std::uint64_t result = 0;
    EXPECT_EQ(veo_call_wait_result(context_, counted_again, &result), VEO_COMMAND_OK);
    EXPECT_EQ(result, 42U);
    EXPECT_EQ(veo_call_peek_result(context_, host, &result), VEO_COMMAND_OK);
    EXPECT_EQ(result, 99U);
    EXPECT_EQ(after, 41U);
    EXPECT_EQ(veo_call_wait_result(context_, counted, &result), VEO_COMMAND_OK);
    EXPECT_EQ(result, 41U);
    EXPECT_EQ(veo_call_wait_result(context_, running, &result), VEO_COMMAND_OK);
    EXPECT_EQ(result, 3U);
    EXPECT_EQ(veo_call_wait_result(context_, written, nullptr), VEO_COMMAND_OK);
    EXPECT_EQ(veo_call_wait_result(context_, read, nullptr), VEO_COMMAND_OK);
    EXPECT_EQ(veo_call_wait_result(context_, read, nullptr), VEO_COMMAND_ERROR) << "taken";
    EXPECT_EQ(veo_call_peek_result(context_, read, nullptr), VEO_COMMAND_ERROR);
    EXPECT_EQ(veo_call_peek_result(context_, 1'000'000, nullptr), VEO_COMMAND_ERROR);
    EXPECT_EQ(veo_call_wait_result(context_, VEO_REQUEST_ID_INVALID, nullptr), VEO_COMMAND_ERROR);
    EXPECT_EQ(veo_call_wait_result(nullptr, 1, nullptr), VEO_COMMAND_ERROR);
    EXPECT_EQ(veo_call_peek_result(nullptr, 1, nullptr), VEO_COMMAND_ERROR);
}

TEST_F(CompatVeo, waits_with_synchronous_calls_for_the_requests_of_the_main_context) {
    auto* const words = make_words();
    const std::uint64_t running = begin_endless_call(words);
    std::thread setter([&] {
        for (int i = 0; i < 100; ++i) sched_yield();
        words[2] = 1;
        words[1] = 1;
    });
    std::uint64_t seen = 0;
    EXPECT_EQ(veo_read_mem(process_, &seen, reinterpret_cast<std::uint64_t>(words + 2), 8), 0);
    EXPECT_EQ(seen, 1U);
    setter.join();
    EXPECT_EQ(veo_call_peek_result(context_, running, nullptr), VEO_COMMAND_OK);
}

TEST_F(CompatVeo, answers_faults_and_exceptions_and_lives_on) {
    EXPECT_EQ(run("throw_something"), VEO_COMMAND_EXCEPTION);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_EQ(veo_args_set_i64(args_, 0, 16), 0);
    std::uint64_t signal = 0;
    EXPECT_EQ(run("write_to", &signal), VEO_COMMAND_EXCEPTION);
    EXPECT_EQ(signal, static_cast<std::uint64_t>(SIGSEGV));
    EXPECT_EQ(veo_call_sync(process_, symbol("write_to"), args_, nullptr), -1);
#endif
    EXPECT_EQ(run("own_process", &library_), VEO_COMMAND_OK);
}

TEST_F(CompatVeo, fails_requests_of_a_process_that_has_ended) {
    void* memory = nullptr;
    EXPECT_EQ(veo_alloc_hmem(process_, &memory, 8), 0);
    EXPECT_EQ(veo_args_set_i64(args_, 0, 5), 0);
    const std::uint64_t ending = call("end_process");
    const std::uint64_t behind = veo_call_async(context_, 16, args_);
    EXPECT_EQ(veo_call_wait_result(context_, ending, nullptr), VEO_COMMAND_ERROR);
    EXPECT_EQ(veo_call_wait_result(context_, behind, nullptr), VEO_COMMAND_ERROR);
    EXPECT_EQ(veo_get_context_state(context_), VEO_STATE_EXIT);
    std::uint64_t word = 0;
    errno = 0;
    EXPECT_EQ(veo_read_mem(process_, &word, reinterpret_cast<std::uint64_t>(memory), 8), -1);
    EXPECT_EQ(errno, ESRCH);
    EXPECT_EQ(veo_alloc_mem(process_, &word, 8), -1);
    EXPECT_EQ(veo_context_open(process_), nullptr);
    EXPECT_EQ(veo_load_library(process_, ACP_TEST_DEVICE_FUNCTIONS), 0U);
    EXPECT_EQ(veo_free_hmem(memory), 0);
}

TEST_F(CompatVeo, needs_no_context_for_synchronous_calls) {
    struct veo_proc_handle* const other = veo_proc_create(0);
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(veo_num_contexts(other), 0);
    std::uint64_t address = 0, word = 9, back = 0;
    EXPECT_EQ(veo_alloc_mem(other, &address, 8), 0);
    EXPECT_EQ(veo_write_mem(other, address, &word, 8), 0);
    EXPECT_EQ(veo_read_mem(other, &back, address, 8), 0);
    EXPECT_EQ(back, 9U);
    EXPECT_EQ(veo_args_set_i64(args_, 0, -3), 0);
    EXPECT_EQ(veo_call_sync(other, veo_get_sym(other, 0, "labs"), args_, &back), 0);
    EXPECT_EQ(back, 3U);
    EXPECT_EQ(veo_free_mem(other, address), 0);
    EXPECT_EQ(veo_proc_destroy(other), 0);
}

TEST_F(CompatVeo, keeps_more_requests_than_a_ring_has_slots) {
    constexpr std::uint64_t requests = 5000;
    auto* const words = make_words();
    std::vector<std::uint64_t> numbers;
    EXPECT_EQ(veo_args_set_hmem(args_, 0, words), 0);
    const std::uint64_t function = symbol("count_up");
    for (std::uint64_t i = 0; i < requests; ++i)
        numbers.push_back(veo_call_async(context_, function, args_));
    for (std::uint64_t i = requests; i-- > 0;) {
        std::uint64_t result = 0;
        ASSERT_EQ(veo_call_wait_result(context_, numbers[i], &result), VEO_COMMAND_OK);
        ASSERT_EQ(result, i + 1);
    }
}

TEST_F(CompatVeo, copies_the_arguments_of_calls_that_wait_for_a_copy) {
    auto* const words = make_words();
    const std::uint64_t running = begin_endless_call(words);
    std::uint64_t word = 0;
    const std::uint64_t read =
        veo_async_read_mem(context_, &word, reinterpret_cast<std::uint64_t>(words), 8);
    std::vector<std::uint64_t> sums;
    for (int i = 0; i < 200; ++i) {
        struct veo_args* const args = veo_args_alloc();
        EXPECT_EQ(veo_args_set_i64(args, 0, i), 0);
        EXPECT_EQ(veo_args_set_i64(args, 1, 1), 0);
        sums.push_back(veo_call_async(context_, symbol("add"), args));
        veo_args_free(args);
    }
    words[1] = 1;
    for (std::uint64_t i = 0; i < sums.size(); ++i) {
        std::uint64_t sum = 0;
        EXPECT_EQ(veo_call_wait_result(context_, sums[i], &sum), VEO_COMMAND_OK);
        EXPECT_EQ(sum, i + 1);
    }
    EXPECT_EQ(veo_call_wait_result(context_, read, nullptr), VEO_COMMAND_OK);
    EXPECT_EQ(veo_call_wait_result(context_, running, nullptr), VEO_COMMAND_OK);
}

TEST_F(CompatVeo, refuses_a_host_function_that_waits_for_its_own_context) {
    struct Argument {
        struct veo_thr_ctxt* context;
        struct veo_proc_handle* process;
        std::uint64_t behind;
        int waited;
        int written;
    } argument{context_, process_, 0, -1, 0};

    const std::uint64_t host = veo_call_async_vh(
        context_,
        [](void* at) -> std::uint64_t {
            auto& all = *static_cast<Argument*>(at);
            all.behind = veo_call_async_vh(
                all.context, [](void*) -> std::uint64_t { return 8; }, nullptr);
            all.waited = veo_call_wait_result(all.context, all.behind, nullptr);
            std::uint64_t word = 0;
            all.written =
                veo_write_mem(all.process, reinterpret_cast<std::uint64_t>(&word), &word, 8);
            return 7;
        },
        &argument);
    std::uint64_t result = 0;
    EXPECT_EQ(veo_call_wait_result(context_, host, &result), VEO_COMMAND_OK);
    EXPECT_EQ(result, 7U);
    EXPECT_EQ(argument.waited, VEO_COMMAND_ERROR);
    EXPECT_EQ(argument.written, -1);
    EXPECT_EQ(veo_call_wait_result(context_, argument.behind, &result), VEO_COMMAND_OK);
    EXPECT_EQ(result, 8U);
    // The refused write is of a wild address: it must not run later.
    veo_context_sync(context_);
}

TEST_F(CompatVeo, takes_requests_of_several_threads) {
    constexpr int threads = 4, each = 500;
    std::atomic<int> right{0};
    std::vector<std::thread> all;
    const std::uint64_t add = symbol("add");
    for (int t = 0; t < threads; ++t) {
        all.emplace_back([&, t] {
            struct veo_args* const args = veo_args_alloc();
            for (int i = 0; i < each; ++i) {
                (void)veo_args_set_i64(args, 0, t);
                (void)veo_args_set_i64(args, 1, i);
                std::uint64_t sum = 0;
                const std::uint64_t request = veo_call_async(context_, add, args);
                const bool is_ok = veo_call_wait_result(context_, request, &sum) == VEO_COMMAND_OK;
                if (is_ok && sum == static_cast<std::uint64_t>(t + i)) ++right;
            }
            veo_args_free(args);
        });
    }
    for (std::thread& one : all) one.join();
    EXPECT_EQ(right, threads * each);
}

TEST_F(CompatVeo, lets_one_thread_add_requests_while_it_blocks_the_others) {
    std::atomic<bool> is_added{false};
    veo_req_block_begin(context_);
    veo_req_block_begin(context_);
    const std::uint64_t function = symbol("own_process");
    std::thread other([&] {
        const std::uint64_t request = veo_call_async(context_, function, nullptr);
        is_added = true;
        EXPECT_EQ(veo_call_wait_result(context_, request, nullptr), VEO_COMMAND_OK);
    });
    std::uint64_t last = 0;
    for (int i = 0; i < 50; ++i) {
        last = veo_call_async(context_, function, nullptr);
        EXPECT_EQ(last, static_cast<std::uint64_t>(i + 1)) << "no other request in between";
        sched_yield();
    }
    veo_req_block_end(context_);
    EXPECT_FALSE(is_added);
    veo_req_block_end(context_);
    other.join();
    veo_req_block_begin(nullptr);
    veo_req_block_end(nullptr);
}

}  // namespace
}  // namespace acp::test
