// SPDX-License-Identifier: BSD-3-Clause
// Completion and order in a job of one rank: what acp_wait, acp_complete and acp_inquire say of
// every kind of handle, which failure each of them reports and how often, and which commands a
// failure stops (docs/spec/memory-model.md, ORD-1 to ORD-13).
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <acp.h>

#include "unit/api/one_rank_job.hpp"

namespace acp::api::test {
namespace {

class Handles : public OneRankJob {
protected:
    void SetUp() override {
        OneRankJob::SetUp();
        acp_clear_errno();
    }

    void TearDown() override {
        EXPECT_EQ(acp_wait(ACP_HANDLE_ALL, 0), ACP_OK)
            << "a failure stays: " << acp_error_message();
    }

    [[nodiscard]] acp_handle_t good(acp_handle_t order = ACP_HANDLE_NULL) const {
        return acp_copy(starter_ + 1024, starter_ + 1032, 8, order);
    }

    // A command that fails: its source is `beyond` bytes beyond starter memory.
    [[nodiscard]] acp_handle_t bad(std::uint64_t beyond = 0,
                                   acp_handle_t order = ACP_HANDLE_NULL) const {
        return acp_copy(starter_ + 1024, starter_end_ + beyond, 8, order);
    }

    // A command that fails with another code.
    [[nodiscard]] acp_handle_t crooked(acp_handle_t order = ACP_HANDLE_NULL) const {
        return acp_add8(ACP_GA_NULL, starter_ + 1025, 1, order);
    }
};

TEST_F(Handles, that_stand_for_no_outstanding_command_are_complete) {
    const acp_handle_t done = good();
    for (const acp_handle_t handle :
         {ACP_HANDLE_NULL, ACP_HANDLE_CONT, ACP_HANDLE_ALL, done, done, done - 1, done + 1,
          done + 2, std::numeric_limits<acp_handle_t>::max(),
          std::numeric_limits<acp_handle_t>::min(), acp_handle_t{-3}, acp_handle_t{1}}) {
        SCOPED_TRACE(handle);
        EXPECT_EQ(acp_inquire(handle), 0);
        EXPECT_EQ(acp_complete(handle), 0);
        for (const std::int64_t timeout :
             {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1},
              std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()})
            EXPECT_EQ(acp_wait(handle, timeout), ACP_OK);
        EXPECT_EQ(acp_errno(), ACP_OK) << acp_error_message();
    }
}

TEST_F(Handles, of_failed_commands_are_complete_and_report_their_failure_once) {
    const acp_handle_t failed = bad();
    ASSERT_NE(failed, ACP_HANDLE_NULL);
    EXPECT_EQ(acp_inquire(failed), 0);
    EXPECT_EQ(acp_inquire(ACP_HANDLE_ALL), 0);
    EXPECT_EQ(acp_errno(), ACP_OK) << "a command's failure is the thread's when it is reported";
    EXPECT_EQ(acp_wait(failed, 0), ACP_ERR_ADDRESS);
    EXPECT_EQ(acp_errno(), ACP_ERR_ADDRESS);
    acp_clear_errno();
    EXPECT_EQ(acp_wait(failed, 0), ACP_OK);
    EXPECT_EQ(acp_complete(failed), 0);
    EXPECT_EQ(acp_errno(), ACP_OK);
}

TEST_F(Handles, waits_report_failures_one_by_one_in_the_order_of_issue) {
    (void)bad(8);
    (void)good();
    (void)crooked();
    (void)bad(16);
    for (const int code : {ACP_ERR_ADDRESS, ACP_ERR_ALIGNMENT, ACP_ERR_ADDRESS, ACP_OK, ACP_OK})
        EXPECT_EQ(acp_wait(ACP_HANDLE_ALL, 0), code) << acp_error_message();
}

TEST_F(Handles, a_wait_reports_no_failure_that_was_issued_after_its_handle) {
    const acp_handle_t first = crooked();
    const acp_handle_t second = good();
    const acp_handle_t third = bad();
    EXPECT_EQ(acp_wait(second, 0), ACP_ERR_ALIGNMENT)
        << "that of the first, which is of its prefix";
    EXPECT_EQ(acp_wait(second, 0), ACP_OK);
    EXPECT_EQ(acp_wait(first, 0), ACP_OK);
    EXPECT_EQ(acp_wait(third, 0), ACP_ERR_ADDRESS);
}

TEST_F(Handles, acp_complete_reports_the_first_failure_and_drops_the_others_of_its_prefix) {
    (void)crooked();
    (void)bad();
    const acp_handle_t last = bad();
    const acp_handle_t later = crooked();
    EXPECT_EQ(acp_complete(last), -1);
    EXPECT_EQ(acp_errno(), ACP_ERR_ALIGNMENT) << acp_error_message();
    EXPECT_EQ(acp_complete(last), 0);
    EXPECT_EQ(acp_wait(later, 0), ACP_ERR_ALIGNMENT) << "one that was issued later stays";
    EXPECT_EQ(acp_complete(ACP_HANDLE_ALL), 0);
}

TEST_F(Handles, another_thread_that_waits_for_exactly_a_failed_command_gets_its_failure_too) {
    const acp_handle_t failed = bad();
    EXPECT_EQ(acp_wait(ACP_HANDLE_ALL, 0), ACP_ERR_ADDRESS);
    std::thread([&] {
        EXPECT_EQ(acp_errno(), ACP_OK) << "a failure is the last one of its thread alone";
        EXPECT_EQ(acp_wait(ACP_HANDLE_ALL, 0), ACP_OK);
        EXPECT_EQ(acp_wait(failed, 0), ACP_ERR_ADDRESS) << acp_error_message();
        EXPECT_EQ(acp_errno(), ACP_ERR_ADDRESS);
        EXPECT_EQ(acp_wait(failed, 0), ACP_OK) << "once for each thread";
    }).join();
    EXPECT_EQ(acp_wait(failed, 0), ACP_OK) << "this thread has it already";
}

TEST_F(Handles, commands_that_are_ordered_after_a_failed_one_name_the_handle_of_the_first_failure) {
    const acp_handle_t failed = bad();
    const acp_handle_t second = good(failed);
    const acp_handle_t third = good(second);
    const std::string name = "handle " + std::to_string(failed) + ",";
    EXPECT_EQ(acp_wait(failed, 0), ACP_ERR_ADDRESS);
    for (const acp_handle_t after : {second, third}) {
        EXPECT_EQ(acp_wait(after, 0), ACP_ERR_ORDER);
        EXPECT_NE(std::string(acp_error_message()).find(name), std::string::npos)
            << acp_error_message();
    }
    EXPECT_EQ(words_[128], 128 * 0x0101010101010101U) << "neither has run";
}

// The order of a command that is issued when a failed one stands before it, and whether it runs.
struct OrderRow {
    const char* what;
    bool is_reported;    // the failure, before the command is issued
    bool is_good_last;   // a good command stands between the two
    acp_handle_t order;  // 1: the handle of the failed command; 2: that of the good one
    bool has_run;
};

TEST_F(Handles, a_failure_stops_the_commands_that_the_specification_names_and_no_others) {
    for (const OrderRow& row : std::vector<OrderRow>{
             {"no order", false, false, ACP_HANDLE_NULL, true},
             {"its handle", false, false, 1, false},
             {"its handle, reported", true, false, 1, false},
             {"a handle behind it", false, true, 2, false},
             {"a handle behind it, reported", true, true, 2, true},
             {"all", false, false, ACP_HANDLE_ALL, false},
             {"all, reported", true, false, ACP_HANDLE_ALL, true},
             {"the command before", false, false, ACP_HANDLE_CONT, false},
             {"the command before, reported", true, false, ACP_HANDLE_CONT, true},
             {"never issued", false, false, std::numeric_limits<acp_handle_t>::max() - 1, true},
         }) {
        SCOPED_TRACE(row.what);
        words_[128] = 0;
        const acp_handle_t failed = bad();
        const acp_handle_t between =
            row.is_good_last ? acp_copy(starter_, starter_, 8, ACP_HANDLE_NULL) : 0;
        if (row.is_reported) {
            EXPECT_EQ(acp_wait(failed, 0), ACP_ERR_ADDRESS);
        }
        const acp_handle_t order = row.order == 1 ? failed : row.order == 2 ? between : row.order;
        const acp_handle_t last = good(order);
        if (!row.is_reported) {
            EXPECT_EQ(acp_wait(failed, 0), ACP_ERR_ADDRESS);
        }
        EXPECT_EQ(acp_wait(last, 0), row.has_run ? ACP_OK : ACP_ERR_ORDER) << acp_error_message();
        EXPECT_EQ(words_[128] != 0, row.has_run);
    }
}

TEST_F(Handles, more_failures_than_are_kept_become_one_with_their_number) {
    constexpr int kept = 4096;
    for (const int failures : {2 * kept, 2 * kept + 1, 5 * kept}) {
        SCOPED_TRACE(failures);
        for (int i = 0; i < failures; ++i) ASSERT_NE(bad(), ACP_HANDLE_NULL);
        EXPECT_EQ(acp_wait(ACP_HANDLE_ALL, 0), ACP_ERR_ADDRESS);
        const std::string first = acp_error_message();
        int more = 0;
        while (acp_wait(ACP_HANDLE_ALL, 0) == ACP_ERR_ADDRESS) ++more;
        if (failures <= 2 * kept) {
            EXPECT_EQ(more, failures - 1) << "each is reported by itself";
            continue;
        }
        EXPECT_GE(more, kept) << "the newest are reported one by one";
        EXPECT_LE(more, 2 * kept);
        const std::string number = ": " + std::to_string(failures - more) + " commands failed";
        EXPECT_NE(first.find(number), std::string::npos) << first;
    }
}

TEST_F(Handles, a_blocking_atomic_waits_for_no_earlier_failure) {
    const acp_handle_t failed = bad();
    words_[130] = 7;
    acp_clear_errno();
    EXPECT_EQ(acp_fetch_add8(starter_ + 1040, 5), 7U);
    EXPECT_EQ(acp_errno(), ACP_OK) << acp_error_message();
    EXPECT_EQ(words_[130], 12U);
    EXPECT_EQ(acp_wait(failed, 0), ACP_ERR_ADDRESS) << "it has reported none either";
}

TEST_F(Handles, commands_of_other_threads_are_completed_by_this_one) {
    std::vector<std::thread> threads;
    for (std::uint64_t thread = 0; thread < 4; ++thread) {
        threads.emplace_back([this, thread] {
            for (std::uint64_t i = 0; i < 500; ++i)
                ASSERT_NE(acp_add8(ACP_GA_NULL, starter_ + 8 * (140 + thread), 1, ACP_HANDLE_CONT),
                          ACP_HANDLE_NULL);
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(acp_complete(ACP_HANDLE_ALL), 0) << acp_error_message();
    for (std::uint64_t thread = 0; thread < 4; ++thread)
        EXPECT_EQ(words_[140 + thread], (140 + thread) * 0x0101010101010101U + 500);
}

}  // namespace
}  // namespace acp::api::test
