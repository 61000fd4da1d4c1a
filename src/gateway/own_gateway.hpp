// SPDX-License-Identifier: BSD-3-Clause
// The short way between nodes that have one rank each: every rank has a gateway for commands in its
// own process. The issuing thread hands its command to the router and its datagram to the kernel,
// and the thread that waits for the completion receives it: without another thread, a ring or a
// hand-over. These gateways form a network of their own, with a key derived from the job's. It
// lasts one epoch: it is made when all ranks have joined and ends with their last meeting. The
// gateways carry the meetings of their epoch (node/own_meetings.hpp), except the ones in which they
// are made and closed. The agents' gateways carry these, and report deaths. Losses that the agents
// report are read from the node segment, and a node that these gateways give up is published there.
// Threads as remote/link.hpp says; any thread may call publish_stats().
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
    // Does what Gateway::open does, with the rank's own view of its memory. All addresses of
    // settings.bind get the same port.
    //   segment         of this node, one process
    //   space, hazards  of the rank; all must outlive the gateway
    static base::Result<std::unique_ptr<OwnGateway>> open(const node::Segment& segment,
                                                          local::Space& space,
                                                          local::Hazards& hazards,
                                                          GatewaySettings settings);

    // Each does what Gateway's does. set_peers() comes before the first submit().
    [[nodiscard]] virtual std::span<const Address> addresses() const noexcept = 0;
    virtual base::Status set_peers(std::vector<std::vector<Address>> peers) = 0;
    [[nodiscard]] virtual int stats_fd() const noexcept = 0;
    virtual void publish_stats() noexcept = 0;
    [[nodiscard]] virtual std::string security_name() const = 0;

    // From now on poll() carries these meetings to the other nodes, whose gateways carry theirs.
    // `meetings` must outlive the gateway. While a meeting is all that is outstanding, a silent
    // node that was connected before is not given up: its rank may be stopped.
    virtual void carry_meetings(node::OwnMeetings& meetings) = 0;

    // Does what Gateway::leave does. Nothing of this process may be outstanding.
    virtual void leave(std::int64_t timeout_ns) = 0;
};

}  // namespace acp::gateway
