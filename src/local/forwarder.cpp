// SPDX-License-Identifier: BSD-3-Clause
// The forwarder's outside: submitting, and one turn.
#include "local/forwarder.hpp"

#include <iterator>
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

std::uint32_t Forwarder::State::add_pending(std::uint64_t user_token,
                                            const memory::Command& command) {
    std::uint32_t index = 0;
    if (free_pendings.empty()) {
        index = static_cast<std::uint32_t>(pendings.size());
        pendings.emplace_back();
    } else {
        index = free_pendings.back();
        free_pendings.pop_back();
    }
    Pending& pending = pendings[index];
    pending.user_token = user_token;
    pending.command = command;
    pending.is_value_wanted = false;
    pending.into = nullptr;
    if (!command.is_copy()) pending.command.bytes = command.width;
    ++outstanding;
    return index;
}

void Forwarder::State::enqueue(std::uint32_t index) {
    pendings[index].stage = Stage::queued;
    ready.push(index);
}

void Forwarder::submit(std::uint64_t token, const memory::Command& command) {
    state_->enqueue(state_->add_pending(token, command));
}

std::uint32_t Forwarder::turn() {
    State& state = *state_;
    std::uint32_t done = state.start_ready();
    done += state.port.receive(state.handler, messages_per_turn_max);
    done += state.start_ready();  // an end makes room for the next command
    done += state.flush();
    state.lease.reset();  // the next turn may be another thread's
    return done;
}

void Forwarder::take_ended(std::vector<Ended>& into) {
    std::vector<Ended>& ended = state_->ended;
    into.insert(into.end(), std::make_move_iterator(ended.begin()),
                std::make_move_iterator(ended.end()));
    ended.clear();
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
