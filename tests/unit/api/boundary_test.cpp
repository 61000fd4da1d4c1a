// SPDX-License-Identifier: BSD-3-Clause
// The boundary of every call: what becomes of a result, a failure and an exception of its body; and
// which calls are refused after acp_finalize, in a forked child and while a thread is in a meeting of
// all ranks.
#include "api/boundary.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "api/gather.hpp"
#include "api/shared_range.hpp"
#include "api/world_call.hpp"
#include "os/process.hpp"

#include <acp.h>

#include "unit/api/called.hpp"
#include "unit/api/one_rank_job.hpp"

namespace acp::api::test {
namespace {

using base::Code;
using base::Result;
using base::Status;

class Boundary : public OneRankJob {
protected:
    template <typename T, typename Body>
    static T run_body(T failed, const Body& body) {
        acp_clear_errno();
        return run<Gravity::failure_ends>("acp_call", failed, body);
    }
};

TEST_F(Boundary, returns_what_the_body_returns_and_keeps_no_failure) {
    EXPECT_EQ(run_body(-1, [] { return 7; }), 7);
    EXPECT_EQ(run_body(-1, []() -> Result<int> { return 8; }), 8);
    EXPECT_TRUE(run_body(false, [] { return Status(); }));
    EXPECT_EQ(acp_errno(), ACP_OK) << acp_error_message();
}

TEST_F(Boundary, keeps_each_failure_and_exception_with_call_rank_and_host) {
    const auto expect_kept = [](int code, const std::string& end) {
        const std::string message = acp_error_message();
        EXPECT_EQ(acp_errno(), code) << message;
        EXPECT_TRUE(message.starts_with("acp_call")) << message;
        EXPECT_TRUE(message.find(end) != std::string::npos) << message;
    };
    for (int code = ACP_ERR_ARGUMENT; code <= ACP_ERR_EXCEPTION; ++code) {
        EXPECT_FALSE(run_body(false, [&] { return Status(static_cast<Code>(code), "why"); }));
        expect_kept(code, " by rank 0 on ");
        EXPECT_EQ(
            run_body(-5, [&]() -> Result<int> { return Status(static_cast<Code>(code), "why"); }),
            -5);
        expect_kept(code, ": why");
    }
    EXPECT_EQ(run_body(-1, []() -> int { throw std::bad_alloc(); }), -1);
    expect_kept(ACP_ERR_MEMORY, "no memory for the library's own records");
    EXPECT_EQ(run_body(-1, []() -> int { throw std::runtime_error("odd"); }), -1);
    expect_kept(ACP_ERR_SYSTEM, "odd");
}

TEST_F(Boundary, names_the_call_once_whatever_the_message_begins_with) {
    const std::vector<std::pair<std::string, std::string>> rows{
        {"why", "acp_call by rank 0 on HOST: why"},
        {"acp_call: why", "acp_call by rank 0 on HOST: why"},
        {"acp_other by rank 0 on HOST: why", "acp_other by rank 0 on HOST: why"},
        {"a read by rank 0 on HOST: why",
         "acp_call by rank 0 on HOST: a read by rank 0 on HOST: why"},
        {"acp_caller: why", "acp_call by rank 0 on HOST: acp_caller: why"},
        {"", "acp_call by rank 0 on HOST: "},
    };
    const auto with_host = [](std::string text) {
        for (std::size_t at = text.find("HOST"); at != std::string::npos; at = text.find("HOST"))
            text.replace(at, 4, os::host_name());
        return text;
    };
    for (const auto& [given, kept] : rows) {
        EXPECT_FALSE(run_body(false, [&] { return Status(Code::system, with_host(given)); }));
        EXPECT_EQ(acp_error_message(), with_host(kept));
    }
}

// Calls that cannot be made: each fails with `code`, and its message has `reason`.
void expect_none_possible(int code, const char* reason) {
    std::uint64_t word = 0;
    acp_heap_stat_t stat{};
    const acp_lock_t lock{8};
    std::vector<RefusedCall> rows{
        ACP_REFUSED(acp_rank, code, reason),
        ACP_REFUSED(acp_procs, code, reason),
        ACP_REFUSED(acp_colors, code, reason),
        ACP_REFUSED(acp_starter_size, code, reason),
        ACP_REFUSED(acp_sync, code, reason),
        ACP_REFUSED(acp_reset, code, reason, 0),
        ACP_REFUSED(acp_finalize, code, reason),
        ACP_REFUSED_BY_0(acp_query_starter_ga, code, reason, 0),
        ACP_REFUSED_BY_0(acp_register_memory, code, reason, &word, 8, 0),
        ACP_REFUSED(acp_unregister_memory, code, reason, 8),
        ACP_REFUSED_BY_0(acp_query_ga, code, reason, 8, &word),
        ACP_REFUSED(acp_query_address, code, reason, 8),
        ACP_REFUSED(acp_query_rank, code, reason, 8),
        ACP_REFUSED(acp_query_color, code, reason, 8),
        ACP_REFUSED_BY_0(acp_copy, code, reason, 8, 16, 8, ACP_HANDLE_NULL),
        ACP_REFUSED_BY_0(acp_put, code, reason, 8, &word, 8, ACP_HANDLE_NULL),
        ACP_REFUSED_BY_0(acp_get, code, reason, &word, 8, 8, ACP_HANDLE_NULL),
        ACP_REFUSED_BY_0(acp_put_copied, code, reason, 8, &word, 8, ACP_HANDLE_NULL),
        ACP_REFUSED_BY_0(acp_put_signal, code, reason, 8, &word, 8, 16, 1, ACP_HANDLE_NULL),
        ACP_REFUSED_BY_0(acp_copy_v, code, reason, nullptr, 0, ACP_HANDLE_NULL),
        ACP_REFUSED_BY_0(acp_fetch_add8, code, reason, 8, 1),
        ACP_REFUSED_BY_0(acp_fetch_min4, code, reason, 8, 1),
        ACP_REFUSED(acp_complete, code, reason, 8),
        ACP_REFUSED(acp_inquire, code, reason, 8),
        ACP_REFUSED(acp_wait_source, code, reason, 8),
        ACP_REFUSED_BY_0(acp_malloc, code, reason, 8, 0),
        ACP_REFUSED_BY_0(acp_calloc, code, reason, 8, 8, 0),
        ACP_REFUSED_BY_0(acp_realloc, code, reason, 8, 8),
        ACP_REFUSED(acp_free, code, reason, 8),
        ACP_REFUSED(acp_usable_size, code, reason, 8),
        ACP_REFUSED(acp_heap_stat, code, reason, 0, &stat),
        ACP_REFUSED(acp_heap_check, code, reason, 0),
        ACP_REFUSED(acp_create_lock, code, reason, 0),
        ACP_REFUSED(acp_lock, code, reason, lock),
        ACP_REFUSED(acp_try_lock, code, reason, lock),
        ACP_REFUSED(acp_unlock, code, reason, lock),
        ACP_REFUSED(acp_free_lock, code, reason, lock),
    };
    rows.push_back({"acp_wait", code, reason, [code] { return acp_wait(8, 0) == code; }});
    rows.push_back({"acp_wait_word", code, reason,
                    [&] { return acp_wait_word(&word, 8, ACP_WORD_EQUAL, 0, 0) == code; }});
    rows.push_back({"acp_path", code, reason, [] { return acp_path(8, 8).owner_must_help == -1; }});
    for (const RefusedCall& row : rows) expect_refused(row);
    EXPECT_EQ(acp_initialized(), 0);
    EXPECT_EQ(word, 0U);
}

TEST(States, no_call_may_be_made_after_acp_finalize_and_all_again_after_acp_init) {
    ASSERT_EQ(::setenv("ACP_ON_ERROR", "return", 1), 0);
    for (int turn = 0; turn < 2; ++turn) {
        ASSERT_EQ(acp_init(nullptr, nullptr), 0) << acp_error_message();
        EXPECT_EQ(acp_initialized(), 1);
        auto* const first = static_cast<std::uint64_t*>(acp_query_address(acp_query_starter_ga(0)));
        ASSERT_NE(first, nullptr) << acp_error_message();
        EXPECT_EQ(*first, 0U) << "starter memory is zero in each epoch";
        *first = 5;
        ASSERT_EQ(acp_finalize(), 0) << acp_error_message();
        expect_none_possible(ACP_ERR_STATE, "after acp_finalize");
    }
}

TEST_F(Boundary, a_forked_child_may_make_no_call_and_its_parent_every_one) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        expect_none_possible(ACP_ERR_FORKED, "forked");
        ::_exit(HasFailure() ? 1 : 0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "the child has printed which call was not refused";
    EXPECT_EQ(acp_complete(acp_copy(starter_, starter_, 8, ACP_HANDLE_NULL)), 0);
    expect_unchanged();
}

TEST_F(Boundary, one_thread_at_a_time_is_in_a_meeting_and_the_others_make_all_other_calls) {
    ASSERT_TRUE(library().life.begin_meeting());
    {
        const MeetingCall meeting;
        for (const RefusedCall& row : {
                 ACP_REFUSED(acp_sync, ACP_ERR_STATE, "acp_sync is under way"),
                 ACP_REFUSED(acp_reset, ACP_ERR_STATE, "acp_sync is under way", 0),
                 ACP_REFUSED(acp_finalize, ACP_ERR_STATE, "acp_sync is under way"),
                 ACP_REFUSED(acp_init, ACP_ERR_STATE, "joined already", nullptr, nullptr),
             })
            expect_refused(row);
        EXPECT_EQ(acp_rank(), 0);
        EXPECT_EQ(acp_complete(acp_copy(starter_, starter_, 8, ACP_HANDLE_NULL)), 0);
    }
    EXPECT_EQ(acp_sync(), 0) << acp_error_message();
    EXPECT_EQ(acp_sync(), 0) << "the end of the first has let the second begin";
}

TEST_F(Boundary, ranks_that_are_no_permutation_change_nothing_by_a_reset) {
    for (const int rank : {1, -1, 1 << 30})
        expect_refused(ACP_REFUSED(acp_reset, ACP_ERR_ARGUMENT, "rank", rank));
    expect_unchanged();
    EXPECT_EQ(acp_rank(), 0);
}

TEST_F(Boundary, words_that_one_rank_gathers_are_its_own_and_a_failure_is_its_own_message) {
    const std::vector<std::uint64_t> wanted{1, ~std::uint64_t{0}, std::uint64_t{1} << 32};
    const GatheringCall call{"acp_call", WorldCall::register_all, 3};
    std::vector<std::uint64_t> all;
    const auto copy_wanted = [&](std::span<std::uint64_t> own) {
        std::copy(wanted.begin(), wanted.end(), own.begin());
        return Status();
    };
    EXPECT_TRUE(gather_words(call, copy_wanted, all).is_ok());
    EXPECT_EQ(all, wanted);
    all.clear();
    const auto failed = gather_words(
        call, [](auto) { return Status(Code::limit, "none"); }, all);
    EXPECT_EQ(failed.code(), Code::limit);
    EXPECT_NE(std::string(failed.message()).find("none"), std::string::npos);
    all.clear();
    const auto short_of_memory = gather_words(
        call, [](auto) -> Status { throw std::bad_alloc(); }, all);
    EXPECT_EQ(short_of_memory.code(), Code::memory);
}

TEST(SharedRange, refuses_a_buffer_that_has_a_byte_in_it) {
    constexpr std::uintptr_t begin = 0x10000;
    constexpr std::uintptr_t bytes = 0x1000;

    struct Row {
        std::uintptr_t first;
        std::uint64_t bytes;
        bool is_refused;
    };

    const std::vector<Row> rows{
        {begin, 1, true},
        {begin, 0, false},
        {begin - 1, 1, false},
        {begin - 1, 2, true},
        {begin - 8, 8, false},
        {begin - 8, 9, true},
        {begin + bytes - 1, 1, true},
        {begin + bytes, 1, false},
        {begin - 8, bytes + 16, true},
        {begin + 8, 8, true},
        {8, begin - 8, false},
        {8, begin - 7, true},
    };
    for (const bool is_there : {true, false}) {
        shared_range.begin.store(begin);
        shared_range.bytes.store(is_there ? bytes : 0);
        for (const Row& row : rows) {
            // NOLINTNEXTLINE(performance-no-int-to-ptr): no memory is touched
            const Status status =
                refuse_shared("buf", reinterpret_cast<const void*>(row.first), row.bytes);
            EXPECT_EQ(status.is_ok(), !(is_there && row.is_refused))
                << row.first << ", " << row.bytes;
            if (!status.is_ok()) {
                EXPECT_EQ(status.code(), Code::unsupported);
                EXPECT_TRUE(std::string(status.message()).starts_with("buf lies in shared pages"));
            }
        }
    }
    shared_range.begin.store(0);
    end_shared_range();
}

TEST(WorldCalls, have_names_and_the_last_calls_of_an_epoch_are_known) {
    const std::vector<std::string_view> names{"no collective call", "acp_sync",  "acp_init",
                                              "acp_finalize",       "acp_reset", "acp_register_all",
                                              "acp_create_ws"};
    for (std::uint32_t i = 0; i < names.size(); ++i) {
        EXPECT_EQ(name_of_world_call(i), names[i]);
        const auto call = static_cast<WorldCall>(i);
        EXPECT_EQ(does_end_epoch(call), call == WorldCall::finalize || call == WorldCall::reset);
    }
    for (const std::uint32_t number : {7U, 8U, ~0U})
        EXPECT_EQ(name_of_world_call(number), "an unknown call");
}

}  // namespace
}  // namespace acp::api::test
