// SPDX-License-Identifier: BSD-3-Clause
// Runs a planned job: starts the agent, passes the user's signals on, tells the user what the agent reports,
// and ends everybody if the agent is gone. Touches no output of the ranks. Sleeps when nothing happens. The
// main thread; there is no other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "job/launch_plan.hpp"
#include "job/line_channel.hpp"
#include "os/poll_set.hpp"
#include "os/signal_fd.hpp"

#include "report.hpp"

namespace acp::run {

struct LaunchOptions {
    std::uint64_t timeout_ns = 0;  // 0 = none
    bool is_quiet = false;
};

// One line of acprun's own on stderr.
void say(std::string_view text);

class Launcher {
public:
    Launcher(job::LaunchPlan plan, LaunchOptions options)
        : plan_(std::move(plan)), options_(options) {}

    // Runs the job to its end; nobody is left behind. Returns the exit code. Blocks.
    int run();

private:
    base::Status start();
    base::Status start_agent();
    void loop();
    void on_time();
    void expect_end(int fallback_code);
    void on_signals();
    void on_channel();
    void hear(std::string_view line);
    void hear_failed(std::string_view words);
    void hear_unstarted(std::string_view words);
    void hear_ended(std::string_view words);
    void tell_failure(std::uint64_t ended_others);
    void hint(const std::string& text) const;
    int end();

    job::LaunchPlan plan_;
    LaunchOptions options_;
    std::optional<os::PollSet> poll_;
    std::optional<os::SignalFd> signals_;
    std::optional<job::LineChannel> channel_;
    int agent_pid_ = 0;
    std::uint64_t deadline_ns_ = os::poll_forever;
    std::uint32_t interrupts_ = 0;
    int fallback_code_ =
        0;  // once the job shall be over: the exit code if the agent does not see to it
    int asked_signal_ = 0;         // the last of SIGINT and SIGTERM that was passed on
    bool has_told_start_ = false;  // that the program could not be run
    bool is_agent_gone_ = false;
    std::optional<FailedRank> untold_;  // the failure that ends the job, told when it has
    std::optional<int> code_;           // of the job, once the agent has told it
};

}  // namespace acp::run
