// SPDX-License-Identifier: BSD-3-Clause
// Starts the work that a command needs at the node of its source: sending pieces (PieceSender), running the command here
// (CommandRunner) or running a numbered operation (InvokeRunner). Short work is done at once; the rest is done step by step, in
// turns with other work. One thread. Tests: tests/unit/router/router_test.cpp.
#pragma once

#include <cstdint>

#include "router/command_runner.hpp"
#include "router/invoke_runner.hpp"
#include "router/piece_sender.hpp"

namespace acp::router {

class Executor {
public:
    // All must outlive this.
    Executor(Nodes& nodes,
             Operations& operations,
             Backlog& backlog,
             Outbox& outbox,
             Ends& ends,
             Placement& placement,
             Activity& activity);

    // Begins the part of a command whose source is of this node. false: no room for a record, nothing done.
    [[nodiscard]] bool begin(const Task& task) {
        const auto target = static_cast<std::uint32_t>(nodes_.where(task.command.target_or_word()));
        if (!task.command.is_copy() || nodes_.is_mine(target)) return runner_.begin(task);
        return pieces_.begin(task, nodes_.peer_of(target));
    }

    // The old value of an atomic is sent to its target's node again. false: no room for a record.
    [[nodiscard]] bool begin_value(const Outstanding& command, std::uint64_t value) {
        return pieces_.begin_value(command, value);
    }

    // WIRE-111
    [[nodiscard]] Fault on_command(RouterPeer& from, const CommandFrame& frame);

    // WIRE-117
    [[nodiscard]] Fault on_invoke(RouterPeer& from, const InvokeFrame& frame, Bytes arguments) {
        return invokes_.on_invoke(from, frame, arguments);
    }

    // A step of work whose turn it is at a node: pieces, staged, value, run, or an invoke of another node.
    [[nodiscard]] StepOutcome step(std::uint32_t index, RouterPeer& to);

    // Runs a command again that placement had no room for.
    void run_again(std::uint32_t index) { backlog_.go_on(index, runner_.step(index)); }

    // Placement has run a command or a part of it.
    void on_run(std::uint32_t index, base::Code code, std::uint64_t old) {
        backlog_.go_on(index, runner_.after_run(index, {SettlementState::settled, code}, old));
    }

    // Placement has read a staged piece, or could not.
    void on_staged(std::uint32_t index, base::Code code) { pieces_.on_staged(index, code); }

private:
    Nodes& nodes_;
    Operations& operations_;
    Backlog& backlog_;
    Ends& ends_;
    PieceSender pieces_;
    CommandRunner runner_;
    InvokeRunner invokes_;
};

}  // namespace acp::router
