// SPDX-License-Identifier: BSD-3-Clause
// Runs a planned job: starts an agent per node, tells them of each other, passes the user's signals on, tells the
// user what the agents report, and ends everybody when a rank fails, an agent is gone or the user wants it. With one
// agent it touches no output of the ranks. Sleeps when nothing happens. The main thread; its members live in several
// files: launcher (the loop), start, hear, finish.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "node/awaited.hpp"
#include "os/poll_set.hpp"
#include "os/signal_fd.hpp"

#include "agent_link.hpp"
#include "end_watch.hpp"
#include "launch/job_key.hpp"
#include "outputs.hpp"
#include "plan.hpp"
#include "report.hpp"

namespace acp::run {

struct LaunchOptions {
    std::uint64_t timeout_ns = 0;  // 0 = none
    bool is_quiet = false;
};

inline constexpr std::uint64_t patience_ns = 10'000'000'000;  // with processes that do not die
inline constexpr std::uint32_t reached_at_once_max = 32;      // hosts that are being reached

// One line of acprun's own on stderr.
void say(std::string_view text);

class Launcher {
public:
    Launcher(PlannedJob job, LaunchOptions options);

    // Runs the job to its end; nobody is left behind. Returns the exit code. Blocks. Afterwards the process must
    // end without destroying anything: an output thread may still be blocked.
    int run();

private:
    // start.cpp
    base::Status start();
    base::Status prepare_events();
    base::Status make_key();
    base::Status start_more();
    base::Status start_agent(std::uint32_t node);
    void plan_is_due(std::uint32_t node);
    void tell_peers();

    // launcher.cpp
    void loop();
    void on_time();
    void expect_end(int fallback_code);
    void on_signals();
    void on_agent(std::uint32_t node);
    void on_output_news();
    void send_all(std::string_view line) const;
    void end_others(std::uint32_t node, std::string_view line);
    void end_all(std::string_view line);
    void give_up_on_silent();
    void settle();

    // hear.cpp
    void hear(std::uint32_t node, std::string_view line);
    void hear_answer(std::uint32_t node, std::string_view word, std::string_view rest);
    void hear_failed(std::uint32_t node, std::string_view words);
    void hear_unstarted(std::uint32_t node, std::string_view words);
    void hear_error(std::uint32_t node, std::string_view words);
    void hear_ended(std::uint32_t node, std::string_view words);
    void hear_running(std::uint32_t node, std::string_view ranges);
    void hear_stopped(std::uint32_t node);
    void hear_note(std::string_view text);
    void tell_failure(NodeFailure failure, std::uint64_t ended_others);
    void tell_failures(std::uint64_t ended_others);
    void settle_running();
    void tell_running();
    void ask_doings();
    void settle_doings();
    [[nodiscard]] std::string doings_text();
    void hint(const std::string& text) const;
    [[nodiscard]] std::string place_of(std::uint32_t node) const;

    // finish.cpp
    int end();
    int tell_lost();
    void tell_awaited(const std::vector<std::uint32_t>& nodes) const;
    void tell_silent(const std::vector<std::uint32_t>& nodes) const;
    [[nodiscard]] bool has_given_up_any() const noexcept;
    [[nodiscard]] int job_code() const;
    [[nodiscard]] bool is_over() const noexcept;

    PlannedJob job_;
    LaunchOptions options_;
    launch::JobKey key_;
    std::optional<os::PollSet> poll_;
    std::optional<os::SignalFd> signals_;
    Outputs outputs_;
    std::vector<AgentLink> agents_;  // by node
    EndWatch end_watch_;
    std::uint32_t started_ = 0;  // agents
    bool have_peers_ = false;    // all agents know of each other
    bool is_ending_ = false;     // no further agent is started
    bool is_finishing_ = false;  // all agents are gone, output is carried to its end
    bool is_abandoned_ = false;  // or is not
    std::uint64_t deadline_ns_ = os::poll_forever;
    std::uint32_t interrupts_ = 0;
    int fallback_code_ =
        0;  // once the job shall be over: the exit code if the agents do not see to it
    int fixed_code_ = 0;           // broken output: overrides all others
    int asked_signal_ = 0;         // the last of SIGINT and SIGTERM that was passed on
    bool has_told_start_ = false;  // that the program could not be run
    bool has_told_error_ = false;  // why the job cannot go on
    std::optional<std::uint32_t> deciding_node_;  // where something went wrong first
    std::optional<std::uint32_t> lost_node_;      // whose agent ended without a word
    std::vector<NodeFailure> failures_;           // that ended the job, as heard; told when it has
    std::optional<int> cause_code_;        // of the one told first, where it was not heard first
    std::vector<std::uint32_t> unjoined_;  // ranks that ended well and without acp_init
    std::vector<std::uint32_t> still_running_;  // ranks, at the timeout
    bool has_told_running_ = false;
    bool is_asked_for_doings_ = false;  // by SIGUSR2, and not yet told
    std::uint64_t doings_until_ns_ =
        os::poll_forever;              // then it is told without those that are silent
    std::vector<node::Doing> doings_;  // as the agents have told so far
    std::vector<std::string> told_notes_;
};

}  // namespace acp::run
