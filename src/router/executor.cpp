// SPDX-License-Identifier: BSD-3-Clause
// Begins commands of other nodes, and gives each step of work to its part.
#include "router/executor.hpp"

namespace acp::router {

namespace {

Task task_of(const CommandFrame& frame) noexcept {
    const bool is_copy = frame.operation == memory::Operation::copy;
    Task task;
    task.command.operation = frame.operation;
    task.command.width = frame.width;
    task.command.target = frame.target;
    task.command.source = frame.source;
    task.command.bytes = is_copy ? frame.operand : frame.width;
    task.total = is_copy ? frame.expected : frame.width;
    task.command.operand = is_copy ? 0 : frame.operand;
    task.command.expected = is_copy ? 0 : frame.expected;
    task.token = frame.token;
    task.initiator = frame.initiator;
    task.share = Share::foreign;
    return task;
}

}  // namespace

Executor::Executor(Nodes& nodes,
                   Operations& operations,
                   Backlog& backlog,
                   Outbox& outbox,
                   Ends& ends,
                   Placement& placement,
                   Activity& activity)
    : nodes_(nodes),
      operations_(operations),
      backlog_(backlog),
      ends_(ends),
      activity_(activity),
      pieces_(nodes, operations, backlog, outbox, ends, placement, activity),
      runner_(nodes, operations, backlog, ends, placement, activity),
      invokes_(nodes, operations, backlog, outbox, ends, placement, activity) {}

Fault Executor::on_command(RouterPeer& from, const CommandFrame& frame) {
    if (!from.has(frame.initiator)) return Fault::forged;
    const std::uint64_t source = nodes_.where(frame.source);
    if (!nodes_.is_mine(source)) return Fault::misdirected;
    const Task task = task_of(frame);
    const std::uint64_t target = nodes_.where(task.command.target_or_word());
    if (target >= nodes_.procs()) return Fault::bad_process;
    if (nodes_.is_work_of_the_lost(frame.initiator)) {
        ++activity_.counters().late_puts;
        return Fault::none;
    }
    if (!begin(task)) ends_.refuse_command(from, task);
    return Fault::none;
}

StepOutcome Executor::step(std::uint32_t index, RouterPeer& to) {
    OperationRecord& operation = operations_[index];
    switch (operation.work) {
        case Work::pieces:
            return pieces_.step(index, to);
        case Work::staged:
            return pieces_.step_staged(operation, to);
        case Work::value:
            return pieces_.step_value(operation, to);
        case Work::run:
            return runner_.step(index);
        case Work::invoke:
            return invokes_.step(index, to);
        default:
            return StepOutcome::done;
    }
}

}  // namespace acp::router
