// SPDX-License-Identifier: BSD-3-Clause
// Starts, strikes and checks jobs under fault.
#include "faults/fault_job.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <iomanip>
#include <iostream>
#include <sched.h>

#include <acp/error.h>

#include "support/clock.hpp"

namespace acp::test {
namespace {

// A job that takes longer is stuck.
constexpr std::int64_t patience_ns = 60 * second_ns;

JobOptions job_options(const FaultOptions& options, const std::string& board_entry) {
    JobOptions job;
    job.ranks = options.ranks;
    job.launcher = {options.is_continuing ? "--on-failure=continue" : "--on-failure=kill"};
    if (!options.hosts.empty()) {
        job.launcher.insert(job.launcher.end(), options.hosts.begin(), options.hosts.end());
    } else if (options.nodes > 1) {
        job.launcher.insert(job.launcher.end(), {"--nodes", std::to_string(options.nodes)});
    }
    job.program = {std::string(ACP_TEST_PROGRAM_DIR) + "/faults_victim"};
    job.environment = options.environment;
    job.environment.push_back(board_entry);
    job.environment.emplace_back("ACP_ON_ERROR=return");
    return job;
}

Board<FaultBoard> make_board(const FaultOptions& options) {
    auto board = Board<FaultBoard>::create();
    board->work = options.work;
    board->ending = options.ending;
    board->victim = options.victim;
    board->seed = options.seed;
    return board;
}

}  // namespace

FaultJob::FaultJob(const FaultOptions& options)
    : options_(options),
      names_before_(lasting_names()),
      board_(make_board(options)),
      job_(job_options(options, board_.environment_entry())) {}

pid_t FaultJob::process_of(int rank) const {
    return board_->ranks[rank].process.load(std::memory_order_acquire);
}

pid_t FaultJob::agent_of(int rank) const {
    return board_->ranks[rank].parent.load(std::memory_order_acquire);
}

bool FaultJob::are_together(int rank, int other) const {
    const int each = options_.ranks / options_.nodes;
    return rank / each == other / each;
}

void FaultJob::await(int rank, Phase phase) const {
    const std::int64_t deadline = now_ns() + patience_ns;
    while (board_->ranks[rank].phase.load(std::memory_order_acquire) < phase) {
        if (now_ns() > deadline) {
            ADD_FAILURE() << "rank " << rank << " did not get to phase " << static_cast<int>(phase)
                          << ":\n"
                          << job_.output();
            return;
        }
        sched_yield();
    }
}

void FaultJob::await_count(const std::atomic<std::uint64_t>& counter,
                           std::uint64_t wanted,
                           const std::string& what) const {
    const std::int64_t deadline = now_ns() + patience_ns;
    while (counter.load(std::memory_order_acquire) < wanted) {
        if (now_ns() > deadline) {
            FAIL() << what << " does not get to " << wanted << ":\n" << job_.output();
        }
        sched_yield();
    }
}

void FaultJob::await_steps(int rank, std::uint64_t steps) const {
    await_count(board_->ranks[rank].steps, steps, "rank " + std::to_string(rank));
}

void FaultJob::await_cycles(std::uint64_t cycles) const {
    await_count(board_->cycles, cycles, "rank 0");
}

void FaultJob::await_all(Phase phase) const {
    for (int rank = 0; rank < options_.ranks; ++rank) {
        await(rank, phase);
    }
}

std::int64_t FaultJob::kill_process(pid_t process) {
    const std::int64_t time = now_ns();
    EXPECT_GT(process, 1);
    EXPECT_EQ(kill(process, SIGKILL), 0) << "process " << process;
    return time;
}

void FaultJob::expect_survivors_notice(std::int64_t struck_at_ns,
                                       std::vector<std::int64_t>& delays) {
    const std::string name = "rank " + std::to_string(options_.victim);
    for (int rank = 0; rank < options_.ranks; ++rank) {
        if (rank == options_.victim) {
            continue;
        }
        const RankNote& note = board_->ranks[rank];
        await(rank, Phase::failed);
        if (note.phase.load(std::memory_order_acquire) != Phase::failed) {
            ADD_FAILURE() << "rank " << rank << " did not notice the death of " << name << ":\n"
                          << job_.output();
            continue;
        }
        EXPECT_EQ(note.code.load(std::memory_order_relaxed), ACP_ERR_PEER)
            << "rank " << rank << " in " << note.where << ": " << note.message;
        EXPECT_NE(std::string(note.message).find(name), std::string::npos)
            << "rank " << rank << " in " << note.where << " does not name " << name << ": "
            << note.message;
        const std::int64_t delay = note.failed_at_ns.load(std::memory_order_relaxed) - struck_at_ns;
        const bool is_near = are_together(rank, options_.victim);
        EXPECT_LT(delay, noise_factor * (is_near ? notice_promise_ns : far_notice_promise_ns))
            << "rank " << rank << " in " << note.where;
        delays.push_back(delay);
    }
}

void FaultJob::expect_cut_off(const std::vector<int>& ranks, std::int64_t deadline_ns) {
    for (const int rank : ranks) {
        const RankNote& note = board_->ranks[rank];
        await(rank, Phase::failed);
        ASSERT_EQ(note.phase.load(std::memory_order_acquire), Phase::failed)
            << "rank " << rank << " did not notice:\n"
            << job_.output();
        EXPECT_EQ(note.code.load(std::memory_order_relaxed), ACP_ERR_PEER)
            << "rank " << rank << " in " << note.where << ": " << note.message;
        EXPECT_NE(std::string(note.message).find("node"), std::string::npos)
            << "rank " << rank << " in " << note.where << " names no node: " << note.message;
        EXPECT_LT(note.failed_at_ns.load(std::memory_order_relaxed), deadline_ns)
            << "rank " << rank << " in " << note.where;
    }
}

int FaultJob::await_launcher(std::int64_t struck_at_ns) {
    const std::optional<int> code = job_.wait_ended(patience_ns);
    EXPECT_TRUE(code.has_value()) << "acprun does not end; left:\n" << job_.describe_living();
    EXPECT_LT(now_ns() - struck_at_ns, noise_factor * end_promise_ns);
    return code.value_or(-1);
}

void FaultJob::expect_end(int code, std::int64_t struck_at_ns) {
    EXPECT_EQ(await_launcher(struck_at_ns), code) << job_.output();
    expect_nothing_left();
}

void FaultJob::expect_end_with_any_failure(std::int64_t struck_at_ns) {
    EXPECT_NE(await_launcher(struck_at_ns), 0) << job_.output();
    expect_nothing_left();
}

void FaultJob::expect_nothing_left() {
    EXPECT_TRUE(job_.wait_gone(noise_factor * end_promise_ns).has_value())
        << "processes are left:\n"
        << job_.describe_living();
    for (const std::string& name : new_lasting_names(names_before_)) {
        ADD_FAILURE() << "the job left " << name;
    }
}

void print_delays(const std::string& what,
                  std::vector<std::int64_t> delays,
                  std::int64_t promise_ns) {
    if (delays.empty()) {
        return;
    }
    std::ranges::sort(delays);
    const auto late =
        std::ranges::count_if(delays, [=](std::int64_t delay) { return delay > promise_ns; });
    const auto ms = [](std::int64_t time) {
        return static_cast<double>(time) / static_cast<double>(millisecond_ns);
    };
    std::cout << std::fixed << std::setprecision(1) << what << ": " << delays.size()
              << " times, median " << ms(delays[delays.size() / 2]) << " ms, longest "
              << ms(delays.back()) << " ms; " << late << " over the promised " << ms(promise_ns)
              << " ms\n";
}

int nodes_wanted() {
    const char* given = std::getenv("TEST_NODES");
    return given == nullptr ? 1 : std::atoi(given);
}

int trials_wanted(int otherwise) {
    const char* given = std::getenv("TEST_TRIALS");
    return given == nullptr ? otherwise : std::atoi(given);
}

}  // namespace acp::test
