// SPDX-License-Identifier: BSD-3-Clause
// Keeps a record of each node that was met, and lists of what is lost; both have capacity for all from the start.
#include "router/nodes.hpp"

#include <algorithm>

namespace acp::router {

Nodes::Nodes(const RouterSettings& settings, const memory::GaLayout& layout, const Map& map)
    : layout_(layout),
      map_(map),
      self_(settings.node),
      procs_(settings.procs),
      first_process_(map.first_process(settings.node)),
      local_count_(map.first_process(settings.node + 1) - first_process_),
      peer_at_(settings.nodes, nullptr) {
    peers_.reserve(settings.nodes);
    dead_.reserve(settings.procs);
    to_sever_.reserve(settings.nodes);
}

RouterPeer& Nodes::make_peer(NodeId node) {
    RouterPeer& made = peers_.emplace_back();
    made.node = node;
    made.first = map_.first_process(node);
    made.count = map_.first_process(node + 1) - made.first;
    if (node != self_) made.frame_bytes = endpoint_->frame_bytes_max(node);
    peer_at_[node] = &made;
    return made;
}

RouterPeer& Nodes::find_peer(std::uint32_t process) {
    return peer(map_.node_of(process));
}

bool Nodes::is_dead(std::uint64_t process) const noexcept {
    return std::binary_search(dead_.begin(), dead_.end(), process);
}

bool Nodes::note_dead(std::uint32_t process) {
    const auto at = std::lower_bound(dead_.begin(), dead_.end(), process);
    if (at != dead_.end() && *at == process) return false;
    dead_.insert(at, process);
    is_any_lost_ = true;
    return true;
}

bool Nodes::note_severed(NodeId node) {
    RouterPeer& gone = peer(node);
    if (gone.is_severed) return false;
    gone.is_severed = true;
    gone.is_blocked = false;
    is_any_lost_ = true;
    return true;
}

void Nodes::sever_later(NodeId node) {
    RouterPeer& bad = peer(node);
    if (bad.is_severed || bad.is_to_sever) return;
    bad.is_to_sever = true;
    to_sever_.push_back(node);
}

NodeId Nodes::take_to_sever() noexcept {
    const NodeId node = to_sever_.back();
    to_sever_.pop_back();
    peer_at_[node]->is_to_sever = false;
    return node;
}

}  // namespace acp::router
