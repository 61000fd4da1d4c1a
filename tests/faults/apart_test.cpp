// SPDX-License-Identifier: BSD-3-Clause
// Ranks and nodes that fall silent without dying: a stopped rank delays only itself; a stopped
// agent, and a network that drops everything, are reported as a lost node after ACP_PEER_TIMEOUT.
// Drivers over TEST_NODES nodes.
#include <csignal>
#include <ctime>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include <acp/error.h>

#include "faults/fault_job.hpp"
#include "support/clock.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

constexpr std::int64_t peer_timeout_ns = 2 * second_ns;
// A gateway detects a lost node by a timer, and then notifies its ranks.
constexpr std::int64_t grace_ns = 2 * second_ns;

class ApartTest : public ::testing::Test {
protected:
    void SetUp() override {
        adopt_orphans();
        arm_watchdog(240, "ranks and nodes apart");
        if (nodes_wanted() < 2) {
            GTEST_SKIP() << "needs TEST_NODES=2 or more";
        }
    }

    void TearDown() override { arm_watchdog(0, ""); }

    static FaultOptions options_with(Work work, const std::string& environment) {
        FaultOptions options;
        options.work = work;
        options.environment.push_back(environment);
        return options;
    }

    static void pass(std::int64_t time_ns) {
        const timespec time = {time_ns / second_ns, time_ns % second_ns};
        nanosleep(&time, nullptr);  // lint: sleep is the subject
    }

    // The ranks that are on the node of rank `one`, or all others.
    static std::vector<int> ranks_of(const FaultJob& fault, int one, bool are_near) {
        std::vector<int> ranks;
        for (int rank = 0; rank < fault.options().ranks; ++rank) {
            if (fault.are_together(rank, one) == are_near) {
                ranks.push_back(rank);
            }
        }
        return ranks;
    }
};

// For five seconds every other rank makes steps, which also access the stopped rank's memory.
TEST_F(ApartTest, a_stopped_rank_delays_only_itself) {
    FaultJob fault(options_with(Work::errands, "ACP_ATTACH=auto"));
    fault.await_all(Phase::working);
    const int victim = fault.options().victim;
    ASSERT_EQ(kill(fault.process_of(victim), SIGSTOP), 0);
    await_state(fault.process_of(victim), "T");
    for (int half_second = 0; half_second < 10; ++half_second) {
        std::vector<std::uint64_t> before;
        for (int rank = 0; rank < fault.options().ranks; ++rank) {
            before.push_back(fault.board().ranks[rank].steps.load(std::memory_order_relaxed));
        }
        pass(second_ns / 2);
        for (int rank = 0; rank < fault.options().ranks; ++rank) {
            const std::uint64_t now =
                fault.board().ranks[rank].steps.load(std::memory_order_relaxed);
            if (rank != victim) {
                EXPECT_GT(now, before[static_cast<std::size_t>(rank)] + 1)
                    << "rank " << rank << " stands still in half second " << half_second;
            } else {
                EXPECT_EQ(now, before[static_cast<std::size_t>(rank)]);
            }
        }
    }
    ASSERT_EQ(kill(fault.process_of(victim), SIGCONT), 0);
    const std::uint64_t goal =
        fault.board().ranks[victim].steps.load(std::memory_order_relaxed) + 10;
    while (fault.board().ranks[victim].steps.load(std::memory_order_relaxed) < goal &&
           fault.board().ranks[victim].phase.load(std::memory_order_acquire) == Phase::working) {
        pass(millisecond_ns);
    }
    fault.board().may_end.store(1, std::memory_order_release);
    fault.expect_end(0, now_ns());
    for (int rank = 0; rank < fault.options().ranks; ++rank) {
        const RankNote& note = fault.board().ranks[rank];
        EXPECT_EQ(note.phase.load(std::memory_order_acquire), Phase::finished)
            << "rank " << rank << " failed in " << note.where << ": " << note.message;
    }
}

TEST_F(ApartTest, a_node_whose_agent_is_stopped_is_lost_to_the_others_in_time) {
    for (const Work work : {Work::errands, Work::barriers}) {
        FaultJob fault(options_with(work, "ACP_PEER_TIMEOUT=2"));
        fault.await_all(Phase::working);
        const int victim = fault.options().ranks - 1;
        const pid_t agent = fault.agent_of(victim);
        ASSERT_EQ(kill(agent, SIGSTOP), 0);
        const std::int64_t struck = now_ns();
        fault.expect_cut_off(ranks_of(fault, victim, false), struck + peer_timeout_ns + grace_ns);
        ASSERT_EQ(kill(agent, SIGCONT), 0);
        fault.expect_cut_off(ranks_of(fault, victim, true), now_ns() + peer_timeout_ns + grace_ns);
        fault.expect_end(0, now_ns());
    }
}

// The processes that stop, of the last node.
enum class Stopped {
    rank,  // alone on its node, so that it is its own gateway
    node,  // the agent, which is the gateway, and all ranks
};

// They continue when the other node has given theirs up.
class GivenUpTest : public ApartTest, public ::testing::WithParamInterface<Stopped> {};

TEST_P(GivenUpTest, ranks_that_continue_get_an_error_and_write_nothing_into_memory_used_anew) {
    FaultOptions options = options_with(Work::giving_up, "ACP_PEER_TIMEOUT=1");
    options.nodes = 2;
    options.ranks = GetParam() == Stopped::rank ? 2 : 4;
    options.victim = options.ranks / 2;
    FaultJob fault(options);
    fault.await_all(Phase::working);
    const std::vector<int> late = ranks_of(fault, options.victim, true);
    const std::vector<int> others = ranks_of(fault, options.victim, false);
    std::vector<pid_t> stopped;
    if (GetParam() == Stopped::node) stopped.push_back(fault.agent_of(options.victim));
    for (const int rank : late) {
        fault.await_steps(rank, 3);
        stopped.push_back(fault.process_of(rank));
    }
    for (const pid_t process : stopped) {
        ASSERT_EQ(kill(process, SIGSTOP), 0);
        await_state(process, "T");
    }
    for (const int rank : others) fault.await(rank, Phase::failed);
    fault.await_cycles(1);
    for (const pid_t process : stopped) ASSERT_EQ(kill(process, SIGCONT), 0);
    for (const int rank : late) fault.await(rank, Phase::failed);
    for (int rank = 0; rank < options.ranks; ++rank) {
        const RankNote& note = fault.board().ranks[rank];
        EXPECT_EQ(note.code.load(std::memory_order_relaxed), ACP_ERR_PEER) << note.message;
        const bool is_late = fault.are_together(rank, options.victim);
        const std::string words =
            is_late ? "is on node 0 (" : "which has not answered for the 1 s of ACP_PEER_TIMEOUT";
        EXPECT_NE(std::string(note.message).find(words), std::string::npos) << note.message;
    }
    fault.board().may_end.store(1, std::memory_order_release);
    fault.expect_end(0, now_ns());
}

INSTANTIATE_TEST_SUITE_P(of_a_stopped,
                         GivenUpTest,
                         ::testing::Values(Stopped::rank, Stopped::node),
                         [](const auto& each) {
                             return each.param == Stopped::rank ? "rank" : "node";
                         });

TEST_F(ApartTest, a_network_that_swallows_everything_ends_all_waits_in_time) {
    for (const Work work : {Work::errands, Work::barriers}) {
        FaultOptions options = options_with(work, "ACP_PEER_TIMEOUT=2");
        // Begins 2 s after the first datagram.
        options.environment.emplace_back("ACP_FAULT=blackhole=2s..1000s");
        FaultJob fault(options);
        fault.await_all(Phase::working);
        const std::int64_t deadline = now_ns() + 2 * second_ns + peer_timeout_ns + grace_ns;
        fault.expect_cut_off(ranks_of(fault, 0, true), deadline);
        fault.expect_cut_off(ranks_of(fault, 0, false), deadline);
        fault.expect_end(0, now_ns());
    }
}

}  // namespace
}  // namespace acp::test
