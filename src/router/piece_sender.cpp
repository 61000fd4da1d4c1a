// SPDX-License-Identifier: BSD-3-Clause
// Cuts copies into pieces, and moves the bytes of pieces into datagrams.
#include "router/piece_sender.hpp"

#include <algorithm>
#include <cstring>

namespace acp::router {

using base::Code;

namespace {

// The fixed part of a PUT for a record of work.
PutFrame head_of(const OperationRecord& operation,
                 std::uint64_t bytes,
                 std::uint64_t total) noexcept {
    PutFrame frame;
    frame.bytes = static_cast<std::uint16_t>(bytes);
    frame.initiator = operation.initiator;
    frame.token = operation.token;
    frame.target = operation.target;
    frame.total = total;
    return frame;
}

}  // namespace

PieceSender::PieceSender(Nodes& nodes,
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

bool PieceSender::begin(const Task& task, RouterPeer& to) {
    if (to.is_severed) {
        const std::uint32_t target = nodes_.named(nodes_.where(task.command.target));
        ends_.fail(task.initiator, task.token, {Code::peer, BlamedAddress::target, target});
        return true;
    }
    const std::uint64_t bytes = task.command.bytes;
    if (to.flows.is_empty() && !to.is_blocked &&
        bytes + sizeof(PutFrame) <= outbox_.frame_bytes_max(to)) {
        const PutPiece piece{task.command.source, task.command.target,
                             task.total,          task.token,
                             task.initiator,      static_cast<std::uint32_t>(bytes)};
        const SendResult sent = send(to, piece);
        if (sent == SendResult::sent || sent == SendResult::failed) return true;
    }
    const std::uint32_t index = operations_.take_task(task, Work::pieces, to.lane);
    if (index == no_index) return false;
    backlog_.enqueue(index);
    return true;
}

bool PieceSender::send_after(const Outstanding& record, RouterPeer& to) {
    constexpr std::uint64_t head_bytes = sizeof(ShortFrame) + sizeof(PutFrame);
    if (!to.flows.is_empty() || to.is_blocked || to.is_severed ||
        head_bytes + record.bytes > outbox_.frame_bytes_max(to)) {
        return false;
    }
    std::byte* room = outbox_.reserve(to, head_bytes + record.bytes);
    if (room == nullptr) return false;
    const Settlement got = placement_.get_now(record.source, {room + head_bytes, record.bytes});
    // An error is reported by a later try, when the commands before this one have completed.
    if (got.progress != SettlementState::settled || got.code != Code::ok) return false;
    write(room, ShortFrame{FrameType::after, 0, static_cast<std::uint16_t>(record.expected),
                           record.initiator, record.operand});
    PutFrame frame;
    frame.bytes = static_cast<std::uint16_t>(record.bytes);
    frame.initiator = record.initiator;
    frame.token = record.token;
    frame.target = record.target;
    frame.total = record.bytes;
    write(room + sizeof(ShortFrame), frame);
    outbox_.commit(to, head_bytes + record.bytes);
    count_sent(record.bytes);
    return true;
}

bool PieceSender::begin_value(const Outstanding& command, std::uint64_t value) {
    const std::uint32_t index = operations_.take(Share::value, Work::value);
    if (index == no_index) return false;
    OperationRecord& operation = operations_[index];
    operation.token = command.token;
    operation.initiator = command.initiator;
    operation.target = command.target;
    operation.source = command.source;
    operation.operand = value;
    operation.width = command.width;
    RouterPeer& to = nodes_.peer_of(static_cast<std::uint32_t>(nodes_.where(command.target)));
    operation.lane = nodes_.lane_to(to, command.target, command.source).lane;
    backlog_.enqueue(index);
    return true;
}

void PieceSender::count_sent(std::uint64_t bytes) noexcept {
    ++activity_.counters().puts_sent;
    activity_.counters().bytes_sent += bytes;
}

// WIRE-110. Sends one piece of this node's memory: copies it into the datagram, or makes the
// endpoint read it when it seals the datagram.
PieceSender::SendResult PieceSender::send(RouterPeer& to, const PutPiece& piece) {
    std::byte* room = outbox_.reserve(to, sizeof(PutFrame) + piece.bytes);
    if (room == nullptr) return SendResult::no_room;
    const std::byte* const lasting = piece.bytes >= lasting_bytes_min
                                         ? placement_.find_lasting(piece.source, piece.bytes)
                                         : nullptr;
    if (lasting == nullptr) {
        const Settlement got =
            placement_.get_now(piece.source, {room + sizeof(PutFrame), piece.bytes});
        if (got.progress != SettlementState::settled) return SendResult::not_now;
        if (got.code != Code::ok) {
            const std::uint32_t source = nodes_.named(nodes_.where(piece.source));
            ends_.fail(piece.initiator, piece.token, {got.code, BlamedAddress::source, source});
            return SendResult::failed;
        }
    }
    PutFrame frame;
    frame.bytes = static_cast<std::uint16_t>(piece.bytes);
    frame.initiator = piece.initiator;
    frame.token = piece.token;
    frame.target = piece.target;
    frame.total = piece.total;
    write(room, frame);
    if (lasting == nullptr) {
        outbox_.commit(to, sizeof frame + piece.bytes);
    } else {
        // The source must not change before the copy has ended, and by then the target has all
        // bytes. A retransmission after that may carry other bytes, which the receiver drops as a
        // duplicate.
        outbox_.commit_with_tail(to, sizeof frame, {lasting, piece.bytes});
    }
    count_sent(piece.bytes);
    return SendResult::sent;
}

// The longest piece that a datagram carries, in whole words, so that the next piece starts aligned.
std::uint32_t PieceSender::piece_bytes(RouterPeer& to) const noexcept {
    const std::uint32_t frame_bytes = outbox_.frame_bytes_max(to);
    const std::uint64_t bytes = std::min<std::uint64_t>(frame_bytes - sizeof(PutFrame), 0xffffU);
    return static_cast<std::uint32_t>(bytes) & ~7U;
}

StepOutcome PieceSender::step(std::uint32_t index, RouterPeer& to) {
    OperationRecord& operation = operations_[index];
    const std::uint64_t left = operation.bytes - operation.offset;
    auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, piece_bytes(to)));
    if (!operation.is_staged) {
        const PutPiece piece{operation.source + operation.offset,
                             operation.target + operation.offset,
                             operation.total,
                             operation.token,
                             operation.initiator,
                             bytes};
        switch (send(to, piece)) {
            case SendResult::sent:
                operation.offset += bytes;
                return operation.offset == operation.bytes ? StepOutcome::done : StepOutcome::again;
            case SendResult::failed:
                return StepOutcome::done;
            case SendResult::no_room:
                return StepOutcome::blocked;
            case SendResult::not_now:
                operation.is_staged = true;
                break;
        }
    }
    bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, staging_bytes_max));
    return stage(index, bytes);
}

// Makes placement read a piece into a staging buffer; the piece is sent when placement has read it.
StepOutcome PieceSender::stage(std::uint32_t index, std::uint32_t bytes) {
    OperationRecord& operation = operations_[index];
    const std::uint64_t process = nodes_.where(operation.source);
    const std::uint32_t taken = operations_.take_staged();
    if (taken == no_index) {
        backlog_.park(index, process);
        return StepOutcome::parked;
    }
    OperationRecord& piece = operations_[taken];
    piece.token = operation.token;
    piece.initiator = operation.initiator;
    piece.source = operation.source + operation.offset;
    piece.target = operation.target + operation.offset;
    piece.bytes = bytes;
    piece.total = operation.total;
    piece.lane = operation.lane;
    piece.parent = index;
    piece.parent_generation = operation.generation;
    const Settlement got =
        placement_.get(piece.source, operations_.staging_of(piece), operations_.ticket_of(taken));
    if (got.progress == SettlementState::refused) {
        operations_.release(taken);
        backlog_.park(index, process);
        return StepOutcome::parked;
    }
    operation.offset += bytes;
    if (got.progress == SettlementState::accepted) {
        piece.is_with_placement = true;
    } else if (got.code != Code::ok) {
        ends_.fail(operation.initiator, operation.token,
                   {got.code, BlamedAddress::source, nodes_.named(process)});
        operations_.release(taken);
        return StepOutcome::done;
    } else {
        backlog_.enqueue(taken, true);
    }
    return operation.offset == operation.bytes ? StepOutcome::done : StepOutcome::again;
}

void PieceSender::on_staged(std::uint32_t index, Code code) {
    if (code == Code::ok) {
        backlog_.enqueue(index, true);
        return;
    }
    const OperationRecord& piece = operations_[index];
    // The command fails, so its remaining pieces are not sent.
    if (OperationRecord* const copy = operations_.parent_of(piece)) copy->is_cancelled = true;
    ends_.fail(piece.initiator, piece.token,
               {code, BlamedAddress::source, nodes_.named(nodes_.where(piece.source))});
    operations_.release(index);
}

StepOutcome PieceSender::step_staged(const OperationRecord& piece, RouterPeer& to) {
    std::byte* room = outbox_.reserve(to, sizeof(PutFrame) + piece.bytes);
    if (room == nullptr) return StepOutcome::blocked;
    write(room, head_of(piece, piece.bytes, piece.total));
    const Bytes bytes = operations_.staging_of(piece);
    std::memcpy(room + sizeof(PutFrame), bytes.data(), bytes.size());
    outbox_.commit(to, sizeof(PutFrame) + piece.bytes);
    count_sent(piece.bytes);
    return StepOutcome::done;
}

StepOutcome PieceSender::step_value(const OperationRecord& value, RouterPeer& to) {
    std::byte* room = outbox_.reserve(to, sizeof(PutFrame) + value.width);
    if (room == nullptr) return StepOutcome::blocked;
    PutFrame frame = head_of(value, value.width, value.width);
    frame.is_value = 1;
    write(room, frame);
    std::memcpy(room + sizeof frame, &value.operand, value.width);
    outbox_.commit(to, sizeof frame + value.width);
    return StepOutcome::done;
}

}  // namespace acp::router
