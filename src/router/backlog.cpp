// SPDX-License-Identifier: BSD-3-Clause
// Keeps flows of work by initiator and lane, and lists of parked work by process.
#include "router/backlog.hpp"

#include "base/assert.hpp"

namespace acp::router {

using base::Code;

Backlog::Backlog(Nodes& nodes,
                 Operations& operations,
                 Outbox& outbox,
                 Ends& ends,
                 Activity& activity,
                 std::uint64_t kept_bytes_max)
    : nodes_(nodes),
      operations_(operations),
      outbox_(outbox),
      ends_(ends),
      activity_(activity),
      flows_(operations.pool().capacity()),
      flow_index_(flows_),
      kept_bytes_max_(kept_bytes_max),
      waiting_(nodes.local_count()) {
    listed_.reserve(nodes.local_count());
    retried_.reserve(nodes.local_count());
}

void Backlog::enqueue(std::uint32_t index, bool is_first) {
    OperationRecord& operation = operations_[index];
    RouterPeer& to = nodes_.lane(operation.lane);
    if (to.is_severed) {
        abandon(index);
        return;
    }
    std::uint32_t found = flow_index_.find(operation.initiator, 2ULL * to.lane);
    if (found == no_index) {
        found = flows_.take();
        ACP_ASSERT(found != no_index);  // there are never more flows than operations
        Flow& flow = flows_[found];
        // Index assumes even tokens.
        flow.token = 2ULL * to.lane;
        flow.initiator = operation.initiator;
        flow.work = Queue{};
        flow_index_.insert(found);
        to.flows.push(flows_, found);
    }
    Flow& flow = flows_[found];
    if (is_first) {
        flow.work.push_front(operations_.pool(), index);
    } else {
        flow.work.push(operations_.pool(), index);
    }
    outbox_.wake(to);
}

void Backlog::go_on(std::uint32_t index, StepOutcome step) {
    if (step == StepOutcome::done) operations_.release(index);
    if (step == StepOutcome::again || step == StepOutcome::blocked) enqueue(index);
}

// Drops work for a severed node and fails its command.
void Backlog::abandon(std::uint32_t index) {
    const OperationRecord& operation = operations_[index];
    if (!operation.is_cancelled && operation.work == Work::request) {
        ends_.fail(
            operation.initiator, operation.token,
            {Code::peer, BlamedAddress::source, nodes_.named(nodes_.lane(operation.lane).first)});
    } else if (!operation.is_cancelled && operation.work != Work::invoke) {
        ends_.fail(
            operation.initiator, operation.token,
            {Code::peer, BlamedAddress::target, nodes_.named(nodes_.where(operation.target))});
    }
    operations_.release(index);
}

void Backlog::abandon_all(RouterPeer& gone) {
    while (!gone.flows.is_empty()) {
        const std::uint32_t found = gone.flows.pop(flows_);
        Queue& work = flows_[found].work;
        while (!work.is_empty()) abandon(work.pop(operations_.pool()));
        flow_index_.erase(found);
        flows_.give(found);
    }
}

void Backlog::park(std::uint32_t index, std::uint64_t process) {
    const std::uint32_t slot = nodes_.local_index(process);
    Waiting& waiting = waiting_[slot];
    waiting.work.push(operations_.pool(), index);
    if (!waiting.is_listed) {
        waiting.is_listed = true;
        listed_.push_back(slot);
    }
    retry_at_ = std::min(retry_at_, activity_.now() + retry_wait_);
}

bool Backlog::has_work_of(const RouterPeer& to,
                          std::uint32_t initiator,
                          std::uint64_t first,
                          std::uint64_t count) noexcept {
    const std::uint32_t found = flow_index_.find(initiator, 2ULL * to.lane);
    if (found == no_index) return false;
    const Queue& work = flows_[found].work;
    for (std::uint32_t at = work.head; at != no_index; at = operations_[at].next) {
        if (operations_[at].token - first < 2 * count) return true;
    }
    return false;
}

Backlog::Turn Backlog::take_turn(RouterPeer& to) noexcept {
    const std::uint32_t flow = to.flows.pop(flows_);
    return {flow, flows_[flow].work.pop(operations_.pool())};
}

void Backlog::end_turn(RouterPeer& to, Turn turn, StepOutcome step) noexcept {
    Flow& flow = flows_[turn.flow];
    if (step == StepOutcome::done) operations_.release(turn.operation);
    if (step == StepOutcome::again) flow.work.push(operations_.pool(), turn.operation);
    // The endpoint has no room: this work keeps its place in its flow, and the flow its turn.
    // Otherwise the flow goes to the end of the node's queue, so that initiators take turns.
    if (step == StepOutcome::blocked) {
        flow.work.push_front(operations_.pool(), turn.operation);
        to.flows.push_front(flows_, turn.flow);
    } else if (flow.work.is_empty()) {
        flow_index_.erase(turn.flow);
        flows_.give(turn.flow);
    } else {
        to.flows.push(flows_, turn.flow);
    }
}

}  // namespace acp::router
