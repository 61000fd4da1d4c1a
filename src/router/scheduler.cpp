// SPDX-License-Identifier: BSD-3-Clause
// Passes each work to the part that continues it.
#include "router/scheduler.hpp"

namespace acp::router {

Scheduler::Scheduler(OwnCommands& own,
                     Operations& operations,
                     Backlog& backlog,
                     Outbox& outbox,
                     Requests& requests,
                     Executor& executor,
                     Placer& placer,
                     Activity& activity)
    : own_(own),
      operations_(operations),
      backlog_(backlog),
      outbox_(outbox),
      requests_(requests),
      executor_(executor),
      placer_(placer),
      activity_(activity) {}

StepOutcome Scheduler::step(std::uint32_t index, RouterPeer& to) {
    const OperationRecord& operation = operations_[index];
    if (operation.is_cancelled) return StepOutcome::done;
    if (operation.share == Share::own && !own_.has(operation.initiator, operation.token)) {
        return StepOutcome::done;  // the command has completed since
    }
    if (operation.work == Work::request) return requests_.step(operation, to);
    const bool is_invoke_here = operation.work == Work::invoke && operation.share == Share::own;
    return is_invoke_here ? requests_.step_here(index) : executor_.step(index, to);
}

void Scheduler::send(RouterPeer& to) {
    std::uint32_t budget = pieces_per_poll_max;
    while (!to.is_blocked && !to.is_severed) {
        if (!to.notes.is_empty()) {
            outbox_.send_waiting(to);
            continue;
        }
        if (to.flows.is_empty() || budget-- == 0) break;
        const Backlog::Turn turn = backlog_.take_turn(to);
        backlog_.end_turn(to, turn, step(turn.operation, to));
    }
}

void Scheduler::send_all() {
    RouterPeer* to = outbox_.take_ready();
    while (to != nullptr) {
        RouterPeer* following = to->next_ready;
        to->is_ready = false;
        send(*to);
        outbox_.wake(*to);
        to = following;
    }
}

// Tries parked work again. Returns false if there is still no room.
bool Scheduler::ask_again(std::uint32_t index) {
    const OperationRecord& operation = operations_[index];
    if (operation.work == Work::place) return placer_.place_again(index);
    if (operation.is_cancelled) {
        operations_.release(index);
    } else if (operation.work == Work::run) {
        executor_.run_again(index);
    } else {
        backlog_.enqueue(index);
    }
    return true;
}

void Scheduler::retry_waiting() {
    backlog_.retry_due([this](std::uint32_t index) { return ask_again(index); });
}

void Scheduler::on_settled(Ticket ticket, base::Code code, std::uint64_t value) {
    const std::uint32_t index = operations_.find_with_placement(ticket);
    if (index == no_index) {
        ++activity_.counters().bad_tickets;
        return;
    }
    OperationRecord& operation = operations_[index];
    operation.is_with_placement = false;
    activity_.note_move();
    if (operation.is_cancelled) {
        operations_.release(index);
    } else if (operation.work == Work::run) {
        executor_.on_run(index, code, value);
    } else if (operation.work == Work::place) {
        placer_.settle(operation, code);
        operations_.release(index);
    } else {
        executor_.on_staged(index, code);
    }
}

}  // namespace acp::router
