// SPDX-License-Identifier: BSD-3-Clause
// Runs a planned job: starts an agent per node, chooses their addresses, sends each those of all,
// passes the user's signals on, prints what the agents report, and ends the job when a rank fails,
// an agent is gone or the user asks for it. With one agent it does not handle the ranks' output.
// Sleeps when nothing happens. Main thread. Four files implement its members: launcher (the loop),
// start, hear and finish.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "os/poll_set.hpp"
#include "os/signal_fd.hpp"

#include "agent_link.hpp"
#include "end_watch.hpp"
#include "held_failures.hpp"
#include "launch/job_key.hpp"
#include "meeting_watch.hpp"
#include "outputs.hpp"
#include "plan.hpp"
#include "report.hpp"
#include "roll_call.hpp"
#include "start_progress.hpp"

namespace acp::run {

struct LaunchOptions {
    std::uint64_t timeout_ns = 0;  // 0 = none
    bool is_quiet = false;
};

inline constexpr std::uint64_t patience_ns = 10'000'000'000;  // time for processes that do not die
// agents on other machines that are being started at the same time
inline constexpr std::uint32_t reached_at_once_max = 32;

// Prints a line of acprun's own to stderr.
//   before  written before it: a newline, if the line there is unfinished
void say(std::string_view text, std::string_view before = {});

class Launcher {
public:
    Launcher(PlannedJob job, LaunchOptions options);

    // Runs the job to its end; no process is left behind. Returns the exit code. Blocks. Afterwards
    // the process must end without destroying any object: an output thread may still be blocked.
    int run();

private:
    // start.cpp
    base::Status start();
    base::Status allow_descriptors();
    base::Status prepare_events();
    base::Status make_key();
    base::Status start_more();
    base::Status start_agent(std::uint32_t node);
    void plan_is_due(std::uint32_t node);
    void choose_addresses();
    void refuse_addresses(std::uint32_t node, std::string_view why);
    [[nodiscard]] std::string why_too_few(std::uint32_t node, std::size_t fitting) const;
    void tell_peers();
    [[nodiscard]] bool is_ready(std::uint32_t node) const noexcept;
    void tell_progress();
    void watch_meeting();
    void give_up_on_meeting();

    // launcher.cpp
    void say(std::string_view text);
    bool end_open_line();
    void loop();
    void on_time();
    void ask_what_runs();
    void end_for_timeout();
    void expect_end(int fallback_code);
    void on_signals();
    void on_signal(int signal);
    [[nodiscard]] bool have_ranks_started() const noexcept;
    void end_before_ranks(int signal);
    void on_agent(std::uint32_t node);
    void on_output_news();
    void send_all(std::string_view line) const;
    void end_others(std::uint32_t node, std::string_view line);
    void end_all(std::string_view line);
    void give_up_on_silent();
    void settle();

    // hear.cpp: handles the lines that agents send
    void hear(std::uint32_t node, std::string_view line);
    void hear_carried(std::uint32_t node, std::string_view words);
    void hear_answer(std::uint32_t node, std::string_view word, std::string_view rest);
    void hear_interfaces(std::uint32_t node, std::string_view words);
    void hear_failed(std::uint32_t node, std::string_view words);
    void hear_unjoined(std::uint32_t node, std::string_view words);
    void hear_unstarted(std::uint32_t node, std::string_view words);
    void hear_error(std::uint32_t node, std::string_view words);
    void hear_ended(std::uint32_t node, std::string_view words);
    void hear_running(std::uint32_t node, std::string_view ranges);
    void hear_stopped(std::uint32_t node);
    void hear_stopped_ranks(std::uint32_t node, std::string_view ranges);
    void settle_stopped();
    void hear_note(std::string_view text);
    void tell_held();
    void tell_failure(NodeFailure failure, std::uint64_t ended_others);
    void tell_failures(std::uint64_t ended_others);
    void settle_running();
    void tell_running();
    void settle_roll_call();
    void hint(const std::string& text);
    [[nodiscard]] std::string place_of(std::uint32_t node) const;

    // finish.cpp
    int end();
    int tell_lost();
    void tell_awaited(const std::vector<std::uint32_t>& nodes);
    void tell_silent(const std::vector<std::uint32_t>& nodes);
    void tell_stopped_agents();
    [[nodiscard]] bool has_given_up_any() const noexcept;
    [[nodiscard]] int job_code() const;
    [[nodiscard]] bool is_over() const noexcept;

    PlannedJob job_;
    LaunchOptions options_;
    launch::JobKey key_;
    std::optional<os::PollSet> poll_;
    std::optional<os::SignalFd> signals_;
    Outputs outputs_;
    std::vector<AgentLink> agents_;  // one for each node, in the order of the nodes
    EndWatch end_watch_;
    StartProgress progress_;
    MeetingWatch meeting_;
    // this process's soft limit of descriptors before it was raised, which agents and ranks get; 0:
    // it was not raised
    std::uint64_t agents_descriptors_max_ = 0;
    std::uint32_t started_ = 0;  // number of agents started
    // all agents have been sent the addresses at which their gateways listen
    bool have_chosen_ = false;
    bool have_peers_ = false;    // all agents have been sent the addresses of all nodes
    bool is_ending_ = false;     // no further agent is started
    bool is_finishing_ = false;  // all agents are gone, the rest of the output is passed on
    bool is_abandoned_ = false;  // the rest of the output is dropped
    std::uint64_t deadline_ns_ = os::poll_forever;
    std::uint32_t interrupts_ = 0;
    int fallback_code_ = 0;  // set once the job is to end: the exit code if the agents report none
    int fixed_code_ = 0;  // broken output, a signal before there were ranks: overrides all others
    // the last of SIGINT, SIGTERM, SIGHUP and SIGQUIT that was passed on
    int asked_signal_ = 0;
    bool is_ended_before_ranks_ = false;          // asked_signal_ came too early for the ranks
    bool has_told_start_ = false;                 // "the program could not be run" was printed
    bool has_told_error_ = false;                 // the error that ends the job was printed
    std::optional<std::uint32_t> deciding_node_;  // the node where something failed first
    std::optional<std::uint32_t> lost_node_;      // the node whose agent ended without `ended`
    HeldFailures held_;  // failures that do not end the job, and are reported soon
    // failures that end the job, in order of arrival; printed when it has ended
    std::vector<NodeFailure> failures_;
    // code of the failure printed first, if it did not arrive first
    std::optional<int> cause_code_;
    // ranks that ended without an error and without acp_init, in order of arrival
    std::vector<NodeFailure> unjoined_;
    bool is_time_over_ = false;                 // the time of --timeout has passed
    std::vector<std::uint32_t> still_running_;  // ranks that still ran at the timeout
    bool has_told_running_ = false;
    bool has_told_stopped_ = false;  // that stopped ranks alone keep the job alive was printed
    // the nodes whose agents were reported as stopped, and still are
    std::vector<std::uint32_t> stopped_agents_;
    RollCall roll_call_;
    std::vector<std::string> told_notes_;
};

}  // namespace acp::run
