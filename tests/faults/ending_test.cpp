// SPDX-License-Identifier: BSD-3-Clause
// Ranks that end by an error of their own, and ranks that are stopped and continued.
#include <algorithm>
#include <csignal>
#include <ctime>
#include <gtest/gtest.h>
#include <sched.h>
#include <string>
#include <tuple>

#include "faults/fault_job.hpp"
#include "support/clock.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

const char* name_of(Ending ending) {
    constexpr const char* names[] = {"none", "exit_0", "exit_3", "abort", "segfault", "acp_abort"};
    return names[static_cast<std::size_t>(ending)];
}

class EndingTest : public ::testing::TestWithParam<std::tuple<Ending, bool>> {
protected:
    void SetUp() override {
        adopt_orphans();
        arm_watchdog(240, "a rank that ends badly");
    }

    void TearDown() override { arm_watchdog(0, ""); }
};

TEST_P(EndingTest, is_a_named_failure_and_leaves_nothing) {
    const auto [ending, is_continuing] = GetParam();
    FaultOptions options;
    options.work = Work::early_end;
    options.ending = ending;
    options.victim = 2;
    options.is_continuing = is_continuing;
    FaultJob fault(options);
    fault.await_all(Phase::working);
    const std::int64_t struck = now_ns();
    if (is_continuing) {
        std::vector<std::int64_t> delays;
        fault.expect_survivors_notice(struck, delays);
    }
    switch (ending) {
        case Ending::exit_zero:
            fault.expect_end_with_any_failure(struck);
            break;
        case Ending::exit_three:
            fault.expect_end(3, struck);
            break;
        case Ending::segfault:
            fault.expect_end(128 + SIGSEGV, struck);
            break;
        default:
            fault.expect_end(128 + SIGABRT, struck);
    }
    const std::string output = fault.job().output();
    EXPECT_NE(output.find("rank 2"), std::string::npos)
        << "acprun does not name the rank that ended first:\n"
        << output;
    if (ending == Ending::acp_abort) {
        EXPECT_NE(output.find("the test asked for it"), std::string::npos) << output;
    }
}

INSTANTIATE_TEST_SUITE_P(endings,
                         EndingTest,
                         ::testing::Combine(::testing::Values(Ending::exit_zero,
                                                              Ending::exit_three,
                                                              Ending::abort,
                                                              Ending::segfault,
                                                              Ending::acp_abort),
                                            ::testing::Bool()),
                         [](const auto& each) {
                             return std::string(name_of(std::get<0>(each.param))) +
                                    (std::get<1>(each.param) ? "_continue" : "_kill");
                         });

class StopTest : public ::testing::TestWithParam<const char*> {};

// The documented time is two seconds, and no rank of a node is given up after ACP_PEER_TIMEOUT;
// nothing else in this test depends on time.
TEST_P(StopTest, of_a_rank_for_two_seconds_fails_nothing) {
    adopt_orphans();
    for (int trial = 0; trial < trials_wanted(1); ++trial) {
        arm_watchdog(240, "a stopped rank");
        FaultOptions options;
        options.work = Work::traffic;
        options.environment = {GetParam(), "ACP_PEER_TIMEOUT=1"};
        options.seed = static_cast<std::uint64_t>(trial) + 5;
        FaultJob fault(options);
        fault.await_all(Phase::working);
        const pid_t victim = fault.process_of(trial % options.ranks);
        ASSERT_EQ(kill(victim, SIGSTOP), 0);
        await_state(victim, "T");
        const timespec two_seconds = {2, 0};
        nanosleep(&two_seconds, nullptr);  // lint: sleep is the subject
        ASSERT_EQ(kill(victim, SIGCONT), 0);
        const std::uint64_t goal =
            fault.board().ranks[0].steps.load(std::memory_order_acquire) + 50;
        while (fault.board().ranks[0].steps.load(std::memory_order_acquire) < goal &&
               fault.board().ranks[0].phase.load(std::memory_order_acquire) == Phase::working) {
            sched_yield();
        }
        fault.board().may_end.store(1, std::memory_order_release);
        for (int rank = 0; rank < options.ranks; ++rank) {
            fault.await(rank, Phase::failed);
            const RankNote& note = fault.board().ranks[rank];
            EXPECT_EQ(note.phase.load(std::memory_order_acquire), Phase::finished)
                << "rank " << rank << " failed in " << note.where << ": " << note.message;
        }
        fault.expect_end(0, now_ns());
    }
    arm_watchdog(0, "");
}

INSTANTIATE_TEST_SUITE_P(modes,
                         StopTest,
                         ::testing::Values("ACP_ATTACH=auto",
                                           "ACP_ATTACH=off",
                                           "ACP_INTRANODE=udp"),
                         [](const auto& each) {
                             std::string name = each.param;
                             std::ranges::replace(name, '=', '_');
                             return name;
                         });

}  // namespace
}  // namespace acp::test
