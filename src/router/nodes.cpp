// SPDX-License-Identifier: BSD-3-Clause
// Keeps a record of each lane that was used, and lists of dead processes and of nodes to sever; all
// have their full capacity from the start.
#include "router/nodes.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace acp::router {

Nodes::Nodes(const RouterSettings& settings, const memory::GaLayout& layout, const Map& map)
    : layout_(layout),
      map_(map),
      self_(settings.node),
      nodes_(settings.nodes),
      rails_(settings.rails),
      procs_(settings.procs),
      first_process_(map.first_process(settings.node)),
      local_count_(map.first_process(settings.node + 1) - first_process_),
      peer_at_(std::size_t{settings.nodes} * settings.rails, nullptr) {
    peers_.reserve(peer_at_.size());
    dead_.reserve(settings.procs);
    to_sever_.reserve(settings.nodes);
}

void Nodes::bind(std::span<datagram::Endpoint* const> endpoints) noexcept {
    ACP_ASSERT(endpoints.size() == rails_);
    std::copy(endpoints.begin(), endpoints.end(), endpoints_.begin());
}

RouterPeer& Nodes::make_peer(std::uint32_t number) {
    const NodeId node = number % nodes_;
    RouterPeer& made = peers_.emplace_back();
    made.node = node;
    made.lane = number;
    made.endpoint = endpoints_[number / nodes_];
    made.first = map_.first_process(node);
    made.count = map_.first_process(node + 1) - made.first;
    made.is_severed = number >= nodes_ && peer(node).is_severed;
    peer_at_[number] = &made;
    return made;
}

void Nodes::sever(NodeId node, datagram::SeverReason reason) {
    for (datagram::Endpoint* endpoint : std::span(endpoints_).first(rails_)) {
        endpoint->sever(node, reason);
    }
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
    for_lanes_of(node, [](RouterPeer& lane) {
        lane.is_severed = true;
        lane.is_blocked = false;
    });
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
