// SPDX-License-Identifier: BSD-3-Clause
// SIGKILL of a rank, of the agent and of acprun, at random moments and in every kind of wait. A
// driver: the ranks are faults_victim. TEST_TRIALS sets the number of random trials, TEST_NODES the
// number of nodes; seeds are printed and taken from TEST_SEED.
#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>
#include <sched.h>

#include "faults/fault_job.hpp"
#include "support/clock.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

class KillTest : public ::testing::Test {
protected:
    void SetUp() override {
        adopt_orphans();
        const char* given = std::getenv("TEST_SEED");
        seed_ = given == nullptr ? fresh_seed() : std::strtoull(given, nullptr, 0);
        random_ = Random(seed_);
        allow_one_trial();
    }

    void TearDown() override {
        arm_watchdog(0, "");
        if (HasFailure()) {
            std::cout << "TEST_SEED=" << seed_ << '\n';
        }
    }

    static void allow_one_trial() {
        arm_watchdog(240, ::testing::UnitTest::GetInstance()->current_test_info()->name());
    }

    // Passes a random time below the bound; it chooses the moment of the strike, and waits for no
    // event.
    void pass_time(std::int64_t bound_ns) {
        const std::int64_t until =
            now_ns() +
            static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(bound_ns)));
        while (now_ns() < until) {
            sched_yield();
        }
    }

    FaultOptions random_options(bool is_continuing) {
        constexpr Work works[] = {Work::traffic, Work::traffic, Work::barriers, Work::barrier_wait};
        FaultOptions options;
        options.work = works[random_.below(4)];
        options.victim = static_cast<int>(random_.below(4));
        options.is_continuing = is_continuing;
        options.seed = random_.next();
        if (random_.chance(30)) {
            options.environment.emplace_back("ACP_ATTACH=off");
        }
        return options;
    }

    // Waits for a random moment in the job's life, also before and during acp_init.
    void await_random_moment(const FaultJob& fault) {
        if (random_.chance(30)) {
            fault.await(fault.options().victim, Phase::started);
            pass_time(10 * millisecond_ns);
        } else {
            fault.await_all(Phase::working);
            pass_time(20 * millisecond_ns);
        }
    }

    std::uint64_t seed_ = 0;
    Random random_{0};
};

TEST_F(KillTest, of_a_rank_ends_every_wait_of_the_others_when_the_job_continues) {
    std::vector<std::int64_t> delays;
    for (int trial = 0; trial < trials_wanted(20); ++trial) {
        allow_one_trial();
        SCOPED_TRACE("trial " + std::to_string(trial));
        FaultJob fault(random_options(true));
        await_random_moment(fault);
        const bool was_working = fault.board().ranks[fault.options().victim].phase.load(
                                     std::memory_order_acquire) == Phase::working;
        const std::int64_t struck = fault.kill_process(fault.process_of(fault.options().victim));
        std::vector<std::int64_t> notices;
        fault.expect_survivors_notice(struck, notices);
        if (was_working) {
            delays.insert(delays.end(), notices.begin(), notices.end());
        }
        fault.expect_end(137, struck);
        if (HasFailure()) {
            break;
        }
    }
    print_delays("from the kill of a rank to another's error", delays, notice_promise_ns);
}

TEST_F(KillTest, of_a_rank_ends_the_job_by_default) {
    std::vector<std::int64_t> delays;
    for (int trial = 0; trial < trials_wanted(20) && !HasFailure(); ++trial) {
        allow_one_trial();
        SCOPED_TRACE("trial " + std::to_string(trial));
        FaultJob fault(random_options(false));
        await_random_moment(fault);
        const std::int64_t struck = fault.kill_process(fault.process_of(fault.options().victim));
        fault.expect_end(137, struck);
        delays.push_back(now_ns() - struck);
        const std::string output = fault.job().output();
        EXPECT_NE(output.find("rank " + std::to_string(fault.options().victim)), std::string::npos)
            << "acprun does not name the rank that died first:\n"
            << output;
    }
    print_delays("from the kill of a rank to the end of the job", delays, end_promise_ns);
}

TEST_F(KillTest, of_the_agent_ends_the_job_and_leaves_nothing) {
    std::vector<std::int64_t> delays;
    for (int trial = 0; trial < trials_wanted(10) && !HasFailure(); ++trial) {
        allow_one_trial();
        SCOPED_TRACE("trial " + std::to_string(trial));
        FaultJob fault(random_options(trial % 2 == 0));
        // Its agent is killed.
        const int rank = fault.options().victim;
        fault.await(rank, Phase::started);
        pass_time(20 * millisecond_ns);
        ASSERT_NE(fault.agent_of(rank), fault.job().process()) << "the parent is not an agent";
        const std::int64_t struck = fault.kill_process(fault.agent_of(rank));
        fault.expect_end_with_any_failure(struck);
        delays.push_back(now_ns() - struck);
    }
    print_delays("from the kill of the agent to the end of the job", delays, end_promise_ns);
}

TEST_F(KillTest, of_acprun_ends_the_job_and_leaves_nothing) {
    std::vector<std::int64_t> delays;
    for (int trial = 0; trial < trials_wanted(10) && !HasFailure(); ++trial) {
        allow_one_trial();
        SCOPED_TRACE("trial " + std::to_string(trial));
        FaultJob fault(random_options(trial % 2 == 0));
        fault.await(0, Phase::started);
        pass_time(20 * millisecond_ns);
        const std::int64_t struck = fault.kill_process(fault.job().process());
        fault.expect_end(137, struck);
        delays.push_back(now_ns() - struck);
    }
    print_delays("from the kill of acprun to the end of the job", delays, end_promise_ns);
}

// The victim is killed when all other ranks are certainly in the blocking call.
class BlockedWaitTest : public KillTest, public ::testing::WithParamInterface<Work> {};

TEST_P(BlockedWaitTest, ends_when_the_rank_it_waits_for_is_killed) {
    std::vector<std::int64_t> delays;
    for (int trial = 0; trial < trials_wanted(5) && !HasFailure(); ++trial) {
        allow_one_trial();
        FaultOptions options;
        options.work = GetParam();
        options.victim = static_cast<int>(random_.below(4));
        if (GetParam() == Work::source_wait || GetParam() == Work::copied_put) {
            // Otherwise the kernel runs the put.
            options.environment.emplace_back("ACP_ATTACH=off");
        }
        FaultJob fault(options);
        fault.await_all(Phase::working);
        const pid_t victim = fault.process_of(options.victim);
        await_state(victim, GetParam() == Work::barrier_wait ? "S" : "T");
        for (int rank = 0; rank < options.ranks; ++rank) {
            if (rank != options.victim) {
                await_state(fault.process_of(rank), "S");
            }
        }
        const std::int64_t struck = fault.kill_process(victim);
        fault.expect_survivors_notice(struck, delays);
        fault.expect_end(137, struck);
    }
    print_delays("from the kill to the end of a blocked wait", delays, notice_promise_ns);
}

INSTANTIATE_TEST_SUITE_P(waits,
                         BlockedWaitTest,
                         ::testing::Values(Work::barrier_wait,
                                           Work::command_wait,
                                           Work::command_complete,
                                           Work::source_wait,
                                           Work::copied_put),
                         [](const auto& each) {
                             switch (each.param) {
                                 case Work::barrier_wait:
                                     return "acp_sync";
                                 case Work::command_wait:
                                     return "acp_wait";
                                 case Work::source_wait:
                                     return "acp_wait_source";
                                 case Work::copied_put:
                                     return "acp_put_copied";
                                 default:
                                     return "acp_complete";
                             }
                         });

// Many more ranks than cores, most of them asleep or all of them at work.
class ManyRanksTest : public KillTest, public ::testing::WithParamInterface<Work> {};

TEST_P(ManyRanksTest, detect_the_death_of_one_of_them) {
    std::vector<std::int64_t> delays;
    for (int trial = 0; trial < trials_wanted(3) && !HasFailure(); ++trial) {
        allow_one_trial();
        FaultOptions options;
        options.work = GetParam();
        options.ranks = fault_ranks_max;
        options.victim = static_cast<int>(random_.below(fault_ranks_max));
        options.seed = random_.next();
        FaultJob fault(options);
        fault.await_all(Phase::working);
        pass_time(20 * millisecond_ns);
        const std::int64_t struck = fault.kill_process(fault.process_of(options.victim));
        fault.expect_survivors_notice(struck, delays);
        fault.expect_end(137, struck);
    }
    print_delays("from the kill of one of 64 ranks to another's error", delays, notice_promise_ns);
}

INSTANTIATE_TEST_SUITE_P(works,
                         ManyRanksTest,
                         ::testing::Values(Work::barrier_wait, Work::barriers, Work::traffic),
                         [](const auto& each) {
                             if (each.param == Work::traffic) {
                                 return "traffic";
                             }
                             return each.param == Work::barriers ? "barriers" : "blocked";
                         });

TEST_F(KillTest, of_readers_inside_their_copies_lets_unregister_end_and_nothing_land) {
    for (int trial = 0; trial < trials_wanted(5) && !HasFailure(); ++trial) {
        allow_one_trial();
        FaultOptions options;
        options.work = Work::revocation;
        FaultJob fault(options);
        fault.await_all(Phase::working);
        const auto await_cycles = [&](std::uint64_t more) {
            const std::uint64_t goal = fault.board().cycles.load(std::memory_order_acquire) + more;
            while (fault.board().cycles.load(std::memory_order_acquire) < goal) {
                sched_yield();
            }
        };
        std::int64_t struck = 0;
        for (int victim = 1; victim < options.ranks; ++victim) {
            await_cycles(20);
            pass_time(2 * millisecond_ns);
            struck = fault.kill_process(fault.process_of(victim));
        }
        await_cycles(20);
        fault.board().may_end.store(1, std::memory_order_release);
        fault.await(0, Phase::failed);
        EXPECT_EQ(fault.board().ranks[0].phase.load(std::memory_order_acquire), Phase::finished)
            << fault.board().ranks[0].where << ": " << fault.board().ranks[0].message;
        // Rank 0 would end with 9 if a copy had landed.
        fault.expect_end(137, struck);
        EXPECT_EQ(fault.job().output().find("code 9"), std::string::npos) << fault.job().output();
    }
}

}  // namespace
}  // namespace acp::test
