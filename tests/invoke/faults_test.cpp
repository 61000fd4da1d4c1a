// SPDX-License-Identifier: BSD-3-Clause
// SIGKILL during numbered operations: of a rank that is its node's gateway, of a rank beside
// others, of an agent. A driver: the ranks are invoke_victim. TEST_TRIALS sets the number of
// trials.
#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <sched.h>
#include <string>

#include "invoke/fault_board.hpp"
#include "support/board.hpp"
#include "support/clock.hpp"
#include "support/job.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace acp::invoke_test {
namespace {

using test::Board;
using test::Job;
using test::JobOptions;

constexpr std::int64_t patience_ns = 60 * test::second_ns;

int trials_wanted() {
    const char* given = std::getenv("TEST_TRIALS");
    return given != nullptr ? std::atoi(given) : 3;
}

struct Shape {
    const char* name;
    int ranks;
    int nodes;
    int victim;
    bool is_agents;  // the test library's agents run gateways; else the ranks do
};

class InvokeFaults : public testing::TestWithParam<Shape> {
protected:
    void SetUp() override {
        test::adopt_orphans();
        test::arm_watchdog(300, "a fault of an invoke");
    }

    void TearDown() override { test::arm_watchdog(0, ""); }

    static Board<FaultBoard> make_board() {
        auto board = Board<FaultBoard>::create();
        board->victim = GetParam().victim;
        board->nodes = GetParam().nodes;
        return board;
    }

    static JobOptions options_of(const Board<FaultBoard>& board) {
        const std::string folder = GetParam().is_agents ? ACP_TEST_AGENT_DIR : ACP_TEST_BIN_DIR;
        JobOptions options;
        options.is_launched = false;  // the program is that folder's launcher
        options.program = {folder + "/acprun",
                           "-n",
                           std::to_string(GetParam().ranks),
                           "--on-failure=continue",
                           "--nodes",
                           std::to_string(GetParam().nodes),
                           std::string(ACP_TEST_PROGRAM_DIR) + "/invoke_victim"};
        options.environment = {board.environment_entry(), "ACP_ON_ERROR=return"};
        if (GetParam().is_agents) options.environment.emplace_back("ACP_GATEWAY=agent");
        return options;
    }

    // Waits until all ranks work, and then a random time, which chooses the moment of the strike
    // and waits for no event.
    void await_work(const Board<FaultBoard>& board, Job& job) {
        for (int rank = 0; rank < GetParam().ranks; ++rank) {
            const Note& note = board->ranks[rank];
            while (note.rounds.load(std::memory_order_acquire) < 3) {
                ASSERT_TRUE(job.wait_ended(0) == std::nullopt) << job.output();
                sched_yield();
            }
        }
        const std::int64_t until =
            test::now_ns() + static_cast<std::int64_t>(random_.below(20 * test::millisecond_ns));
        while (test::now_ns() < until) sched_yield();
    }

    // A rank's word is the sum of all completed additions, and at most one batch of the victim's
    // uncounted ones.
    static void expect_each_ran_once(const Board<FaultBoard>& board, int rank) {
        std::uint64_t told = 0;
        for (const Note& note : board->ranks) told += note.went_well[rank].load();
        EXPECT_GT(told, 0U);
        EXPECT_GE(board->ranks[rank].word.load(), told);
        EXPECT_LE(board->ranks[rank].word.load(), told + batch);
    }

    test::Random random_{test::fresh_seed()};
};

TEST_P(InvokeFaults, kill_of_a_rank_fails_what_needs_it_and_nothing_else) {
    for (int trial = 0; trial < trials_wanted(); ++trial) {
        const auto board = make_board();
        Job job(options_of(board));
        await_work(board, job);
        const Shape& shape = GetParam();
        board->is_struck.store(1, std::memory_order_release);
        ASSERT_EQ(::kill(board->ranks[shape.victim].process.load(), SIGKILL), 0);
        ASSERT_TRUE(job.wait_ended(patience_ns).has_value()) << job.output();
        for (int rank = 0; rank < shape.ranks; ++rank) {
            if (rank == shape.victim) continue;
            const Note& note = board->ranks[rank];
            EXPECT_EQ(note.phase.load(), Phase::finished) << rank << '\n' << job.output();
            EXPECT_EQ(note.wrong.load(), 0U) << rank << '\n' << job.output();
            expect_each_ran_once(board, rank);
            // The agent of a node still serves the memory of its dead rank; a rank that was its own
            // gateway is lost with its memory.
            const bool is_lost = shape.nodes > 1 && shape.nodes == shape.ranks;
            EXPECT_EQ(note.failed.load() != 0, is_lost) << rank;
        }
        EXPECT_TRUE(job.wait_gone(patience_ns).has_value()) << job.describe_living();
    }
}

TEST_P(InvokeFaults, kill_of_the_agent_ends_the_job_and_leaves_nothing) {
    const auto board = make_board();
    Job job(options_of(board));
    await_work(board, job);
    ASSERT_EQ(::kill(board->ranks[GetParam().victim].parent.load(), SIGKILL), 0);
    const auto code = job.wait_ended(patience_ns);
    ASSERT_TRUE(code.has_value()) << job.output();
    EXPECT_NE(*code, 0);
    EXPECT_TRUE(job.wait_gone(patience_ns).has_value()) << job.describe_living();
}

constexpr Shape shapes[] = {
    {"one_node", 4, 1, 2, false},
    {"own_gateways", 3, 3, 1, false},
    {"agents_gateways", 6, 3, 3, true},
};

std::string name_of(const testing::TestParamInfo<Shape>& info) {
    return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(of, InvokeFaults, testing::ValuesIn(shapes), name_of);

}  // namespace
}  // namespace acp::invoke_test
