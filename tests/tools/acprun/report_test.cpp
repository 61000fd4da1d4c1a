// SPDX-License-Identifier: BSD-3-Clause
// Among several failures acprun reports one as the cause of a job's end, and lists the others. One
// thread.
#include "acprun/report.hpp"

#include <csignal>
#include <gtest/gtest.h>

#include "node/death.hpp"

namespace acp::run {
namespace {

constexpr std::uint32_t exit_shift = 8;  // position in the status of waitpid(2)

NodeFailure ended(std::uint32_t node, std::uint32_t rank, std::uint32_t raw) {
    NodeFailure failure;
    failure.node = node;
    failure.rank.rank = rank;
    failure.rank.status = os::WaitStatus(raw);
    failure.rank.state = node::SlotState::joined;
    failure.rank.unjoined_ranks = "none";
    return failure;
}

NodeFailure exited(std::uint32_t node, std::uint32_t rank, std::uint32_t code) {
    return ended(node, rank, code << exit_shift);
}

NodeFailure told_an_error(std::uint32_t node, std::uint32_t rank) {
    NodeFailure failure = ended(node, rank, SIGABRT);
    failure.rank.own_end = node::OwnEnd::by_error;
    return failure;
}

using Failures = std::vector<NodeFailure>;

TEST(AcprunReport, a_rank_that_an_error_ended_is_the_cause_only_if_no_other_failed) {
    EXPECT_EQ(find_cause(Failures{told_an_error(0, 0), told_an_error(1, 1)}), 0U);
    EXPECT_EQ(find_cause(Failures{told_an_error(0, 0), exited(1, 1, 3)}), 1U);
    EXPECT_EQ(find_cause(Failures{told_an_error(0, 0), ended(0, 1, SIGKILL)}), 1U);
}

TEST(AcprunReport, a_signal_or_an_exec_of_another_node_goes_before_an_exit_code) {
    EXPECT_EQ(find_cause(Failures{exited(0, 0, 5), ended(1, 1, SIGSEGV)}), 1U);
    EXPECT_EQ(find_cause(Failures{exited(0, 0, 5), ended(1, 1, node::replaced_status)}), 1U);
    EXPECT_EQ(find_cause(Failures{ended(0, 0, SIGKILL), ended(1, 1, SIGSEGV)}), 0U);
}

TEST(AcprunReport, a_rank_that_joined_and_ended_by_itself_may_have_waited_for_an_absent_one) {
    EXPECT_TRUE(may_follow_absence(told_an_error(0, 0).rank));
    EXPECT_TRUE(may_follow_absence(exited(0, 0, 3).rank));
    EXPECT_FALSE(may_follow_absence(ended(0, 0, SIGKILL).rank));
    NodeFailure plain = exited(0, 0, 3);
    plain.rank.state = node::SlotState::empty;
    EXPECT_FALSE(may_follow_absence(plain.rank)) << "a program without ACP waits for no rank";
}

TEST(AcprunReport, within_a_node_the_first_failure_is_the_cause) {
    EXPECT_EQ(find_cause(Failures{exited(0, 0, 5), ended(0, 1, SIGSEGV)}), 0U);
}

TEST(AcprunReport, the_exit_code_is_that_of_the_end) {
    EXPECT_EQ(code_of(exited(0, 0, 5).rank), 5);
    EXPECT_EQ(code_of(exited(0, 0, 0).rank), 1);
    EXPECT_EQ(code_of(ended(0, 0, SIGKILL).rank), 128 + SIGKILL);
    EXPECT_EQ(code_of(ended(0, 0, node::replaced_status).rank), 1);
}

TEST(AcprunReport, the_others_are_reported_by_kind) {
    const Failures all{exited(0, 4, 5), ended(1, 1, SIGKILL), told_an_error(0, 3), exited(1, 2, 5)};
    const auto lines = describe_others(all, 1);
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0], "also ranks 2,4 exited with code 5 without acp_finalize");
    EXPECT_EQ(lines[1], "also rank 3 gave up because of the error it told on its standard error");
}

TEST(AcprunReport, several_ranks_have_a_verb_in_the_plural) {
    const Failures all{exited(0, 0, 5),
                       ended(0, 1, SIGUSR1),
                       ended(0, 3, SIGUSR1),
                       ended(0, 2, node::replaced_status),
                       ended(0, 4, node::replaced_status),
                       told_an_error(0, 5),
                       told_an_error(0, 6)};
    const auto lines = describe_others(all, 0);
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_EQ(
        lines[0],
        "also ranks 1,3 were killed by signal 10 (SIGUSR1: user signal 1) without acp_finalize");
    EXPECT_EQ(lines[1], "also ranks 2,4 have run another program (exec) without acp_finalize");
    EXPECT_EQ(lines[2],
              "also ranks 5-6 gave up because of the errors they told on their standard error");
}

TEST(AcprunReport, programs_are_named_if_ranks_run_different_ones) {
    Failures all{exited(0, 0, 5), exited(0, 4, 5), exited(1, 1, 5), exited(1, 2, 5)};
    for (NodeFailure& failure : all) failure.rank.program = failure.rank.rank < 2 ? "./a" : "./b";
    all[0].rank.pid = 4711;
    EXPECT_EQ(describe_failure(all[0].rank, "host"),
              "rank 0 (./a, process 4711 on host) exited with code 5 without acp_finalize");
    const auto lines = describe_others(all, 0);
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0], "also ranks 2,4 (./b) exited with code 5 without acp_finalize");
    EXPECT_EQ(lines[1], "also rank 1 (./a) exited with code 5 without acp_finalize");
}

TEST(AcprunReport, a_failure_is_read_from_its_words) {
    const auto failed = failed_rank_from("3 4711 1280 1 none 0 2 1 5");
    ASSERT_TRUE(failed.has_value());
    EXPECT_EQ(failed->rank, 3U);
    EXPECT_EQ(failed->pid, 4711);
    EXPECT_EQ(failed->unmapped_rank_plus_1, 2U);
    EXPECT_TRUE(failed->ran_on_fiber);
    EXPECT_EQ(failed->process, 5U);
    EXPECT_FALSE(failed_rank_from("3 4711 1280 1 none 0 2 1").has_value());
    EXPECT_FALSE(failed_rank_from("3 4711 1280 1 none 0 2 1 x").has_value());
}

TEST(AcprunReport, kinds_are_reported_as_far_as_there_is_room) {
    Failures all{ended(0, 0, SIGKILL)};
    for (std::uint32_t i = 0; i < kinds_max; ++i) all.push_back(exited(0, i + 1, i + 1));
    EXPECT_EQ(describe_others(all, 0).size(), kinds_max);
    all.push_back(exited(0, kinds_max + 1, kinds_max + 1));
    EXPECT_EQ(describe_others(all, 0).size(), kinds_max);
}

}  // namespace
}  // namespace acp::run
