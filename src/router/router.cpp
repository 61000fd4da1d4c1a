// SPDX-License-Identifier: BSD-3-Clause
// The router's surface: each call sets the time, where it has one, and goes to the event's own file.
#include "router/router.hpp"

#include <algorithm>
#include <numeric>

#include "base/assert.hpp"
#include "router/state.hpp"

namespace acp::router {

Router::State::State(const RouterSettings& given,
                     const memory::GaLayout& ga_layout,
                     const Map& job_map,
                     Placement& node_placement,
                     Completions& job_completions)
    : settings(given),
      layout(ga_layout),
      map(job_map),
      placement(node_placement),
      completions(job_completions),
      shape{given.nodes, given.procs},
      first_process(job_map.first_process(given.node)),
      locals(job_map.first_process(given.node + 1) - first_process),
      commands(given.commands_max),
      book(commands),
      own_arguments(given.invokes_max),
      foreign_arguments(given.invokes_max),
      resends(std::max(2 * given.commands_max, resends_min)),
      shares_max{given.executions_max, given.executions_max, given.executions_max,
                 given.executions_max + given.commands_max},
      operations(std::accumulate(shares_max.begin(), shares_max.end(), 0U)),
      flows(operations.capacity()),
      flow_index(flows),
      notes(given.notes_max),
      partials(given.executions_max),
      partial_index(partials),
      peer_at(given.nodes, nullptr),
      meeting(given.node, given.nodes, *this) {
    // What happens to a command later takes no memory.
    peers.reserve(given.nodes);
    waiting_processes.reserve(locals.size());
    retried_processes.reserve(locals.size());
    dead.reserve(given.procs);
    to_sever.reserve(given.nodes);
    watched.reserve(given.nodes);
    staging_free.reserve(given.staging_buffers);
    staging.reset(new std::byte[given.staging_buffers * staging_bytes_max]);
    for (std::uint32_t i = given.staging_buffers; i > 0; --i) staging_free.push_back(i - 1);
}

Router::State::~State() {
    for (std::uint32_t index = 0; index < operations.touched(); ++index) {
        if (operations[index].is_taken) delete[] operations[index].kept;
    }
}

Peer& Router::State::peer(NodeId node) {
    if (peer_at[node] == nullptr) {
        Peer& made = peers.emplace_back();
        made.node = node;
        made.first = map.first_process(node);
        made.count = map.first_process(node + 1) - made.first;
        if (node != settings.node) made.frame_bytes = endpoint->frame_bytes_max(node);
        peer_at[node] = &made;
    }
    return *peer_at[node];
}

//   process  < procs
Peer& Router::State::peer_of(std::uint32_t process) {
    if (last_peer == nullptr || !last_peer->has(process)) last_peer = &peer(map.node_of(process));
    return *last_peer;
}

bool Router::State::is_idle() const noexcept {
    const std::uint32_t spares = spare == no_index ? 0 : 1;
    return commands.used() == 0 && operations.used() == spares && notes.used() == 0 &&
           partials.used() == 0 && resends.used() == 0 && runs_open == 0 &&
           (!meeting.is_on() || is_meeting_lost);
}

Router::Router(const RouterSettings& settings,
               const memory::GaLayout& layout,
               const Map& map,
               Placement& placement,
               Completions& completions)
    : state_(std::make_unique<State>(settings, layout, map, placement, completions)) {}

Router::~Router() = default;

void Router::bind(datagram::Endpoint& endpoint) noexcept {
    state_->endpoint = &endpoint;
}

bool Router::submit(Time now, const Request& request) {
    state_->now = now;
    return state_->submit(request);
}

std::size_t Router::submit_all(Time now,
                               std::uint32_t initiator,
                               std::span<const memory::NumberedCommand> run) {
    state_->now = now;
    return state_->submit_all(initiator, run);
}

bool Router::invoke(Time now,
                    std::uint32_t initiator,
                    std::uint64_t token,
                    std::uint32_t operation,
                    std::uint32_t process,
                    std::span<const std::byte> arguments) {
    state_->now = now;
    return state_->invoke({token, initiator, operation, process}, arguments);
}

bool Router::is_awaited() const noexcept {
    return state_->meeting.is_awaited();
}

void Router::meet(std::uint32_t number, std::span<const std::uint32_t> wanted) {
    if (state_->is_meeting_lost) return;  // ORD-26
    state_->meeting.come(number, wanted);
    state_->note_meeting();
}

void Router::meet_for_least(std::uint32_t number, const Meeting::Words& words) {
    if (state_->is_meeting_lost) return;
    state_->meeting.come_for_least(number, words);
    state_->note_meeting();
}

void Router::on_local_death(std::uint32_t process, std::uint32_t wait_status) {
    ACP_ASSERT(state_->is_mine(process));
    state_->on_death(process, wait_status, true);
}

void Router::on_settled(Ticket ticket, base::Code code, std::uint64_t value) {
    state_->on_settled(ticket, code, value);
}

void Router::on_place_room(std::uint32_t process) {
    if (state_->is_mine(process) && state_->local(process).is_waiting) state_->retry_at = 0;
}

bool Router::turn(Time now) {
    state_->now = now;
    return state_->turn();
}

Time Router::deadline() const noexcept {
    return state_->deadline();
}

const Counters& Router::counters() const noexcept {
    return state_->counters;
}

std::uint32_t Router::outstanding() const noexcept {
    return state_->commands.used();
}

std::uint32_t Router::outstanding_of(std::uint32_t initiator) const noexcept {
    return state_->is_mine(initiator) ? state_->local(initiator).outstanding : 0;
}

bool Router::is_idle() const noexcept {
    return state_->is_idle();
}

void Router::on_frames(NodeId from, datagram::Bytes frames) {
    state_->on_frames(from, frames);
}

void Router::on_room(NodeId node) {
    Peer& to = state_->peer(node);
    to.is_blocked = false;
    state_->wake(to);
    state_->is_meeting_ready = state_->is_meeting_ready || state_->meeting.is_on();
}

// A node that has left, or has severed this one, is no news: if it severed us, it tells of us itself.
void Router::on_severed(NodeId node, datagram::SeverReason reason) {
    state_->on_severed(node, reason != datagram::SeverReason::closed);
}

}  // namespace acp::router
