// SPDX-License-Identifier: BSD-3-Clause
// One agent as acprun sees it: its process, the channel to it, and its state. Decides nothing about
// the job. Main thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"

#include "launch/interface_list.hpp"
#include "launch/job_key.hpp"
#include "launch/line_channel.hpp"
#include "launch/peer_table.hpp"
#include "plan.hpp"

namespace acp::run {

// The content of an agent's last line, `ended`.
struct Ended {
    int code = 0;
    std::uint64_t failed = 0;  // number of ranks that failed
    std::uint64_t killed = 0;  // number of ranks that were killed because another failed
};

// Streams that an agent gets instead of acprun's own.
struct AgentStreams {
    os::FileDescriptor input;
    os::FileDescriptor output;
    os::FileDescriptor error;
};

class AgentLink {
public:
    // Starts the agent of a node, here or on another machine through acp-agent --reach.
    //   descriptors_max  the agent's soft limit of descriptors; 0: as this process's
    // Errors: limit, memory, system.
    base::Status start(const PlannedJob& job,
                       std::uint32_t node,
                       const AgentStreams& streams,
                       std::uint64_t descriptors_max);

    // Sends key and plan; to an agent on another machine only after it was reached.
    // Errors: peer (the agent is gone), those of launch::seal_key.
    base::Status send_plan(const PlannedJob& job, std::uint32_t node, launch::JobKey& key);

    // Sends a line; does nothing when the agent is gone.
    void send(std::string_view line) const {
        if (is_running()) channel->send(line);
    }

    // Ends the process that tries to reach another machine's agent; that agent cannot receive lines
    // yet.
    void cut_off();

    // Ends an agent that does not answer: kills a local agent, whose ranks die with it, or drops
    // the connection to one on another machine.
    void give_up();

    // Kills the local process of an agent on another machine that has sent its last line: it may be
    // blocked in a write of output to a pipe that is not read.
    void drop_output() const;

    [[nodiscard]] bool is_running() const noexcept { return channel && !is_gone; }

    // Whether the agent runs, was reached, and has not sent its last line.
    [[nodiscard]] bool can_answer() const noexcept {
        return is_running() && !is_awaited() && !ended && !is_cut_off;
    }

    // " (process 1234)": the agent, once it has said its number, else the local process.
    [[nodiscard]] std::string process_text() const {
        return " (process " +
               std::to_string(agent_pid != 0 ? agent_pid : static_cast<std::uint64_t>(pid)) + ")";
    }

    // The process of this machine that runs the agent, or carries the connection to it.
    [[nodiscard]] int local_process() const noexcept {
        return is_far || agent_pid == 0 ? pid : static_cast<int>(agent_pid);
    }

    // Whether it has answered each request so far, until the nodes have exchanged their addresses.
    //   have_chosen  all agents have received the addresses at which they listen
    [[nodiscard]] bool has_answered(bool have_chosen) const noexcept {
        return have_chosen ? !gateway.addresses.empty()
                           : interfaces.has_value() || !gateway.addresses.empty();
    }

    [[nodiscard]] bool is_awaited() const noexcept { return is_running() && is_far && !is_reached; }

    std::optional<launch::LineChannel> channel;
    // the local process, which is the agent's keeper, or acp-agent --reach for an agent on another
    // machine
    int pid = 0;
    std::uint64_t agent_pid = 0;  // of the agent itself, on its machine; 0: it has not sent it yet
    bool is_far = false;          // the agent runs on another machine
    bool is_reached = false;      // that machine has answered
    bool is_cut_off = false;
    bool is_done = false;           // the agent has sent `done`
    bool has_open_line = false;     // the output it wrote last lacks its newline
    bool has_told_running = false;  // it has answered `running?`
    bool owes_doings = false;       // it has yet to report what its ranks do
    // it was asked for a sign of life and has not answered
    bool owes_sign_of_life = false;
    std::uint32_t silences = 0;    // consecutive times that it did not answer in time
    bool is_given_up = false;      // it was ended because it did not answer
    bool has_passed_stop = false;  // it has passed SIGTSTP to its ranks
    // The ranks that run there, if all of them are stopped.
    std::vector<std::uint32_t> stopped_ranks;
    bool is_gone = false;                          // it has closed the channel
    std::optional<launch::Interfaces> interfaces;  // of its machine, once it has sent them
    launch::GatewayRow gateway;  // where its gateway listens, once it has sent that
    std::optional<Ended> ended;
};

}  // namespace acp::run
