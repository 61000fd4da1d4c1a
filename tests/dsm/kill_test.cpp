// SPDX-License-Identifier: BSD-3-Clause
// SIGKILL and SIGSTOP of a rank that shares pages over several nodes, at random moments of faults,
// flushes and barriers: after a kill the barrier of every other rank fails in time, and stops delay all,
// without an error. SIGKILL of an agent at such a moment ends the job. A driver: the ranks are
// dsm_victim, and dsm_stop_probe where it matters what other ranks do during a stop.
#include <set>
#include <string>

#include "support/member_kills.hpp"

namespace acp::test {
namespace {

constexpr const char* victim_program = ACP_TEST_PROGRAM_DIR "/dsm_victim";

class DsmKillTest : public MemberKills {
protected:
    static void pass_random_time(Random& random, std::uint64_t most_ns) {
        const std::int64_t until = now_ns() + static_cast<std::int64_t>(random.below(most_ns));
        while (now_ns() < until) sched_yield();
    }
};

TEST_F(DsmKillTest, all_other_ranks_are_refused_in_time) {
    expect_others_are_refused_in_time(victim_program);
}

TEST_F(DsmKillTest, ranks_that_are_stopped_and_continued_fail_no_barrier) {
    arm_watchdog(240, "a job whose ranks are stopped");
    const std::uint64_t seed = fresh_seed();
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const auto board = Board<MemberBoard>::create();
    board->victim.store(0, std::memory_order_relaxed);
    Job job(options_of(victim_program, number_of("TEST_NODES", 1), board.environment_entry()));
    await_work(*board, job);
    if (HasFatalFailure()) return;
    for (int stop = 0; stop < 30; ++stop) {
        pass_random_time(random, 3 * millisecond_ns);
        const MemberNote& note = board->ranks[random.below(member_ranks)];
        const pid_t process = note.process.load(std::memory_order_relaxed);
        ASSERT_EQ(kill(process, SIGSTOP), 0) << job.output();
        await_state(process, "T");
        pass_random_time(random, 3 * millisecond_ns);
        ASSERT_EQ(kill(process, SIGCONT), 0);
    }
    for (const MemberNote& note : board->ranks) {
        EXPECT_EQ(note.refused_at_ns.load(std::memory_order_relaxed), 0);
        EXPECT_STREQ(note.message, "");
    }
    ASSERT_EQ(kill(board->ranks[0].process.load(std::memory_order_relaxed), SIGKILL), 0);
    EXPECT_EQ(job.wait_ended(kill_patience_ns), 137) << job.output() << job.describe_living();
    EXPECT_TRUE(job.wait_gone(kill_patience_ns).has_value()) << job.describe_living();
    for (const MemberNote& note : board->ranks) EXPECT_STREQ(note.message, "");
}

TEST_F(DsmKillTest, the_end_of_an_agent_ends_the_job_and_leaves_no_process) {
    const std::uint64_t seed = fresh_seed();
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const std::set<std::string> names = lasting_names();
    for (int trial = 0; trial < 5 && !HasFailure(); ++trial) {
        arm_watchdog(240, "a job whose agent is killed");
        const auto board = Board<MemberBoard>::create();
        board->victim.store(nobody_killed, std::memory_order_relaxed);
        Job job(options_of(victim_program, number_of("TEST_NODES", 1), board.environment_entry()));
        await_work(*board, job);
        if (HasFatalFailure()) return;
        const pid_t rank =
            board->ranks[random.below(member_ranks)].process.load(std::memory_order_relaxed);
        const pid_t agent = parent_of(rank);
        ASSERT_NE(agent, job.process());
        pass_random_time(random, 10 * millisecond_ns);
        ASSERT_EQ(kill(agent, SIGKILL), 0);
        EXPECT_TRUE(job.wait_ended(kill_patience_ns).value_or(0) != 0)
            << job.output() << job.describe_living();
        EXPECT_TRUE(job.wait_gone(kill_patience_ns).has_value()) << job.describe_living();
    }
    EXPECT_EQ(new_lasting_names(names), std::set<std::string>());
}

class DsmStopTest : public ::testing::Test {
protected:
    static std::string output_of(const char* stopped, const std::string& setting) {
        arm_watchdog(240, "a job of which something is stopped");
        JobOptions options;
        options.launcher = {"--on-failure=continue", "--nodes", "2", "--heap-size", "32M"};
        options.program = {ACP_TEST_PROGRAM_DIR "/dsm_stop_probe", stopped};
        options.environment = {"ACP_ON_ERROR=return", "ACP_PEER_TIMEOUT=1", setting};
        const JobResult result = run_job(options);
        arm_watchdog(0, "");
        return result.output;
    }

    static void expect(const std::string& output, const std::string& words) {
        EXPECT_NE(output.find(words), std::string::npos) << words << "\n" << output;
    }
};

TEST_F(DsmStopTest, other_ranks_fetch_and_write_pages_while_one_is_stopped) {
    const std::string output = output_of("rank", "ACP_ATTACH=off");
    for (const std::string rank : {"rank 0: ", "rank 1: ", "rank 2: "}) {
        expect(output, rank + "waits for rank 3: yes");
        expect(output, rank + "reads while rank 3 is stopped: yes");
        expect(output, rank + "still waits for rank 3: yes");
        expect(output, rank + "prefetches while rank 3 is stopped: yes");
    }
    for (const std::string rank : {"rank 0: ", "rank 1: ", "rank 2: ", "rank 3: "}) {
        expect(output, rank + "passes the barrier: yes");
        expect(output, rank + "has what rank 3 copied: yes");
        expect(output, rank + "reads all: yes");
    }
}

TEST_F(DsmStopTest, a_node_whose_agent_is_stopped_is_named_and_copies_stay_readable) {
    const std::string output = output_of("agent", "ACP_ATTACH=auto");
    for (const std::string rank : {"rank 0: ", "rank 1: ", "rank 2: ", "rank 3: "}) {
        expect(output, rank + "is refused by the barrier: yes");
        expect(output, rank + "reads its copy: yes");
    }
    expect(output, "rank 0: keeps its pages: yes");
    expect(output, "are on node 1 (");
    expect(output, "has not answered for the 1 s of ACP_PEER_TIMEOUT");
}

}  // namespace
}  // namespace acp::test
