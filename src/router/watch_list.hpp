// SPDX-License-Identifier: BSD-3-Clause
// The nodes that the endpoint watches because a command or meeting that involves them is overdue,
// and the nodes that were sent a WATCH for another one (ORD-31, ORD-33). A node is watched from the
// scan that calls want() until a scan that does not, or for a number of scans (watch_for_long()).
// Does not know which command is overdue. One thread.
// Tests: tests/unit/router/failure_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "router/activity.hpp"
#include "router/nodes.hpp"
#include "router/outbox.hpp"

namespace acp::router {

class WatchList {
public:
    // All arguments must outlive this. Throws std::bad_alloc; later calls allocate nothing.
    WatchList(Nodes& nodes, Outbox& outbox, Activity& activity);

    // Called by the scan in progress for a node to be watched.
    void want(NodeId node);

    // ORD-33: sends a WATCH for the target's node to the source's node, between which a command of
    // this node is in progress. Only the source's node can detect that the gateway at the target
    // was restarted after the source's node had connected to it.
    void ask(RouterPeer& source, NodeId target);

    // Handles a WATCH of another node: watches `node` until the scan after the next one, unless
    // another WATCH arrives.
    void watch_for(RouterPeer& asking, NodeId node);

    // Watches `node` for `scans` scans, for a process of this node.
    void watch_for_long(NodeId node, std::uint32_t scans);

    // Stops watching a severed node.
    void forget(RouterPeer& gone);

    // To be called at the end of a scan: stops watching nodes for which it did not call want().
    void drop_unwanted();

    [[nodiscard]] bool is_empty() const noexcept { return watched_.empty(); }

private:
    [[nodiscard]] bool is_wanted(const RouterPeer& held) const noexcept;

    Nodes& nodes_;
    Outbox& outbox_;
    Activity& activity_;
    std::vector<NodeId> watched_;  // capacity for all nodes
};

}  // namespace acp::router
