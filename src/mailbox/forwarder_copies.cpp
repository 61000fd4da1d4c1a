// SPDX-License-Identifier: BSD-3-Clause
// Runs copies in pieces. Each piece looks up the whole range of the copy again, so no piece is
// moved after either end was unregistered.
#include "mailbox/forwarder_copies.hpp"

#include <algorithm>
#include <span>

namespace acp::mailbox {

void ForwarderCopies::send(std::uint32_t receiver,
                           const PieceCopy& copy,
                           const local::Place& source) {
    const bool is_alone = copy.bytes <= queues_.datagram_bytes() && !queues_.has_copies(receiver);
    if (is_alone && !source.is_device()) {
        MessageHead head = queues_.head(MessageKind::data, copy.origin, copy.token);
        head.target = copy.target;
        head.source = copy.source;
        head.is_last = 1;
        if (queues_.send(receiver, head, {source.direct, copy.bytes})) return;
    }
    queues_.add_copy(receiver, copy);
}

std::uint32_t ForwarderCopies::send_to_all() {
    std::uint32_t sent = 0;
    for (std::size_t i = 0; i < queues_.receivers().size();) {
        const std::uint32_t receiver = queues_.receivers()[i];
        sent += queues_.send_messages(receiver);
        if (!queues_.has_messages(receiver)) sent += send_pieces(receiver);
        if (!queues_.unlist_if_empty(i)) ++i;
    }
    return sent;
}

std::uint32_t ForwarderCopies::send_pieces(std::uint32_t receiver) {
    std::uint32_t sent = 0;
    while (sent < pieces_per_poll_max && queues_.has_copies(receiver)) {
        AccessVerdict verdict;
        const CopyTurn outcome = step(receiver, queues_.first_copy(receiver), verdict);
        if (outcome == CopyTurn::blocked) break;
        // A copy that waits for its device counts as a step too: a device rings no bell, so the
        // driver must not sleep. By rotation each copy that holds a chunk is polled.
        ++sent;
        if (outcome == CopyTurn::advanced || outcome == CopyTurn::waiting) {
            queues_.rotate_copies(receiver);
            continue;
        }
        PieceCopy copy = queues_.take_copy(receiver);
        devices_.abandon(copy);
        if (outcome == CopyTurn::ended) ends_.report(copy.origin, copy.token, verdict);
    }
    return sent;
}

//   verdict  written when the result is CopyTurn::ended
ForwarderCopies::CopyTurn ForwarderCopies::step(std::uint32_t receiver,
                                                PieceCopy& copy,
                                                AccessVerdict& verdict) {
    const std::uint32_t own_slot = memory_.own_slot();
    if (copy.origin == own_slot && commands_.find(copy.token) == ForwarderCommands::nobody) {
        // the command has failed already, because an earlier piece was refused
        return CopyTurn::sent;
    }
    // A copy without a target names its source twice, because a hazard line with a null target
    // names no address.
    const bool has_target = copy.target != 0;
    const ForwarderMemory::Naming naming(memory_, has_target ? copy.target : copy.source,
                                         copy.source);
    local::Place source;
    local::Place target;
    verdict = has_target ? memory_.find(copy.target, copy.source, copy.bytes, target, source)
                         : memory_.find_source(copy.source, copy.bytes, source);
    if (!verdict.is_ok()) return CopyTurn::ended;
    if (receiver != own_slot) return send_piece(receiver, copy, source, verdict);
    if (source.is_device() || target.is_device()) {
        return step_on_device(copy, target, source, verdict);
    }
    return move_piece(copy, target, source);
}

// A step of a copy within this process, or of an atomic, on memory of its devices.
ForwarderCopies::CopyTurn ForwarderCopies::step_on_device(PieceCopy& copy,
                                                          const local::Place& target,
                                                          const local::Place& source,
                                                          AccessVerdict& verdict) {
    const ForwarderDevices::DeviceStep step = copy.kind == PieceCopy::Kind::copy
                                                  ? devices_.move(copy, target, source, verdict)
                                                  : devices_.run(copy, source, verdict);
    switch (step) {
        case ForwarderDevices::DeviceStep::waiting:
            return CopyTurn::waiting;
        case ForwarderDevices::DeviceStep::ended:
            return CopyTurn::ended;
        case ForwarderDevices::DeviceStep::advanced:
        case ForwarderDevices::DeviceStep::ready:
            break;
    }
    return CopyTurn::advanced;
}

void ForwarderCopies::run_on_device(const memory::Command& command,
                                    const local::Place& word,
                                    std::uint64_t token,
                                    std::uint32_t origin) {
    if (word.device == memory::device_registers) {
        ends_.report(origin, token, devices_.request(command, word));
        return;
    }
    if (!memory::is_sound(command.operation, command.width) ||
        word.owner_address % command.width != 0) {
        ends_.report(origin, token, {base::Code::alignment, Blame::source, 0});
        return;
    }
    PieceCopy atomic{token, 0, command.source, command.width, 0, origin};
    atomic.kind = PieceCopy::Kind::atomic;
    atomic.operation = command.operation;
    atomic.operand = command.operand;
    atomic.expected = command.expected;
    queues_.add_copy(memory_.own_slot(), atomic);
}

std::uint32_t ForwarderCopies::report_placed() {
    std::uint32_t reported = 0;
    while (devices_.has_placements() && queues_.make_room(1) != 0) {
        const auto placed = devices_.take_placed();
        if (!placed) break;
        ends_.report(placed->origin, placed->token, placed->verdict);
        ++reported;
    }
    return reported;
}

//   target, source  where the whole copy lies
ForwarderCopies::CopyTurn ForwarderCopies::move_piece(PieceCopy& copy,
                                                      const local::Place& target,
                                                      const local::Place& source) {
    const bool is_overlapping =
        source.direct < target.direct + copy.bytes && target.direct < source.direct + copy.bytes;
    // Overlapping ranges are moved in one piece: a smaller piece could overwrite source bytes of a
    // later one.
    const std::uint64_t bytes =
        is_overlapping ? copy.bytes : std::min(copy.bytes - copy.done, move_bytes_max);
    local::Place to = target;
    local::Place from = source;
    to.direct += copy.done;
    from.direct += copy.done;
    memory_.move(
        {memory::Operation::copy, 0, copy.target + copy.done, copy.source + copy.done, bytes, 0, 0},
        to, from, copy.origin);
    copy.done += bytes;
    return copy.done < copy.bytes ? CopyTurn::advanced : CopyTurn::ended;
}

//   source  where the whole copy lies
ForwarderCopies::CopyTurn ForwarderCopies::send_piece(std::uint32_t receiver,
                                                      PieceCopy& copy,
                                                      const local::Place& source,
                                                      AccessVerdict& verdict) {
    std::span<const char> ready(source.direct + copy.done, copy.bytes - copy.done);
    if (source.is_device()) {
        if (!queues_.may_have_room(receiver)) return CopyTurn::blocked;
        switch (devices_.read(copy, source, ready, verdict)) {
            case ForwarderDevices::DeviceStep::waiting:
                return CopyTurn::waiting;
            case ForwarderDevices::DeviceStep::advanced:
                return CopyTurn::advanced;
            case ForwarderDevices::DeviceStep::ended:
                return CopyTurn::ended;
            case ForwarderDevices::DeviceStep::ready:
                break;
        }
    }
    const std::uint64_t bytes = std::min<std::uint64_t>(ready.size(), queues_.datagram_bytes());
    MessageHead head = queues_.head(MessageKind::data, copy.origin, copy.token);
    head.target = copy.target == 0 ? 0 : copy.target + copy.done;
    head.source = copy.source + copy.done;
    head.is_last = copy.done + bytes == copy.bytes ? 1 : 0;
    if (!queues_.send(receiver, head, ready.first(bytes))) {
        devices_.forget_read(copy);
        return CopyTurn::blocked;
    }
    copy.done += bytes;
    if (source.is_device()) devices_.note_sent(copy);
    return copy.done < copy.bytes ? CopyTurn::advanced : CopyTurn::sent;
}

void ForwarderCopies::on_death(std::uint32_t dead_slot) {
    const AccessVerdict verdict{base::Code::peer, Blame::nothing, dead_slot};
    while (queues_.has_copies(dead_slot)) {
        PieceCopy copy = queues_.take_copy(dead_slot);
        devices_.abandon(copy);
        if (copy.origin != dead_slot) ends_.report(copy.origin, copy.token, verdict);
    }
    queues_.drop_copies_of(dead_slot, [this](PieceCopy& copy) { devices_.abandon(copy); });
}

}  // namespace acp::mailbox
