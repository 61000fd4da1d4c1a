// SPDX-License-Identifier: BSD-3-Clause
// The nodes that the endpoint watches because something that involves them is overdue, and the nodes that were asked to watch
// another one (ORD-31, ORD-33). A node is watched from the scan that wants it until a scan that does not, or for the number of
// scans that a process of this node asks for. Does not know what is overdue. One thread.
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

    // The scan in progress wants this node watched.
    void want(NodeId node);

    // ORD-33: asks the node of a source to watch the node of a target, where a command of this node is in progress between the
    // two. Only the source's node can notice that the gateway at the target is another instance than the one that was to
    // answer.
    void ask(RouterPeer& source, NodeId target);

    // Another node asks to watch `node`: until the scan after the next one, unless it asks again.
    void watch_for(RouterPeer& asking, NodeId node);

    // A process of this node asks to watch `node` for so many scans.
    void watch_for_long(NodeId node, std::uint32_t scans);

    // Stops watching a severed node.
    void forget(RouterPeer& gone);

    // To be called at the end of a scan: stops watching nodes that it did not want.
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
