// SPDX-License-Identifier: BSD-3-Clause
// Connects the parts of a router and passes each call to one of them. poll() has the order of their
// work.
#include "router/router.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "router/frame_receiver.hpp"
#include "router/scanner.hpp"
#include "router/scheduler.hpp"
#include "router/submitter.hpp"

namespace acp::router {

struct Router::Parts {
    Parts(const RouterSettings& settings,
          const memory::GaLayout& layout,
          const Map& map,
          Placement& placement,
          Completions& completions)
        : nodes(settings, layout, map),
          outbox(nodes, activity, settings.notes_max),
          partials(activity, settings.executions_max),
          own(nodes, partials, completions, activity, settings),
          resends(own, activity, settings.commands_max),
          ends(nodes, own, resends, outbox, activity),
          operations(settings),
          backlog(nodes, operations, outbox, ends, activity, settings.undelivered_bytes_max),
          executor(nodes, operations, backlog, outbox, ends, placement, activity),
          placer(nodes, own, partials, operations, backlog, ends, placement, activity),
          requests(nodes, own, operations, backlog, outbox, placement, activity),
          submitter(nodes, own, resends, requests, executor, outbox, placement, activity),
          answers(nodes, own, resends, placer, outbox),
          scheduler(own, operations, backlog, outbox, requests, executor, placer, activity),
          meetings(nodes, outbox, completions, activity, map),
          watch_list(nodes, outbox, activity),
          losses({nodes, own, operations, backlog, outbox, placer, meetings, watch_list,
                  completions, activity}),
          scanner({nodes, own, operations, outbox, partials, placer, meetings, watch_list, losses,
                   activity},
                  settings.no_memory_max_ns),
          receiver({nodes, placer, own, executor, answers, partials, meetings, watch_list, losses,
                    activity}) {}

    // Each part knows some of those before it, and none after it.
    Activity activity;
    Nodes nodes;
    Outbox outbox;
    PartialCopies partials;
    OwnCommands own;
    Resends resends;
    Ends ends;
    Operations operations;
    Backlog backlog;
    Executor executor;
    Placer placer;
    Requests requests;
    Submitter submitter;
    Answers answers;
    Scheduler scheduler;
    Meetings meetings;
    WatchList watch_list;
    Losses losses;
    Scanner scanner;
    FrameReceiver receiver;
};

Router::Router(const RouterSettings& settings,
               const memory::GaLayout& layout,
               const Map& map,
               Placement& placement,
               Completions& completions)
    : placement_(placement),
      parts_(std::make_unique<Parts>(settings, layout, map, placement, completions)) {}

Router::~Router() = default;

void Router::bind(std::span<datagram::Endpoint* const> rails) noexcept {
    parts_->nodes.bind(rails);
}

bool Router::submit(Time now, const Request& request) {
    const memory::NumberedCommand one{request.token, &request.command};
    return submit_all(now, request.initiator, {&one, 1}) == 1;
}

std::size_t Router::submit_all(Time now,
                               std::uint32_t initiator,
                               std::span<const memory::NumberedCommand> commands) {
    parts_->activity.set_now(now);
    return parts_->submitter.submit(initiator, commands);
}

bool Router::invoke(Time now, const InvokeRequest& call, std::span<const std::byte> arguments) {
    parts_->activity.set_now(now);
    return parts_->submitter.invoke(call, arguments);
}

bool Router::are_others_waiting() const noexcept {
    return parts_->meetings.are_others_waiting();
}

void Router::start_barrier(std::uint32_t number, std::span<const std::uint32_t> values) {
    parts_->meetings.start(number, values);
}

void Router::start_min_reduction(std::uint32_t number, const Meeting::Words& words) {
    parts_->meetings.start_min_reduction(number, words);
}

std::optional<NodeId> Router::missing_node() const noexcept {
    return parts_->meetings.missing_node();
}

void Router::watch(NodeId node, Time at_least_ns) {
    parts_->watch_list.watch_for_long(node, static_cast<std::uint32_t>(at_least_ns / scan_ns) + 2);
}

void Router::note_death(std::uint32_t process, const base::ProcessEnd& end) {
    parts_->losses.on_death(process, end, true);
}

void Router::on_settled(Ticket ticket, base::Code code, std::uint64_t value) {
    parts_->scheduler.on_settled(ticket, code, value);
}

void Router::on_place_room(std::uint32_t process) {
    if (parts_->nodes.is_mine(process)) parts_->backlog.retry_soon(process);
}

void Router::set_now(Time now) noexcept {
    parts_->activity.set_now(now);
}

bool Router::poll(Time now) {
    Activity& activity = parts_->activity;
    activity.set_now(now);
    const std::uint64_t moves_before = activity.moves();
    placement_.flush();  // accesses that frames and submits have collected
    parts_->scheduler.retry_waiting();
    parts_->submitter.resend_due();
    parts_->scanner.scan_if_due();
    parts_->ends.flush();
    parts_->meetings.send_due();
    parts_->scheduler.send_all();
    const std::uint64_t moves_sent = activity.moves();
    placement_.flush();  // reads that send_all() has requested
    if (activity.moves() != moves_sent) {
        parts_->ends.flush();
        parts_->scheduler.send_all();
    }
    parts_->losses.sever_noted();
    return activity.moves() != moves_before;
}

Time Router::deadline() const noexcept {
    const bool is_now = parts_->outbox.is_any_ready() || parts_->ends.is_any_collected() ||
                        parts_->meetings.is_ready() || parts_->nodes.has_to_sever();
    if (is_now) return 0;
    return std::min(
        {parts_->activity.scan_at(), parts_->backlog.retry_at(), parts_->resends.deadline()});
}

const RouterCounters& Router::counters() const noexcept {
    return parts_->activity.counters();
}

std::uint32_t Router::outstanding() const noexcept {
    return parts_->own.used();
}

std::uint32_t Router::outstanding_of(std::uint32_t initiator) const noexcept {
    return parts_->own.outstanding_of(initiator);
}

bool Router::is_idle() const noexcept {
    return !parts_->scanner.is_any_under_way() && parts_->resends.used() == 0 &&
           !parts_->ends.is_any_collected();
}

bool Router::has_to_sever() const noexcept {
    return parts_->nodes.has_to_sever();
}

void Router::on_frames(NodeId from, datagram::Bytes frames) {
    parts_->receiver.on_frames(from, frames);
}

void Router::on_room(NodeId node, std::uint32_t rail) {
    Nodes& nodes = parts_->nodes;
    parts_->outbox.unblock(nodes.lane(rail * nodes.nodes() + node));
    parts_->meetings.note_room();
}

// A node that closed the connection itself is not reported to other nodes: it has left, or has
// severed this node and reports this node as lost.
void Router::on_severed(NodeId node, datagram::SeverReason reason) {
    parts_->losses.on_severed(node, !datagram::is_told_by_it(reason));
}

}  // namespace acp::router
