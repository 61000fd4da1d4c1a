// SPDX-License-Identifier: BSD-3-Clause
// The parent of a node's ranks: makes the node segment, starts the ranks, watches them end and
// publishes deaths before a process id can be used again, passes signals and output on, and ends
// last, with no process left behind. Sleeps when nothing happens. Knows nothing of the launcher's
// options, only of the plan that it was sent. Runs in the main thread; output has threads of its
// own. Each of the files launch, meet, watch, command and ending implements the members that handle
// one kind of event.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "base/status.hpp"
#include "node/segment.hpp"
#include "os/child.hpp"
#include "os/descriptor_limit.hpp"
#include "os/pipe.hpp"
#include "os/poll_set.hpp"
#include "os/signal_fd.hpp"

#include "file_requests.hpp"
#include "hang_watch.hpp"
#include "launch/launch_plan.hpp"
#include "launch/line_channel.hpp"
#include "life_watch.hpp"
#include "line_state.hpp"
#include "network.hpp"
#include "output.hpp"
#include "stdin_pump.hpp"
#include "stop_watch.hpp"

namespace acp::agent {

class Agent {
public:
    // Takes the plan, the job's key and the channel over which they came.
    Agent(launch::LaunchPlan plan, launch::JobKey key, launch::LineChannel channel)
        : plan_(std::move(plan)), key_(std::move(key)), channel_(std::move(channel)) {}

    // Runs the job to its end and returns the job's exit code. Afterwards the process must end
    // without destroying any object: an output thread may still be blocked.
    int run();

private:
    struct Rank {
        int pid = 0;
        // pidfd: readable once it has ended; not open where the kernel has no pidfds
        os::FileDescriptor process;
        bool is_running = false;
        // when the process that joined was found gone, while our child, its parent, still ran
        std::uint64_t gone_ns = 0;
        bool is_judged = false;  // was counted as failed, though its process runs on
        // the kernel was ending this rank when the agent sent SIGTERM to all running ranks
        bool was_ending = false;
        bool has_ended_unjoined = false;  // ended without an error and without acp_init
        int start_error = 0;              // errno when the program could not be run
    };

    // The failure of a process, reported to acprun while its output may still be in the pipes.
    struct UncarriedReport {
        std::uint32_t process;
        std::array<std::uint64_t, 2> requests;  // request_flush() of the output threads
    };

    // The standard streams that a rank gets.
    struct Streams {
        os::FileDescriptor input;
        os::FileDescriptor output;
        os::FileDescriptor error;
    };

    enum class Phase {
        meeting,  // nothing is started: the other nodes' addresses are not known yet
        running,
        ending,     // the agent has sent SIGTERM to the ranks; at the deadline it kills them
        killing,    // the ranks were killed; processes that appear are killed too
        lingering,  // all ranks have ended, some of their descendants have not
        finishing,  // no process is left; the rest of the output is passed on
        staying,    // nothing is left to do here, but other nodes' ranks may still need this node
        over
    };

    // launch.cpp
    base::Status prepare();
    base::Status prepare_events();
    base::Status make_segment();
    base::Status prepare_outputs();
    base::Status launch();
    void prepare_file_requests(std::vector<int> files);
    base::Status start_rank(std::uint32_t slot, const os::ChildPlan& common);
    base::Result<Streams> make_streams(std::uint32_t slot);
    base::Result<os::FileDescriptor> make_input(std::uint32_t rank);
    base::Result<os::FileDescriptor> make_output(std::uint32_t rank, std::size_t which);
    [[nodiscard]] Passing passing_of(std::uint32_t rank, std::size_t which) const;
    base::Status start_carrying();
    [[nodiscard]] std::vector<std::string> rank_environment(std::uint32_t slot) const;
    [[nodiscard]] int cpu_of(std::uint32_t slot) const noexcept;

    // meet.cpp: exchanges addresses with the other nodes
    base::Status begin_meeting();
    base::Status open_network(std::span<const os::SocketAddress> addresses);
    void on_listen(std::string_view words);
    void on_peers(std::string_view bytes);
    base::Status launch_with(std::string_view peers);
    void stay_or_end();

    // agent.cpp
    void loop();
    void dispatch(std::uint64_t token);
    [[nodiscard]] std::uint64_t next_deadline_ns() const noexcept;
    void on_time(std::uint64_t now_ns);
    void on_signal();
    void settle();
    int end();

    // watch.cpp
    void on_rank_ended(std::uint32_t slot_index);
    void on_lives_lost(std::uint64_t now_ns);
    void on_life_lost(std::uint32_t slot_index, std::uint64_t now_ns);
    void reap_strangers();
    void take_start_errors();
    [[nodiscard]] std::string own_account_of(std::uint32_t slot_index) const;
    void report(std::uint32_t slot, os::WaitStatus status, node::SlotState state);
    [[nodiscard]] node::SlotState last_state_of(std::uint32_t slot) const noexcept;
    [[nodiscard]] bool have_others_joined(std::uint32_t slot) const noexcept;
    [[nodiscard]] bool has_ended_by_itself(const Rank& ended, os::WaitStatus status) const noexcept;
    [[nodiscard]] std::uint32_t others_running() const noexcept;
    void look_for_stops(std::uint64_t now_ns);

    // command.cpp
    void on_command();
    void obey_all();
    void obey(const std::string& line);
    void pass_signal(int signal);
    void tell_doings(std::string_view number) const;
    [[nodiscard]] std::vector<std::uint32_t> running_ranks() const;

    // ending.cpp
    void end_soon(std::uint64_t grace_ns);
    void kill_now();
    void give_up(int code, const std::string& text);
    void give_up(const base::Status& status);
    void on_deadline(std::uint64_t now_ns);
    void begin_finishing();
    void on_output_news();
    void end_for_output();  // if output could not be written
    void tell_line_state();
    void carry_output_of(std::uint32_t process);
    void tell_carried();
    [[nodiscard]] bool is_output_complete() const noexcept;

    launch::LaunchPlan plan_;
    launch::JobKey key_;  // kept until the network is open
    launch::LineChannel channel_;
    std::optional<std::size_t> awaited_bytes_;  // size of the announced table of peers
    base::Config config_;
    os::DescriptorLimit descriptors_;
    std::optional<std::uint64_t> core_bytes_;  // the soft limit of core dumps before it was lowered
    std::optional<os::PollSet> poll_;
    std::optional<os::SignalFd> signals_;
    node::Segment segment_;
    LifeWatch lives_;
    HangWatch hangs_;
    StopWatch stops_;
    std::optional<os::Pipe> start_errors_;
    std::unique_ptr<Network> network_;        // nullptr in a job of one node
    std::unique_ptr<FileRequests> requests_;  // none where a sandbox refuses the socket
    std::vector<Rank> ranks_;                 // the ranks of this node, by slot
    OutputThreads outputs_;
    LineState message_line_;  // the last line of the file to which acprun writes its messages
    LineState carried_line_;  // the last line of standard output, if acprun writes it on
    std::vector<UncarriedReport>
        uncarried_;                    // reports whose output is still being passed on, in order
    bool has_told_open_line_ = false;  // the last message to acprun about message_line_ was `open`
    os::FileDescriptor terminal_input_;  // leads to rank 0, until the pump takes it
    StdinPump pump_;

    Phase phase_ = Phase::running;
    std::uint64_t deadline_ns_ = os::poll_forever;
    std::uint64_t killed_ns_ = 0;  // when the phase `killing` began
    std::uint32_t running_ = 0;    // number of ranks that run
    std::uint32_t failed_ = 0;     // number of ranks that failed
    // number of ranks that still ran when this agent began to end them
    std::uint32_t ended_by_us_ = 0;
    int failure_code_ = 0;  // exit code of the first rank that failed by itself
    int asked_signal_ = 0;  // the last signal by which the user asked for the end
    int fixed_code_ = 0;    // timeout, broken output, no start: overrides all others
    bool is_launcher_lost_ = false;
};

}  // namespace acp::agent
