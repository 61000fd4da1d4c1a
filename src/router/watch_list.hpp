// SPDX-License-Identifier: BSD-3-Clause
// The nodes that the endpoint watches, because something that involves them is overdue, and the nodes that were asked to
// watch another one (ORD-31, ORD-33). A node is watched from the scan that wants it until one that does not, or for as many scans as this node's process asks. Knows nothing of
// what is overdue. One thread. Tests: tests/unit/router/failure_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "router/activity.hpp"
#include "router/nodes.hpp"
#include "router/outbox.hpp"

namespace acp::router {

class WatchList {
public:
    // Throws std::bad_alloc; later calls take no memory.
    WatchList(Nodes& nodes, Outbox& outbox, Activity& activity);

    // The scan under way wants this node watched.
    void want(NodeId node);

    // ORD-33: something of this node's is under way from `source` to `target`, both other nodes. Only the node of its source
    // can know that the target's gateway is not the one that was to answer; so it is asked to watch it.
    void ask(RouterPeer& source, NodeId target);

    // Another node asks that `node` be watched, until the scan after the next unless it asks again.
    void watch_for(RouterPeer& asking, NodeId node);

    // This node's own process asks that `node` be watched for so many scans.
    void watch_for_long(NodeId node, std::uint32_t scans);

    // A severed node is watched no longer.
    void forget(RouterPeer& gone);

    // At the end of a scan: nodes that it did not want are watched no longer.
    void drop_unwanted();

    [[nodiscard]] bool is_empty() const noexcept { return watched_.empty(); }

private:
    [[nodiscard]] bool is_wanted(const RouterPeer& held) const noexcept;

    Nodes& nodes_;
    Outbox& outbox_;
    Activity& activity_;
    std::vector<NodeId> watched_;  // room for all
};

}  // namespace acp::router
