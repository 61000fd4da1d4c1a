// SPDX-License-Identifier: BSD-3-Clause
// Own commands: who runs a command, and the first message to them.
#include <bit>
#include <utility>

#include "local/direct.hpp"
#include "local/forwarder_state.hpp"

namespace acp::local {

namespace {

bool is_aligned(const Place& place, std::uint8_t width) noexcept {
    return place.owner_address % width == 0;
}

}  // namespace

std::uint32_t Forwarder::State::start_ready() {
    std::uint32_t started = 0;
    // Each may take a parcel.
    for (; !ready.is_empty() && started < messages_per_turn_max && parcels.make_room(1) != 0;
         ++started) {
        const std::uint32_t index = pendings.pop(ready);
        const std::uint32_t queued_at = std::exchange(pendings[index].queued_at, nobody);
        start(index);
        if (queued_at != nobody) advance(queued_at);  // it may have ended without taking its place
    }
    return started;
}

void Forwarder::State::start(std::uint32_t index) {
    const memory::Command& command = pendings[index].command;
    Place target;
    Place source;
    const GlobalAddress written = command.target_or_word();
    const Naming naming(*this, written, command.source);
    const Verdict verdict = find(written, command.source, command.bytes, target, source);
    if (verdict.code != base::Code::ok) {
        finish(index, verdict.code, explain(pendings[index], verdict));
    } else if (command.is_copy()) {
        start_copy(index, target, source);
    } else {
        start_atomic(index, target, source);
    }
}

// Lets the next command to a process start, if there is one and room for it.
void Forwarder::State::advance(std::uint32_t receiver) {
    Peer& peer = peers[receiver];
    if (!peer.queued.is_empty() && peer.in_flight < commands_in_flight_max) {
        pendings.push(ready, pendings.pop(peer.queued));
    }
}

// Counts a command as sent to a process. False when it must wait, or the process is dead and it has ended.
//   placer  who must live as well, or nobody
bool Forwarder::State::enlist(std::uint32_t index, std::uint32_t receiver, std::uint32_t placer) {
    for (const std::uint32_t slot : {receiver, placer}) {
        if (slot != nobody && peers[slot].is_dead) {
            finish(index, base::Code::peer,
                   explain(pendings[index], {base::Code::peer, Blame::nothing, slot}));
            return false;
        }
    }
    Peer& peer = peers[receiver];
    if (peer.in_flight >= commands_in_flight_max) {
        pendings.push(peer.queued, index);
        pendings[index].queued_at = receiver;
        return false;
    }
    ++peer.in_flight;
    Pending& pending = pendings[index];
    pending.stage = Stage::running;
    pending.receiver = receiver;
    pending.executor = receiver;
    pending.placer = placer;
    return true;
}

MessageHead Forwarder::State::head_of(std::uint32_t index) const {
    const memory::Command& command = pendings[index].command;
    MessageHead head;
    head.kind = MessageKind::command;
    head.operation = static_cast<std::uint8_t>(command.operation);
    head.width = command.width;
    head.origin = static_cast<std::uint16_t>(own_slot);
    head.token = token_of(index);
    head.target = command.target;
    head.source = command.source;
    head.bytes = command.bytes;
    head.operand = command.operand;
    head.expected = command.expected;
    head.epoch = epoch;
    return head;
}

void Forwarder::State::start_copy(std::uint32_t index, const Place& target, const Place& source) {
    const memory::Command& command = pendings[index].command;
    if (command.bytes == 0) {
        finish(index, base::Code::ok, {});
        return;
    }
    const Job job{token_of(index), command.target, command.source, command.bytes, 0, own_slot};
    const bool is_readable = reaches(own_slot, source);
    if (is_readable && reaches(own_slot, target)) {
        if (command.bytes <= move_bytes_max) {
            move_here(command, target, source, own_slot);
            finish(index, base::Code::ok, {});
            return;
        }
        pendings[index].stage = Stage::running;
        add_job(own_slot, job);
    } else if (is_readable && (source.is_own || command.bytes <= datagram_bytes)) {
        // the bytes themselves: no message asks for them
        if (enlist(index, target.slot, nobody) && !send_only_piece(target.slot, job, source)) {
            add_job(target.slot, job);
        }
    } else {
        // the owner of the source, or, when that is mapped everywhere, of the target
        const std::uint32_t executor = is_readable ? target.slot : source.slot;
        const bool is_relayed = !reaches(executor, target) && target.slot != own_slot;
        if (enlist(index, executor, is_relayed ? target.slot : nobody)) {
            post(executor, head_of(index), {});
        }
    }
}

void Forwarder::State::start_atomic(std::uint32_t index, const Place& target, const Place& source) {
    const memory::Command& command = pendings[index].command;
    const bool is_source_aligned = is_aligned(source, command.width);
    if (!is_source_aligned || !is_aligned(target, command.width)) {
        const Verdict verdict{base::Code::alignment,
                              is_source_aligned ? Blame::target : Blame::source, 0};
        finish(index, verdict.code, explain(pendings[index], verdict));
        return;
    }
    if (reaches(own_slot, source)) {
        if (!reaches(own_slot, target) && !enlist(index, target.slot, nobody)) {
            return;  // not applied yet: it is started again when there is room
        }
        store_old_value(index, run_atomic(command, source, own_slot).operand);
        return;
    }
    if (enlist(index, source.slot, nobody)) {
        post(source.slot, head_of(index), {});
    }
}

// The last part of an atomic: its old value goes to the target, if it has one, which may have vanished meanwhile. Nothing
// else is accessed afterwards, so the names of an access around this call need not be kept.
void Forwarder::State::store_old_value(std::uint32_t index, std::uint64_t old) {
    const memory::Command& command = pendings[index].command;
    if (pendings[index].is_value_wanted || !command.has_target()) {
        finish(index, base::Code::ok, {}, old);
        return;
    }
    const Naming naming(*this, command.target, command.target);
    Place target;
    const Verdict verdict{space.find(command.target, command.width, target), Blame::target, 0};
    if (verdict.code != base::Code::ok) {
        finish(index, verdict.code, explain(pendings[index], verdict));
        return;
    }
    if (reaches(own_slot, target)) {
        store_old(target.direct, old, command.width);
        finish(index, base::Code::ok, {});
        return;
    }
    if (peers[target.slot].is_dead) {
        finish(index, base::Code::peer,
               explain(pendings[index], {base::Code::peer, Blame::nothing, target.slot}));
        return;
    }
    pendings[index].stage = Stage::storing;
    pendings[index].executor = target.slot;
    MessageHead head;
    head.kind = MessageKind::data;
    head.is_last = 1;
    head.origin = static_cast<std::uint16_t>(own_slot);
    head.token = token_of(index);
    head.target = command.target;
    head.epoch = epoch;
    const auto bytes =
        std::bit_cast<std::array<char, 8>>(old);  // little endian: a word of 4 comes first
    post(target.slot, head, std::span(bytes).first(command.width));
}

}  // namespace acp::local
