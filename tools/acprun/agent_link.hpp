// SPDX-License-Identifier: BSD-3-Clause
// One agent as acprun knows it: its process, the talk with it and how far it has come. Decides nothing about the
// job. Main thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"

#include "launch/job_key.hpp"
#include "launch/line_channel.hpp"
#include "launch/peer_table.hpp"
#include "plan.hpp"

namespace acp::run {

// What an agent said last.
struct Ended {
    int code = 0;
    std::uint64_t failed = 0;  // ranks
    std::uint64_t killed = 0;  // ranks, because another failed
};

// Streams of an agent that are not acprun's own.
struct AgentStreams {
    os::FileDescriptor input;
    os::FileDescriptor output;
    os::FileDescriptor error;
};

class AgentLink {
public:
    // Starts the agent of a node, here or on another machine, where it is reached by acp-agent --reach.
    // Errors: limit, memory, system.
    base::Status start(const PlannedJob& job, std::uint32_t node, const AgentStreams& streams);

    // Sends key and plan: to an agent on another machine when it has been reached. false: it is gone.
    bool send_plan(const PlannedJob& job, std::uint32_t node, launch::JobKey& key);

    // Nothing when there is no agent any more.
    void send(std::string_view line) const;

    // Ends an agent on another machine that was not reached yet: it hears nothing.
    void cut_off();

    // Ends an agent that does not answer: kills the one here, whose ranks die with it, or drops the connection to the one
    // on another machine.
    void give_up();

    // Ends what stands for an agent on another machine that has said its last: it carries output nobody takes.
    void drop_output() const;

    [[nodiscard]] bool is_running() const noexcept { return channel && !is_gone; }

    // It runs, was reached, and has not said its last.
    [[nodiscard]] bool can_answer() const noexcept {
        return is_running() && !is_awaited() && !ended && !is_cut_off;
    }

    [[nodiscard]] bool is_awaited() const noexcept { return is_running() && is_far && !is_reached; }

    std::optional<launch::LineChannel> channel;
    int pid = 0;
    bool is_far = false;      // on another machine
    bool is_reached = false;  // that machine has answered
    bool is_cut_off = false;
    bool is_done = false;                      // nothing is left to do on its node
    bool has_told_running = false;             // in answer to timeout
    bool owes_doings = false;                  // what its ranks do
    bool owes_sign_of_life = false;            // it was asked for one
    std::uint32_t silences = 0;                // times in turn that it gave none in time
    bool is_given_up = false;                  // it gave none
    bool has_passed_stop = false;              // SIGTSTP, to its ranks
    bool is_gone = false;                      // it has closed the talk
    std::vector<os::SocketAddress> addresses;  // of its gateway, once told
    std::optional<Ended> ended;
};

}  // namespace acp::run
