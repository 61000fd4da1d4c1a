// SPDX-License-Identifier: BSD-3-Clause
// The forwarder's outside: submitting, and one turn.
#include "local/forwarder.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "local/forwarder_state.hpp"

namespace acp::local {

Forwarder::State::State(Space& its_space,
                        Hazards& its_hazards,
                        Port& its_port,
                        std::uint32_t its_epoch)
    : space(its_space),
      hazards(its_hazards),
      port(its_port),
      counters(its_space.segment().slot(its_space.slot())),
      epoch(its_epoch),
      own_slot(its_space.slot()),
      datagram_bytes(its_port.datagram_bytes()),
      peers(node::slots_of(its_space.segment().shape())) {
    busy.reserve(peers.size());
    ended.reserve(pendings_min);
    handler = [this](std::uint32_t, const MessageHead& head, std::span<const char> payload) {
        on_message(head, payload);
    };
}

Forwarder::State::Naming::Naming(State& state, GlobalAddress target, GlobalAddress source)
    : line_(state.line()) {
    state.hazards.enter(line_, target, source);
}

Forwarder::Forwarder(Space& space, Hazards& hazards, Port& port, std::uint32_t epoch)
    : state_(std::make_unique<State>(space, hazards, port, epoch)) {}

Forwarder::~Forwarder() = default;

// Whether there is memory for another command and its end.
bool Forwarder::State::has_pending() noexcept {
    if (pendings.make_room(1) == 0) return false;
    const std::uint64_t wanted = ended.size() + outstanding + 1;
    if (wanted <= ended.capacity()) return true;
    try {
        ended.reserve(std::max<std::uint64_t>(wanted, 2 * ended.capacity()));
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

// After has_pending().
std::uint32_t Forwarder::State::add_pending(std::uint64_t user_token,
                                            const memory::Command& command) noexcept {
    const std::uint32_t index = pendings.take();
    Pending& pending = pendings[index];
    pending.user_token = user_token;
    pending.command = command;
    pending.is_value_wanted = false;
    pending.into = nullptr;
    if (!command.is_copy()) pending.command.bytes = command.width;
    ++outstanding;
    return index;
}

// One that was not sent: as if it had not been added.
void Forwarder::State::drop_pending(std::uint32_t index) noexcept {
    pendings.give(index);
    --outstanding;
}

void Forwarder::State::enqueue(std::uint32_t index) noexcept {
    pendings[index].stage = Stage::queued;
    pendings.push(ready, index);
}

bool Forwarder::submit(std::uint64_t token, const memory::Command& command) noexcept {
    if (!state_->has_pending()) return false;
    state_->enqueue(state_->add_pending(token, command));
    return true;
}

std::uint32_t Forwarder::turn() {
    State& state = *state_;
    std::uint32_t done = state.start_ready();
    // A message may have to be answered, and the answer may have to wait: without a place for it the mail waits.
    const std::uint32_t room = state.parcels.make_room(messages_per_turn_max);
    done += state.port.receive(state.handler, std::min(room, messages_per_turn_max));
    done += state.start_ready();  // an end makes room for the next command
    done += state.flush();
    state.lease.reset();  // the next turn may be another thread's
    return done;
}

std::span<Ended> Forwarder::ended() noexcept {
    return state_->ended;
}

void Forwarder::forget_ended() noexcept {
    state_->ended.clear();
}

bool Forwarder::has_work() const noexcept {
    return state_->has_work();
}

bool Forwarder::has_backlog() const noexcept {
    return !state_->ready.is_empty() || !state_->busy.empty();
}

void Forwarder::on_death(std::uint32_t dead_slot) {
    state_->on_death(dead_slot);
}

std::uint64_t Forwarder::outstanding() const noexcept {
    return state_->outstanding;
}

void Forwarder::set_observer(Observer observer) {
    state_->observer = std::move(observer);
}

}  // namespace acp::local
