// SPDX-License-Identifier: BSD-3-Clause
// Does the work that a command needs at the node of its source: sends pieces (PieceSender), runs
// the command here (CommandRunner), or runs a numbered operation (InvokeRunner). Short work is done
// at once; longer work in steps, between which other work has its turn. One thread.
// Tests: tests/unit/router/router_test.cpp.
#pragma once

#include <cstdint>

#include "router/command_runner.hpp"
#include "router/invoke_runner.hpp"
#include "router/piece_sender.hpp"

namespace acp::router {

class Executor {
public:
    // All arguments must outlive this.
    Executor(Nodes& nodes,
             Operations& operations,
             Backlog& backlog,
             Outbox& outbox,
             Ends& ends,
             Placement& placement,
             Activity& activity);

    // Begins a command whose source is on this node, or a part of it. Returns false if there is no
    // free record; nothing was done then.
    [[nodiscard]] bool begin(const Task& task) {
        const auto target = static_cast<std::uint32_t>(nodes_.where(task.command.target_or_word()));
        if (!task.command.is_copy() || nodes_.is_mine(target)) return runner_.begin(task);
        return pieces_.begin(
            task, nodes_.lane_to(nodes_.peer_of(target), task.command.target, task.command.source));
    }

    // See PieceSender::send_after().
    [[nodiscard]] bool send_after(const Outstanding& record) {
        const auto target = static_cast<std::uint32_t>(nodes_.where(record.target));
        return pieces_.send_after(
            record, nodes_.lane_to(nodes_.peer_of(target), record.target, record.source));
    }

    // Sends the old value of an atomic to the target's node again. Returns false if there is no
    // free record.
    [[nodiscard]] bool begin_value(const Outstanding& command, std::uint64_t value) {
        return pieces_.begin_value(command, value);
    }

    // WIRE-111: a command of another node's process, whose source is here.
    [[nodiscard]] Fault on_command(RouterPeer& from, const CommandFrame& frame);

    // WIRE-117: an invoke of a process of this node.
    [[nodiscard]] Fault on_invoke_after(RouterPeer& from,
                                        const ShortFrame& after,
                                        const InvokeFrame& frame,
                                        Bytes arguments) {
        return invokes_.on_invoke_after(from, after, frame, arguments);
    }

    [[nodiscard]] Fault on_invoke(RouterPeer& from, const InvokeFrame& frame, Bytes arguments) {
        return invokes_.on_invoke(from, frame, arguments);
    }

    // Makes a step of work whose turn it is at a node: pieces, staged, value, run, or another
    // node's invoke.
    [[nodiscard]] StepOutcome step(std::uint32_t index, RouterPeer& to);

    // Runs a parked command again, for which placement had no room.
    void run_again(std::uint32_t index) { backlog_.go_on(index, runner_.step(index)); }

    // Call when placement has run a command or a part of it.
    //   old  the old value of an atomic
    void on_run(std::uint32_t index, base::Code code, std::uint64_t old) {
        backlog_.go_on(index, runner_.after_run(index, {SettlementState::settled, code}, old));
    }

    // Call when placement has read a staged piece, or failed to.
    void on_staged(std::uint32_t index, base::Code code) { pieces_.on_staged(index, code); }

private:
    Nodes& nodes_;
    Operations& operations_;
    Backlog& backlog_;
    Ends& ends_;
    Activity& activity_;
    PieceSender pieces_;
    CommandRunner runner_;
    InvokeRunner invokes_;
};

}  // namespace acp::router
