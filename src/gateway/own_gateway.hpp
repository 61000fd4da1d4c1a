// SPDX-License-Identifier: BSD-3-Clause
// The short way between nodes that have one rank each: every rank has a gateway for commands in its own process. A
// command goes straight to the router and its datagram to the kernel, and the thread that waits for its end is the
// one that receives it. No other thread takes part, no ring, no hand-over. These gateways form a network of their own,
// with a key derived from the job's, for one epoch: made when all ranks are there, gone when all have met for the last
// time. They carry the meetings of their epoch (node/own_meetings.hpp), but for those in which they come and go themselves;
// those and deaths remain the business of the agents' gateways. What the agents tell about losses is taken from the node
// segment, and a node that these gateways give up is noted there. Threads as remote/link.hpp says; any thread may call publish_stats().
// Tests: tests/unit/gateway/own_gateway_test.cpp.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "gateway/gateway.hpp"
#include "local/hazards.hpp"
#include "local/space.hpp"
#include "node/own_meetings.hpp"
#include "remote/link.hpp"

namespace acp::gateway {

class OwnGateway : public remote::Link {
public:
    // As Gateway::open, with the rank's own view of its memory.
    // All addresses of settings.bind get the same port.
    //   segment         of this node, one process
    //   space, hazards  of the rank; all must outlive the gateway
    static base::Result<std::unique_ptr<OwnGateway>> open(const node::Segment& segment,
                                                          local::Space& space,
                                                          local::Hazards& hazards,
                                                          GatewaySettings settings);

    // As Gateway's. Before the first submit().
    [[nodiscard]] virtual std::span<const Address> addresses() const noexcept = 0;
    virtual base::Status set_peers(std::vector<std::vector<Address>> peers) = 0;
    [[nodiscard]] virtual int stats_fd() const noexcept = 0;
    virtual void publish_stats() noexcept = 0;
    [[nodiscard]] virtual std::string security_name() const = 0;

    // From now on poll() brings these meetings to the other nodes, whose gateways all do. Must outlive the gateway. A node
    // that has been met and is silent is not given up while all that is under way is a meeting: its rank may be stopped.
    virtual void carry_meetings(node::OwnMeetings& meetings) = 0;

    // As Gateway::leave. Nothing of this process may be outstanding.
    virtual void leave(std::int64_t timeout_ns) = 0;
};

}  // namespace acp::gateway
