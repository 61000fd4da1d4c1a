// SPDX-License-Identifier: BSD-3-Clause
// How commands end: told to the process they belong to, explained there, and cut short by deaths.
#include <new>
#include <utility>

#include "local/forwarder_state.hpp"
#include "node/death.hpp"

namespace acp::local {

// Tells a command's origin how it came out.
void Forwarder::State::report(std::uint32_t origin, std::uint64_t token, const Verdict& verdict) {
    if (origin == own_slot) {
        on_end(token, verdict);
        return;
    }
    if (verdict.code == base::Code::ok) add(counters.served_commands, 1);
    MessageHead head;
    head.kind = MessageKind::end;
    head.width = static_cast<std::uint8_t>(verdict.blame);
    head.code = static_cast<std::uint8_t>(verdict.code);
    head.origin = static_cast<std::uint16_t>(origin);
    head.token = token;
    head.operand = verdict.operand;
    head.epoch = epoch;
    post(origin, head, {});
}

void Forwarder::State::on_end(std::uint64_t token, const Verdict& verdict) {
    const auto index = static_cast<std::uint32_t>(token);
    if (!is_live(token)) {
        return;  // ended before, by a death or by the failure of an earlier piece
    }
    const Pending& pending = pendings[index];
    if (verdict.code != base::Code::ok) {
        finish(index, verdict.code, explain(pending, verdict));
        return;
    }
    if (pending.receiver != nobody) {
        add(counters.mailbox_commands, pending.stage == Stage::storing ? 0 : 1);
        add(counters.mailbox_bytes, pending.stage == Stage::storing ? 0 : pending.command.bytes);
    }
    if (!pending.command.is_copy() && pending.stage == Stage::running) {
        store_old_value(index, verdict.operand);
    } else {
        finish(index, base::Code::ok, {});
    }
}

void Forwarder::State::finish(std::uint32_t index,
                              base::Code code,
                              std::string message,
                              std::uint64_t value) noexcept {
    Pending& pending = pendings[index];
    ended.push_back(
        {pending.user_token, code, std::move(message), value});  // has_pending() made room
    --outstanding;
    if (pending.receiver != nobody) {
        --peers[pending.receiver].in_flight;
        advance(pending.receiver);
    }
    pending.receiver = pending.executor = pending.placer = nobody;
    pending.stage = Stage::none;
    pending.generation = pending.generation + 1 == 0 ? 1 : pending.generation + 1;
    pendings.give(index);
}

// "" where no memory is left for words.
std::string Forwarder::State::explain(const Pending& pending,
                                      const Verdict& verdict) const noexcept {
    try {
        return words_for(pending, verdict);
    } catch (const std::bad_alloc&) {
        return {};
    }
}

std::string Forwarder::State::words_for(const Pending& pending, const Verdict& verdict) const {
    const memory::Command& command = pending.command;
    if (verdict.code == base::Code::peer) {
        return node::fate(space.segment(), static_cast<std::uint32_t>(verdict.operand));
    }
    const bool is_target = verdict.blame == Blame::target && command.has_target();
    const GlobalAddress address = is_target ? command.target : command.source;
    std::string text = is_target ? "the target is " : "the source is ";
    text += space.explain(address, command.bytes);
    if (verdict.code == base::Code::alignment) {
        text += ", which lies at no multiple of " + std::to_string(command.width) +
                " in the memory of that rank";
    }
    return text;
}

void Forwarder::State::on_death(std::uint32_t dead_slot) {
    if (dead_slot == own_slot || std::exchange(peers[dead_slot].is_dead, true)) {
        return;
    }
    const Verdict verdict{base::Code::peer, Blame::nothing, dead_slot};
    Peer& dead = peers[dead_slot];
    while (!dead.outbox.is_empty()) parcels.give(parcels.pop(dead.outbox));
    while (!dead.jobs.is_empty()) {
        const std::uint32_t parcel = parcels.pop(dead.jobs);
        const Job job = parcels[parcel].job;
        parcels.give(parcel);  // the report may need it
        if (job.origin != dead_slot) report(job.origin, job.token, verdict);
    }
    for (Peer& peer : peers) {
        drop_jobs_of(dead_slot, peer.jobs);
    }
    for (std::uint32_t index = 0; index < pendings.size(); ++index) {
        const Pending& pending = pendings[index];
        const bool is_running = pending.stage == Stage::running || pending.stage == Stage::storing;
        if (is_running && (pending.executor == dead_slot || pending.placer == dead_slot)) {
            finish(index, base::Code::peer, explain(pending, verdict));
        }
    }
    // Those that waited for it find it dead when they are started.
    while (!dead.queued.is_empty()) {
        pendings.push(ready, pendings.pop(dead.queued));
    }
    port.forget(dead_slot);
}

// What was run here for a process that is dead.
void Forwarder::State::drop_jobs_of(std::uint32_t dead_slot, Chain& jobs) noexcept {
    Chain all = std::exchange(jobs, {});
    while (!all.is_empty()) {
        const std::uint32_t parcel = parcels.pop(all);
        if (parcels[parcel].job.origin == dead_slot) {
            parcels.give(parcel);
        } else {
            parcels.push(jobs, parcel);
        }
    }
}

}  // namespace acp::local
