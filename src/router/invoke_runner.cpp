// SPDX-License-Identifier: BSD-3-Clause
// Runs operations for other nodes. A result is written directly into the datagram.
#include "router/invoke_runner.hpp"

#include <algorithm>

namespace acp::router {

using base::Code;

InvokeRunner::InvokeRunner(Nodes& nodes,
                           Operations& operations,
                           Backlog& backlog,
                           Outbox& outbox,
                           Ends& ends,
                           Placement& placement,
                           Activity& activity)
    : nodes_(nodes),
      operations_(operations),
      backlog_(backlog),
      outbox_(outbox),
      ends_(ends),
      placement_(placement),
      activity_(activity) {}

Fault InvokeRunner::on_invoke(RouterPeer& from, const InvokeFrame& frame, Bytes arguments) {
    if (!from.has(frame.initiator)) return Fault::forged;
    if (!nodes_.is_mine(frame.process)) return Fault::misdirected;
    if (nodes_.is_work_of_the_lost(frame.initiator)) {
        ++activity_.counters().late_puts;
        return Fault::none;
    }
    OperationRecord call;
    call.token = frame.token;
    call.initiator = frame.initiator;
    call.target = frame.process;
    call.source = frame.operation;
    if (from.flows.is_empty() && !from.is_blocked && run(call, arguments, from) == Ran::ran) {
        return Fault::none;
    }
    const std::uint32_t index = operations_.take_invoke(arguments);
    if (index == no_index) {
        refuse(from, frame);
        return Fault::none;
    }
    OperationRecord& operation = operations_[index];
    operation.token = frame.token;
    operation.initiator = frame.initiator;
    operation.target = frame.process;
    operation.source = frame.operation;
    operation.lane = from.lane;
    backlog_.enqueue(index);
    return Fault::none;
}

Fault InvokeRunner::on_invoke_after(RouterPeer& from,
                                    const ShortFrame& after,
                                    const InvokeFrame& frame,
                                    Bytes arguments) {
    if (after.initiator != frame.initiator) return Fault::forged;
    if (ends_.has_finished(after)) return on_invoke(from, frame, arguments);
    if (!from.has(frame.initiator)) return Fault::forged;
    if (!nodes_.is_mine(frame.process)) return Fault::misdirected;
    refuse(from, frame);
    return Fault::none;
}

void InvokeRunner::refuse(RouterPeer& to, const InvokeFrame& frame) {
    Task refused;
    refused.initiator = frame.initiator;
    refused.token = frame.token;
    ends_.refuse_command(to, refused);
}

StepOutcome InvokeRunner::step(std::uint32_t index, RouterPeer& to) {
    const OperationRecord& operation = operations_[index];
    switch (run(operation, operations_.arguments_of(operation), to)) {
        case Ran::no_room:
            return StepOutcome::blocked;
        case Ran::not_now:
            backlog_.park(index, operation.target);
            return StepOutcome::parked;
        default:
            return StepOutcome::done;
    }
}

// WIRE-118. There must be room before the operation runs, because it writes its result into the
// datagram and must not run twice.
InvokeRunner::Ran InvokeRunner::run(const OperationRecord& operation,
                                    Bytes arguments,
                                    RouterPeer& to) {
    const std::uint32_t result_bytes_max =
        placement_.result_bytes_max(static_cast<std::uint32_t>(operation.source));
    const std::uint32_t room_bytes =
        sizeof(ResultFrame) + std::min(result_bytes_max, invoke_bytes_max);
    std::byte* room = outbox_.reserve(to, room_bytes);
    if (room == nullptr) return Ran::no_room;
    std::uint32_t result_bytes = 0;
    const auto process = static_cast<std::uint32_t>(operation.target);
    const Settlement ran = placement_.invoke(
        static_cast<std::uint32_t>(operation.source), process, arguments,
        {room + sizeof(ResultFrame), room_bytes - sizeof(ResultFrame)}, result_bytes);
    if (ran.progress != SettlementState::settled) return Ran::not_now;
    ++activity_.counters().runs;
    ResultFrame frame;
    frame.code = static_cast<std::uint8_t>(ran.code);
    frame.bytes = ran.code == Code::ok ? static_cast<std::uint16_t>(result_bytes) : 0;
    frame.initiator = operation.initiator;
    frame.token = operation.token;
    write(room, frame);
    outbox_.commit(to, sizeof frame + frame.bytes);
    return Ran::ran;
}

}  // namespace acp::router
