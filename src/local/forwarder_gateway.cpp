// SPDX-License-Identifier: BSD-3-Clause
// Commands of a process that has no global addresses: bytes it brings along, bytes it fetches into its own memory,
// and atomics whose old value it wants back. The owner's side of a fetch is here too: a copy command without a
// target, answered by one message of data.
#include "local/direct.hpp"
#include "local/forwarder_state.hpp"

namespace acp::local {

// Sends the one message a command takes to the owner of its memory. False when there is no room; else the
// command has been sent, or has ended.
//   into  where the bytes go that the owner sends; nullptr: `bytes` go to the owner
bool Forwarder::State::try_send(std::uint64_t user_token,
                                const memory::Command& command,
                                std::span<const char> bytes,
                                char* into) {
    const bool is_get = into != nullptr;
    const GlobalAddress address = is_get ? command.source : command.target;
    Verdict verdict{base::Code::ok, is_get ? Blame::source : Blame::target, 0};
    Place place;
    {
        const Naming naming(*this, address, address);
        verdict.code = space.find(address, command.bytes, place);
    }
    if (verdict.code == base::Code::ok && peers[place.slot].is_dead) {
        verdict = {base::Code::peer, Blame::nothing, place.slot};
    }
    if (!has_pending()) return false;
    const std::uint32_t index = add_pending(user_token, command);
    if (verdict.code != base::Code::ok) {
        finish(index, verdict.code, explain(pendings[index], verdict));
        return true;
    }
    MessageHead head = head_of(index);
    if (!is_get) {
        head.kind = MessageKind::data;
        head.is_last = 1;
        head.bytes = 0;
    }
    Peer& peer = peers[place.slot];
    if (peer.in_flight >= commands_in_flight_max || !peer.outbox.is_empty() ||
        !peer.jobs.is_empty() || !port.send(place.slot, head, bytes)) {
        drop_pending(index);
        return false;
    }
    ++peer.in_flight;
    Pending& pending = pendings[index];
    pending.stage = Stage::running;
    pending.receiver = pending.executor = place.slot;
    pending.into = into;
    return true;
}

bool Forwarder::try_put(std::uint64_t token, GlobalAddress target, std::span<const char> bytes) {
    memory::Command command;
    command.target = target;
    command.bytes = bytes.size();
    return state_->try_send(token, command, bytes, nullptr);
}

bool Forwarder::try_get(std::uint64_t token, GlobalAddress source, std::span<char> into) {
    memory::Command command;
    command.source = source;
    command.bytes = into.size();
    return state_->try_send(token, command, {}, into.data());
}

bool Forwarder::submit_for_value(std::uint64_t token, const memory::Command& command) noexcept {
    if (!state_->has_pending()) return false;
    const std::uint32_t index = state_->add_pending(token, command);
    State::Pending& pending = state_->pendings[index];
    pending.command.target = command.source;  // something to look up; nothing is written there
    pending.is_value_wanted = true;
    state_->enqueue(index);
    return true;
}

// The owner: sends what was asked for in one message, now or when there is room.
void Forwarder::State::serve_fetch(const MessageHead& head) {
    const Naming naming(*this, head.source, head.source);
    Place source;
    Verdict verdict{space.find(head.source, head.bytes, source), Blame::source, 0};
    if (verdict.code == base::Code::ok && !reaches(own_slot, source)) {
        verdict.code = base::Code::address;
    }
    if (verdict.code == base::Code::ok && head.bytes > datagram_bytes) {
        verdict.code = base::Code::argument;
    }
    if (verdict.code != base::Code::ok) {
        report(head.origin, head.token, verdict);
        return;
    }
    const Job job{head.token, 0, head.source, head.bytes, 0, head.origin};
    if (!send_only_piece(head.origin, job, source)) add_job(head.origin, job);
    add(counters.served_commands, 1);
    add(counters.served_bytes, head.bytes);
}

// Who asked: the bytes, in one message.
void Forwarder::State::take_fetched(const MessageHead& head, std::span<const char> payload) {
    const auto index = static_cast<std::uint32_t>(head.token);
    if (head.origin != own_slot || !is_live(head.token)) {
        return;  // its end was told already: the owner died
    }
    const Pending& pending = pendings[index];
    if (pending.into == nullptr || payload.size() != pending.command.bytes) {
        finish(index, base::Code::system,
               {});  // an owner sent something else than it was asked for
        return;
    }
    move_bytes(pending.into, payload.data(), payload.size());
    on_end(head.token, {});
}

}  // namespace acp::local
