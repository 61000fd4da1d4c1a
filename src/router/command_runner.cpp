// SPDX-License-Identifier: BSD-3-Clause
// Passes commands to placement, and handles the outcome.
#include "router/command_runner.hpp"

#include <algorithm>

namespace acp::router {

using base::Code;

CommandRunner::CommandRunner(Nodes& nodes,
                             Operations& operations,
                             Backlog& backlog,
                             Ends& ends,
                             Placement& placement,
                             Activity& activity)
    : nodes_(nodes),
      operations_(operations),
      backlog_(backlog),
      ends_(ends),
      placement_(placement),
      activity_(activity) {}

bool CommandRunner::begin(const Task& task) {
    const auto target = static_cast<std::uint32_t>(nodes_.where(task.command.target_or_word()));
    // An atomic whose old value could not be delivered does not run.
    if (!nodes_.is_mine(target) && nodes_.peer_of(target).is_severed) {
        ends_.fail(task.initiator, task.token, {Code::peer, BlamedAddress::target, target});
        return true;
    }
    const std::uint32_t index = operations_.take_task(task, Work::run, nodes_.self());
    if (index == no_index) return false;
    backlog_.go_on(index, step(index));
    return true;
}

StepOutcome CommandRunner::step(std::uint32_t index) {
    OperationRecord& operation = operations_[index];
    memory::Command command;
    command.operation = static_cast<memory::Operation>(operation.operation);
    command.width = operation.width;
    command.target = operation.is_value_dropped ? 0 : operation.target + operation.offset;
    command.source = operation.source + operation.offset;
    command.bytes = std::min(run_bytes_max, operation.bytes - operation.offset);
    command.operand = operation.operand;
    command.expected = operation.expected;
    if (!command.is_copy()) command.bytes = operation.width;
    // If the target is on this node, placement writes the old value there itself.
    const bool is_value_wanted = !nodes_.is_mine(nodes_.where(operation.target));
    std::uint64_t old = 0;
    const Settlement ran =
        placement_.run(command, is_value_wanted, old, operations_.ticket_of(index));
    if (ran.progress == SettlementState::refused) {
        backlog_.park(index, nodes_.where(operation.source));
        return StepOutcome::parked;
    }
    if (ran.progress == SettlementState::accepted) {
        operation.is_with_placement = true;
        return StepOutcome::parked;
    }
    return after_run(index, ran, old);
}

StepOutcome CommandRunner::after_run(std::uint32_t index,
                                     const Settlement& ran,
                                     std::uint64_t old) {
    OperationRecord& operation = operations_[index];
    const bool is_copy = operation.operation == 0;
    ++activity_.counters().runs;
    activity_.note_move();
    if (ran.code != Code::ok) {
        const bool is_target = ran.blamed == BlamedAddress::target;
        const std::uint32_t process =
            nodes_.named(nodes_.where(is_target ? operation.target : operation.source));
        const bool is_source = ran.blamed == BlamedAddress::none && !is_copy;
        ends_.fail(operation.initiator, operation.token,
                   {ran.code, is_source ? BlamedAddress::source : ran.blamed, process});
        return StepOutcome::done;
    }
    if (!is_copy) return after_atomic(index, old);
    operation.offset += std::min(run_bytes_max, operation.bytes - operation.offset);
    if (operation.offset < operation.bytes) return StepOutcome::again;
    ends_.finish(operation.initiator, operation.token);
    return StepOutcome::done;
}

// ORD-62. Sends the old value to its target's node. Does nothing if that is this node: placement
// has stored it, or the atomic has no target. If it is the initiator's node a VALUE frame carries
// it, else a PUT.
StepOutcome CommandRunner::after_atomic(std::uint32_t index, std::uint64_t old) {
    OperationRecord& operation = operations_[index];
    const auto target = static_cast<std::uint32_t>(nodes_.where(operation.target));
    if (nodes_.is_mine(target)) {
        ends_.finish(operation.initiator, operation.token);
        return StepOutcome::done;
    }
    RouterPeer& to = nodes_.peer_of(target);
    if (to.has(operation.initiator)) {
        ends_.send_value(to, operation.initiator, operation.token, old);
        return StepOutcome::done;
    }
    operation.work = Work::value;
    operation.lane = nodes_.lane_to(to, operation.target, operation.source).lane;
    operation.operand = old;
    backlog_.enqueue(index);
    return StepOutcome::parked;
}

}  // namespace acp::router
