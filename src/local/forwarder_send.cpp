// SPDX-License-Identifier: BSD-3-Clause
// What leaves: messages that found no room, and copies in pieces. The copies to one receiver take turns piece
// by piece, and a receiver without room holds up nobody else.
#include <algorithm>

#include "local/direct.hpp"
#include "local/forwarder_state.hpp"

namespace acp::local {

namespace {

MessageHead piece_head(std::uint64_t token,
                       std::uint32_t origin,
                       GlobalAddress target,
                       GlobalAddress source,
                       std::uint32_t epoch) noexcept {
    MessageHead head;
    head.kind = MessageKind::data;
    head.origin = static_cast<std::uint16_t>(origin);
    head.token = token;
    head.target = target;
    head.source = source;
    head.epoch = epoch;
    return head;
}

}  // namespace

// Sends a small message now or when there is room.   payload.size() <= 8
void Forwarder::State::post(std::uint32_t receiver,
                            const MessageHead& head,
                            std::span<const char> payload) {
    Peer& peer = peers[receiver];
    if (peer.is_dead || (peer.outbox.is_empty() && port.send(receiver, head, payload))) {
        return;
    }
    const std::uint32_t parcel = parcels.take();  // who began this made sure of one
    Waiting& waiting = parcels[parcel].waiting;
    waiting.head = head;
    waiting.head.payload_bytes = static_cast<std::uint32_t>(payload.size());
    std::copy(payload.begin(), payload.end(), waiting.payload.begin());
    parcels.push(peer.outbox, parcel);
    list(receiver);
}

void Forwarder::State::add_job(std::uint32_t receiver, const Job& job) {
    const std::uint32_t parcel = parcels.take();  // as in post()
    parcels[parcel].job = job;
    parcels.push(peers[receiver].jobs, parcel);
    list(receiver);
}

// A copy that fits one message, at once. False when it does not fit or there is no room.
// The caller names the addresses.
bool Forwarder::State::send_only_piece(std::uint32_t receiver,
                                       const Job& job,
                                       const Place& source) {
    if (job.bytes > datagram_bytes || !peers[receiver].jobs.is_empty()) {
        return false;
    }
    MessageHead head = piece_head(job.token, job.origin, job.target, job.source, epoch);
    head.is_last = 1;
    return port.send(receiver, head, {source.direct, job.bytes});
}

void Forwarder::State::move_here(const memory::Command& command,
                                 const Place& target,
                                 const Place& source,
                                 std::uint32_t origin) {
    move_bytes(target.direct, source.direct, command.bytes);
    if (origin != own_slot) add(counters.served_bytes, command.bytes);
    if (observer) observer(command, origin);
}

Forwarder::State::Step Forwarder::State::step(std::uint32_t receiver, Job& job) {
    if (job.origin == own_slot && !is_live(job.token)) {
        return Step::finished;  // its end was told already: an earlier piece was refused
    }
    const bool is_move = receiver == own_slot;
    const GlobalAddress from = job.source + job.done;
    const GlobalAddress to = job.target == 0 ? 0 : job.target + job.done;
    std::uint64_t bytes =
        std::min<std::uint64_t>(job.bytes - job.done, is_move ? move_bytes_max : datagram_bytes);
    const Naming naming(*this, job.target, job.source);
    Place source;
    Place target;
    // both in full: nothing is moved once either of them is gone
    Verdict verdict = job.target == 0
                          ? Verdict{space.find(job.source, job.bytes, source), Blame::source, 0}
                          : find(job.target, job.source, job.bytes, target, source);
    if (verdict.code != base::Code::ok) {
        report(job.origin, job.token, verdict);
        return Step::finished;
    }
    source.direct += job.done;
    if (is_move) {
        const bool is_overlapping = source.direct - job.done < target.direct + job.bytes &&
                                    target.direct < source.direct - job.done + job.bytes;
        if (is_overlapping) bytes = job.bytes;  // only a move in one go is right
        target.direct += job.done;
        move_here({memory::Operation::copy, 0, to, from, bytes, 0, 0}, target, source, job.origin);
    } else {
        MessageHead head = piece_head(job.token, job.origin, to, from, epoch);
        head.is_last = job.done + bytes == job.bytes ? 1 : 0;
        if (!port.send(receiver, head, {source.direct, bytes})) return Step::blocked;
    }
    job.done += bytes;
    if (job.done < job.bytes) return Step::advanced;
    if (is_move) report(job.origin, job.token, {});
    return Step::finished;
}

std::uint32_t Forwarder::State::flush_to(std::uint32_t receiver) {
    Peer& peer = peers[receiver];
    std::uint32_t sent = 0;
    while (!peer.outbox.is_empty()) {
        const Waiting& first = parcels[peer.outbox.first].waiting;
        if (!port.send(receiver, first.head,
                       std::span(first.payload).first(first.head.payload_bytes))) {
            return sent;
        }
        parcels.give(parcels.pop(peer.outbox));
        ++sent;
    }
    for (std::uint32_t i = 0; i < pieces_per_turn_max && !peer.jobs.is_empty(); ++i) {
        // Free while it takes its step: when that ends the copy, the report may need a parcel.
        std::uint32_t parcel = parcels.pop(peer.jobs);
        Job job = parcels[parcel].job;
        parcels.give(parcel);
        const Step outcome = step(receiver, job);
        if (outcome != Step::finished) {
            parcel = parcels.take();
            parcels[parcel].job = job;
        }
        if (outcome == Step::blocked) {
            parcels.push_front(peer.jobs, parcel);
            return sent;
        }
        ++sent;
        if (outcome == Step::advanced)
            parcels.push(peer.jobs, parcel);  // to the end: the others' turn
    }
    return sent;
}

std::uint32_t Forwarder::State::flush() {
    std::uint32_t sent = 0;
    for (std::size_t i = 0; i < busy.size();) {
        const std::uint32_t receiver = busy[i];
        Peer& peer = peers[receiver];
        sent += flush_to(receiver);
        if (peer.outbox.is_empty() && peer.jobs.is_empty()) {
            peer.is_listed = false;
            busy[i] = busy.back();
            busy.pop_back();
        } else {
            ++i;
        }
    }
    return sent;
}

bool Forwarder::State::has_work() const noexcept {
    return !ready.is_empty() ||
           std::any_of(busy.begin(), busy.end(), [this](std::uint32_t receiver) {
               return receiver == own_slot || port.has_room(receiver);
           });
}

}  // namespace acp::local
