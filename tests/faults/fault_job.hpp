// SPDX-License-Identifier: BSD-3-Clause
// A job under fault, seen from its driver: starts it with a board, strikes at a chosen or random moment, and
// checks what the others noticed, how the launcher ended, and that nothing is left. One driver thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "faults/fault_board.hpp"
#include "support/board.hpp"
#include "support/job.hpp"

namespace acp::test {

// Emulated nodes of a job: TEST_NODES, or one.
[[nodiscard]] int nodes_wanted();

struct FaultOptions {
    Work work = Work::traffic;
    Ending ending = Ending::none;
    int ranks = 4;
    int nodes = nodes_wanted();
    int victim = 1;
    std::vector<std::string> hosts;  // acprun's options that make the nodes; none: emulated ones
    bool is_continuing = true;       // acprun --on-failure
    std::uint64_t seed = 1;
    std::vector<std::string> environment;
};

class FaultJob {
public:
    explicit FaultJob(const FaultOptions& options);

    [[nodiscard]] FaultBoard& board() const { return *board_; }

    [[nodiscard]] Job& job() { return job_; }

    // What the job wrote so far.
    [[nodiscard]] std::string job_output() const { return job_.output(); }

    [[nodiscard]] const FaultOptions& options() const { return options_; }

    [[nodiscard]] pid_t process_of(int rank) const;
    [[nodiscard]] pid_t agent_of(int rank) const;

    // Whether two ranks are on one node.
    [[nodiscard]] bool are_together(int rank, int other) const;

    // Waits until every rank is in the phase or a later one.
    void await_all(Phase phase) const;
    void await(int rank, Phase phase) const;

    // Sends SIGKILL. Returns the time just before.
    std::int64_t kill_process(pid_t process);

    // Every rank but the victim failed: with ACP_ERR_PEER, naming the victim. Appends the nanoseconds from the
    // strike to each one's notice.
    void expect_survivors_notice(std::int64_t struck_at_ns, std::vector<std::int64_t>& delays);

    // Every rank of the list has failed with ACP_ERR_PEER by then, naming the other node.
    void expect_cut_off(const std::vector<int>& ranks, std::int64_t deadline_ns);

    // The launcher ends with the code, and within the time nothing of the job is left on the machine.
    void expect_end(int code, std::int64_t struck_at_ns);
    void expect_end_with_any_failure(std::int64_t struck_at_ns);

    // No process is left within the time; no name outlives them.
    void expect_nothing_left();

private:
    int await_launcher(std::int64_t struck_at_ns);

    FaultOptions options_;
    std::set<std::string> names_before_;
    Board<FaultBoard> board_;
    Job job_;
};

// The promises, in nanoseconds, and what a noisy machine is granted.
inline constexpr std::int64_t notice_promise_ns = 50'000'000;
inline constexpr std::int64_t far_notice_promise_ns = 100'000'000;  // on another node
inline constexpr std::int64_t end_promise_ns = 1'000'000'000;
inline constexpr std::int64_t noise_factor = 20;

// Prints "what: median, longest (promise)" of the delays.
void print_delays(const std::string& what,
                  std::vector<std::int64_t> delays,
                  std::int64_t promise_ns);

// Trials per test: TEST_TRIALS, or the given number.
[[nodiscard]] int trials_wanted(int otherwise);

}  // namespace acp::test
