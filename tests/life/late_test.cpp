// SPDX-License-Identifier: BSD-3-Clause
// Calls while threads and processes end, forked children, descriptors, and memory after
// acp_finalize.
#include <cstdio>
#include <string>
#include <vector>

#include "life/driver.hpp"

namespace acp::test {
namespace {

using LateTest = LifeTest;

TEST_F(LateTest, calls_work_in_destructors_and_exit_handlers) {
    expect_fine(probe({"ending"}, 0));
    expect_fine(probe({"ending"}, 2));
}

TEST_F(LateTest, a_job_continues_when_the_main_thread_has_ended) {
    expect_fine(probe({"main_thread_exits"}, 2));
}

TEST_F(LateTest, a_process_ends_with_the_last_thread_of_the_program) {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "ThreadSanitizer has a thread of its own";
#endif
    const std::vector<std::vector<std::string>> places = {{}, {"--nodes=2"}};
    for (const std::vector<std::string>& nodes : places) {
        for (const char* mode : {"ACP_INTRANODE=auto", "ACP_INTRANODE=mailbox"}) {
            std::vector<std::string> launcher = nodes;
            launcher.emplace_back("--timeout=60");
            // The second scenario also has the library's thread for a sleep in poll(2).
            for (const std::vector<std::string>& scenario :
                 {std::vector<std::string>{"all_threads_exit"}, {"all_threads_exit", "poll"}}) {
                const JobResult result = probe(scenario, 2, {errors_are_returned, mode}, launcher);
                EXPECT_EQ(result.code, 1) << result.output;
                EXPECT_EQ(result.output.find("wrong:"), std::string::npos) << result.output;
                expect_said(result, {"rank 1 ", "exited with code 0 without acp_finalize"});
            }
        }
    }
}

TEST_F(LateTest, forked_children_end_in_every_way_and_change_nothing) {
    expect_fine(probe({"children"}, 0));
    expect_fine(probe({"children"}, 2));
    expect_fine(probe({"children", "poll"}, 2));
}

TEST_F(LateTest, a_program_that_a_rank_starts_has_none_of_its_descriptors) {
    expect_fine(probe({"descriptors"}, 0));
    expect_fine(probe({"descriptors"}, 2));
}

TEST_F(LateTest, a_reset_needs_no_descriptor_and_touches_none_of_the_program) {
    expect_fine(probe({"closed"}, 0));
    expect_fine(probe({"closed"}, 2));
    expect_fine(probe({"closed"}, 2, {errors_are_returned, "ACP_INTRANODE=mailbox"}));
    expect_fine(probe({"closed", "poll"}, 2));
}

// For every path to other ranks, since each opens descriptors of its own.
TEST_F(LateTest, descriptors_0_1_and_2_stay_the_program_s) {
    for (const char* mode : {"ACP_INTRANODE=auto", "ACP_INTRANODE=mailbox", "ACP_INTRANODE=udp",
                             "ACP_TRACE=/tmp/life-probe-trace", "ACP_CHECK=1", "ACP_REPORT=1"}) {
        const std::vector<std::string> environment = {errors_are_returned, mode};
        for (const char* sleep : {"", "poll"}) {
            expect_fine(probe({"closed_streams", sleep}, 0, environment));
            expect_fine(probe({"closed_streams", sleep}, 2, environment));
            expect_fine(probe({"closed_streams", sleep}, 2, environment, {"--nodes", "2"}));
            expect_fine(probe({"closed_streams", sleep}, 4, environment, {"--nodes", "2"}));
        }
    }
    for (int rank = 0; rank < 4; ++rank) {
        EXPECT_EQ(std::remove(("/tmp/life-probe-trace." + std::to_string(rank)).c_str()), 0);
    }
}

TEST_F(LateTest, init_asks_the_agent_for_what_was_closed_and_says_so_without_one) {
    expect_fine(probe({"closed_before_init"}, 1));
}

TEST_F(LateTest, nothing_is_written_after_a_finalize_that_a_death_broke) {
    for (const char* mode : {"ACP_INTRANODE=auto", "ACP_INTRANODE=mailbox"}) {
        const JobResult result = probe({"memory_after_finalize"}, 3, {errors_are_returned, mode},
                                       {"--on-failure=continue"});
        EXPECT_EQ(result.code, 7) << result.output;
        EXPECT_EQ(result.output.find("wrong:"), std::string::npos) << result.output;
    }
}

}  // namespace
}  // namespace acp::test
