// SPDX-License-Identifier: BSD-3-Clause
// Watches nodes, and asks other nodes to watch.
#include "router/watch_list.hpp"

#include <algorithm>

namespace acp::router {

WatchList::WatchList(Nodes& nodes, Outbox& outbox, Activity& activity)
    : nodes_(nodes), outbox_(outbox), activity_(activity) {
    watched_.reserve(nodes.nodes());
}

void WatchList::want(NodeId node) {
    if (node == nodes_.self()) return;
    RouterPeer& wanted = nodes_.peer(node);
    if (wanted.is_severed) return;
    const std::uint32_t scan = activity_.scan_number();
    if (wanted.is_watched) {
        // A watch that was asked for longer is not shortened.
        if (!is_wanted(wanted)) wanted.watch_scan = scan;
        return;
    }
    wanted.watch_scan = scan;
    wanted.is_watched = true;
    watched_.push_back(node);
    nodes_.endpoint().watch(node);
}

void WatchList::ask(RouterPeer& source, NodeId target) {
    const NodeId self = nodes_.self();
    if (source.node == self || target == self || target == source.node) return;
    const std::uint32_t scan = activity_.scan_number();
    // Asks once per scan and target, and only if no other short frame waits for the node: a WATCH
    // that arrives late has no effect.
    const bool is_asked = source.asked_scan == scan && source.asked_node == target;
    if (is_asked || source.is_severed || !source.notes.is_empty()) return;
    source.asked_scan = scan;
    source.asked_node = target;
    Note note;
    note.type = FrameType::watch;
    note.initiator = target;
    outbox_.post(source, note);
}

// A node that sends a WATCH for a severed node does not know of that loss: if many nodes sever each
// other, there may be none that forwards it. So this node reports the loss.
void WatchList::watch_for(RouterPeer& asking, NodeId node) {
    if (node == nodes_.self()) return;
    if (nodes_.peer(node).is_severed) {
        Note news;
        news.type = FrameType::gone;
        news.initiator = node;
        return outbox_.post(asking, news);
    }
    want(node);
    nodes_.peer(node).watch_scan = activity_.scan_number() + 1;
    activity_.arm_scan();
}

void WatchList::watch_for_long(NodeId node, std::uint32_t scans) {
    if (node == nodes_.self() || nodes_.peer(node).is_severed) return;
    want(node);
    nodes_.peer(node).watch_scan = activity_.scan_number() + scans;
    activity_.arm_scan();
}

// Whether the present scan or a later one keeps the node watched. Scan numbers wrap around.
bool WatchList::is_wanted(const RouterPeer& held) const noexcept {
    return static_cast<std::int32_t>(held.watch_scan - activity_.scan_number()) >= 0;
}

void WatchList::forget(RouterPeer& gone) {
    if (!gone.is_watched) return;
    gone.is_watched = false;
    watched_.erase(std::find(watched_.begin(), watched_.end(), gone.node));
    nodes_.endpoint().unwatch(gone.node);
}

void WatchList::drop_unwanted() {
    for (std::size_t i = 0; i < watched_.size();) {
        RouterPeer& held = nodes_.peer(watched_[i]);
        if (is_wanted(held)) {
            ++i;
            continue;
        }
        held.is_watched = false;
        nodes_.endpoint().unwatch(held.node);
        watched_[i] = watched_.back();
        watched_.pop_back();
    }
}

}  // namespace acp::router
