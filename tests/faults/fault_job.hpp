// SPDX-License-Identifier: BSD-3-Clause
// A job under fault, as its driver uses it: it starts the job with a board, strikes at a chosen or
// random moment, and checks the survivors' errors, the launcher's end, and that no process or file
// is left. One driver thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "faults/fault_board.hpp"
#include "support/board.hpp"
#include "support/job.hpp"

namespace acp::test {

// The number of emulated nodes of a job: TEST_NODES, or one.
[[nodiscard]] int nodes_wanted();

struct FaultOptions {
    Work work = Work::traffic;
    Ending ending = Ending::none;
    int ranks = 4;
    int nodes = nodes_wanted();
    int victim = 1;
    // Acprun's options for real nodes; empty: emulated ones.
    std::vector<std::string> hosts;
    bool is_continuing = true;  // acprun --on-failure
    std::uint64_t seed = 1;
    std::vector<std::string> environment;
};

class FaultJob {
public:
    explicit FaultJob(const FaultOptions& options);

    [[nodiscard]] FaultBoard& board() const { return *board_; }

    [[nodiscard]] Job& job() { return job_; }

    // The job's output so far.
    [[nodiscard]] std::string job_output() const { return job_.output(); }

    [[nodiscard]] const FaultOptions& options() const { return options_; }

    [[nodiscard]] pid_t process_of(int rank) const;
    [[nodiscard]] pid_t agent_of(int rank) const;

    // Whether two ranks are on one node.
    [[nodiscard]] bool are_together(int rank, int other) const;

    // Waits until every rank has reached the phase.
    void await_all(Phase phase) const;
    void await(int rank, Phase phase) const;
    // Waits until a rank has made so many steps; until rank 0 has used its memory anew so often.
    void await_steps(int rank, std::uint64_t steps) const;
    void await_cycles(std::uint64_t cycles) const;

    // Sends SIGKILL. Returns the time just before.
    std::int64_t kill_process(pid_t process);

    // Checks that every rank but the victim has failed with ACP_ERR_PEER and a message that names
    // the victim. Appends each rank's nanoseconds from the strike to its failure.
    void expect_survivors_notice(std::int64_t struck_at_ns, std::vector<std::int64_t>& delays);

    // Checks that every rank of the list fails before the deadline with ACP_ERR_PEER and a message
    // that names the other node.
    void expect_cut_off(const std::vector<int>& ranks, std::int64_t deadline_ns);

    // Checks that the launcher ends with the code, and that nothing of the job is left on the
    // machine after a limited time.
    void expect_end(int code, std::int64_t struck_at_ns);
    void expect_end_with_any_failure(std::int64_t struck_at_ns);

    // Checks that no process is left after a limited time, and no name of shared memory.
    void expect_nothing_left();

private:
    void await_count(const std::atomic<std::uint64_t>& counter,
                     std::uint64_t wanted,
                     const std::string& what) const;
    int await_launcher(std::int64_t struck_at_ns);

    FaultOptions options_;
    std::set<std::string> names_before_;
    Board<FaultBoard> board_;
    Job job_;
};

// The documented times in nanoseconds, and the factor that a noisy machine is granted.
inline constexpr std::int64_t notice_promise_ns = 50'000'000;
// Between nodes.
inline constexpr std::int64_t far_notice_promise_ns = 100'000'000;
inline constexpr std::int64_t end_promise_ns = 1'000'000'000;
inline constexpr std::int64_t noise_factor = 20;

// Prints "what: median, longest (promise)" of the delays.
void print_delays(const std::string& what,
                  std::vector<std::int64_t> delays,
                  std::int64_t promise_ns);

// The number of trials of a test: TEST_TRIALS, or the given number.
[[nodiscard]] int trials_wanted(int otherwise);

}  // namespace acp::test
