// SPDX-License-Identifier: BSD-3-Clause
// The effect of ACP_ON_ERROR on calls in a wrong state, on a failing barrier, and on other
// failures; and the errors of two threads.
#include "life/driver.hpp"

namespace acp::test {
namespace {

using CallsTest = LifeTest;

const std::vector<std::string> fatal = {"ACP_ON_ERROR=fatal"};
const std::vector<std::string> by_default = {"ACP_REPORT=0"};

TEST_F(CallsTest, end_the_process_before_init) {
    const JobResult result = probe({"before_init"}, 0, by_default);
    expect_fine(result);
    expect_said(result, {"acp: acp_rank by process ", " before acp_init: call that first",
                         "ACP_ON_ERROR=return"});
}

TEST_F(CallsTest, end_the_process_after_finalize) {
    const JobResult result = probe({"after_finalize"}, 0, fatal);
    expect_fine(result);
    expect_said(result, {"acp: acp_sync by rank 0 on ", " after acp_finalize"});
}

TEST_F(CallsTest, end_a_forked_child) {
    for (const int ranks : {0, 2}) {
        const JobResult result = probe({"forked"}, ranks, by_default);
        expect_fine(result);
        expect_said(result, {"acp: acp_sync by process ", " in a forked child (process ",
                             "may only exec or _exit"});
    }
}

TEST_F(CallsTest, of_a_barrier_that_a_death_broke_end_the_process) {
    const JobResult result =
        probe({"sync_after_a_death"}, 3, by_default, {"--on-failure=continue"});
    EXPECT_NE(result.code, 0);
    expect_said(result,
                {"acp_sync", "rank 1 (process ", "exited with code 7", "ACP_ON_ERROR=return"});
    EXPECT_EQ(result.output.find("went on"), std::string::npos) << result.output;
}

TEST_F(CallsTest, of_a_barrier_that_a_death_broke_are_returned_where_that_is_wanted) {
    for (const std::string nodes : {"1", "3"}) {
        const JobResult result =
            probe({"sync_after_a_death_returned", nodes}, 3, {errors_are_returned},
                  {"--on-failure=continue", "--nodes", nodes});
        EXPECT_EQ(result.code, 7) << result.output;
        EXPECT_EQ(result.output.find("wrong:"), std::string::npos) << result.output;
    }
}

TEST_F(CallsTest, with_bad_arguments_only_report) {
    expect_fine(probe({"bad_arguments"}, 0, fatal));
    expect_fine(probe({"bad_arguments"}, 2, fatal));
}

TEST_F(CallsTest, of_a_second_thread_are_refused_while_the_first_is_in_the_barrier) {
    expect_fine(probe({"two_threads_in_sync"}, 2));
}

TEST_F(CallsTest, report_a_failure_to_the_thread_of_the_command_though_another_got_it) {
    expect_fine(probe({"failure_of_two_threads"}, 0, fatal));
    expect_fine(probe({"failure_of_two_threads"}, 2, fatal));
}

TEST_F(CallsTest, of_ranks_that_meet_more_often_than_a_rank_that_left_fail) {
    for (const std::vector<std::string>& spread :
         {std::vector<std::string>{}, {"--nodes", "2"}, {"--nodes", "4"}}) {
        const JobResult result =
            probe({"others_meet_once_more"}, 4, {errors_are_returned, "ACP_GATEWAY=agent"}, spread);
        EXPECT_EQ(result.output.find("wrong:"), std::string::npos) << result.output;
    }
}

TEST_F(CallsTest, that_do_not_belong_together_fail_at_once_where_ranks_carry_their_meetings) {
    const JobResult result =
        probe({"one_finalizes_while_others_meet"}, 4, {errors_are_returned}, {"--nodes", "4"});
    EXPECT_EQ(result.output.find("wrong:"), std::string::npos) << result.output;
}

TEST_F(CallsTest, of_a_cancelled_thread_end_first) {
    expect_fine(probe({"cancelled_in_a_call"}, 2));
    expect_fine(probe({"cancelled_in_a_call"}, 2, {}, {"--nodes", "2"}));
    expect_fine(probe({"cancelled_in_a_call"}, 4, {}, {"--nodes", "2"}));
}

}  // namespace
}  // namespace acp::test
