// SPDX-License-Identifier: BSD-3-Clause
// What is overdue, found by looking at everything twice a second instead of by a timer each (ORD-31): nodes that a
// command outstanding for half a second to a second involves are watched, by the node of its source too; of copies that
// have stopped half-way the initiator is asked whether they are over (ORD-32).
#include "router/state.hpp"

namespace acp::router {

void Router::State::want_watched(NodeId node) {
    if (node == settings.node) return;
    Peer& wanted = peer(node);
    if (wanted.is_severed) return;
    wanted.watch_scan = scan_number;
    if (wanted.is_watched) return;
    wanted.is_watched = true;
    watched.push_back(node);
    endpoint->watch(node);
}

// ORD-33: of a command between two other nodes. Only the node of its source can know that the target's gateway is
// not the one that was to answer.
void Router::State::ask_to_watch(const Outstanding& record) {
    const NodeId target = peer_of(named(target_process(record))).node;
    Peer& source = peer_of(named(source_process(record)));
    if (source.node == settings.node || target == settings.node || target == source.node) return;
    const bool is_asked = source.asked_scan == scan_number && source.asked_node == target;
    if (is_asked || source.is_severed || !source.notes.is_empty()) return;
    source.asked_scan = scan_number;
    source.asked_node = target;
    Note note;
    note.type = FrameType::watch;
    note.initiator = target;
    post(source, note);
}

// Until the scan after the next, unless asked again. Who asks about a node that is lost has not heard of that: where
// nodes sever each other in all directions, nobody may be left to pass the news on.
void Router::State::watch_for_another(Peer& asking, NodeId node) {
    if (node == settings.node) return;
    if (peer(node).is_severed) {
        Note news;
        news.type = FrameType::gone;
        news.initiator = node;
        return post(asking, news);
    }
    want_watched(node);
    peer(node).watch_scan = scan_number + 1;
    arm();
}

// Who was refused room for want of memory is told by nobody that there is room; and nobody would ever say that it cannot be
// reached.
void Router::State::offer_room_again() {
    for (Peer& to : peers) {
        if (!to.is_blocked || to.is_severed) continue;
        const bool is_hopeless = to.refused_at != datagram::never &&
                                 settings.no_memory_max_ns != 0 &&
                                 now - to.refused_at >= settings.no_memory_max_ns;
        if (is_hopeless) {
            endpoint->sever(to.node, datagram::SeverReason::no_memory);  // may tell us at once
            on_severed(to.node, true);
            continue;
        }
        to.is_blocked = false;
        wake(to);
        is_meeting_ready = is_meeting_ready || meeting.is_on();
    }
}

void Router::State::scan() {
    ++scan_number;
    offer_room_again();
    for (std::uint32_t index = 0; index < commands.touched(); ++index) {
        Outstanding& record = commands[index];
        if (record.is_taken == 0) continue;
        const std::uint32_t scans = (scan_number - record.age) & 255U;
        if (scans < 2) continue;
        record.age = static_cast<std::uint8_t>(scan_number - 2);  // old, and never young again
        want_watched(peer_of(named(target_process(record))).node);
        want_watched(peer_of(named(source_process(record))).node);
        ask_to_watch(record);
    }
    if (!meeting.is_on() || is_meeting_lost) {
        meeting_scans = 0;
    } else if (++meeting_scans >= 2) {
        want_watched(meeting.awaited());
    }
    scan_partials();
    for (std::size_t i = 0; i < watched.size();) {
        Peer& held = peer(watched[i]);
        if (held.watch_scan == scan_number) {
            ++i;
            continue;
        }
        held.is_watched = false;
        endpoint->unwatch(held.node);
        watched[i] = watched.back();
        watched.pop_back();
    }
    scan_at = datagram::never;
    const bool is_needed = commands.used() != 0 ||
                           operations.used() > (spare == no_index ? 0 : 1) || notes.used() != 0 ||
                           partials.used() != 0 || !watched.empty() ||
                           (meeting.is_on() && !is_meeting_lost);
    if (is_needed) arm();
}

void Router::State::scan_partials() {
    for (std::uint32_t index = 0; index < partials.touched(); ++index) {
        Partial& partial = partials[index];
        if (!partial.is_taken || ++partial.quiet_scans <= quiet_scans_max) continue;
        partial.quiet_scans = 0;
        if (is_mine(partial.initiator)) {
            if (book.find(partial.initiator, partial.token) == no_index) drop_partial(index);
            continue;
        }
        Note note;
        note.type = FrameType::ask;
        note.initiator = partial.initiator;
        note.token = partial.token;
        post(peer_of(note.initiator), note);
    }
}

}  // namespace acp::router
