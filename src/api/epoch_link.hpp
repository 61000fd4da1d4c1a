// SPDX-License-Identifier: BSD-3-Clause
// How this process's commands reach other nodes, for an epoch: through rings to the gateway in the agent, or, where
// each node has one rank, by a gateway of this process's own. Nothing in a job of one node. One thread: the one that
// makes the collective calls. Tests: tests/nodes.
#pragma once

#include <memory>
#include <optional>

#include "base/config.hpp"
#include "base/status.hpp"
#include "gma/gma.hpp"
#include "gma/meeting_helper.hpp"
#include "local/hazards.hpp"
#include "local/space.hpp"
#include "node/member.hpp"
#include "node/own_meetings.hpp"
#include "remote/link.hpp"

namespace acp::gateway {
class OwnGateway;
}

namespace acp::api {

class EpochLink {
public:
    // When all processes do so; those with gateways of their own meet in here.   member, hazards  outlive this
    // Errors: peer, state (no key), and those of gateway::OwnGateway::open.
    base::Status open(node::Member& member, local::Hazards& hazards, const base::Config& config);

    // Takes the file with the key for own gateways, which this process has got from the agent; empty: it has inherited it.
    void keep_own_key(os::FileDescriptor file) noexcept { own_key_ = std::move(file); }

    // What gma hands commands to; nullptr in a job of one node.
    [[nodiscard]] remote::Link* get() noexcept { return link_.get(); }

    // All have joined: from now on a gateway of this process, if there is one, carries the meetings of the epoch, up to
    // Member::end_own_meetings(). Every rank calls it after the same meeting.
    void carry_meetings(node::Member& member) noexcept;

    // From here until leave(), who waits in a meeting goes on with what this gma has to do.
    void join(node::Member& member, gma::Gma& gma) noexcept;
    void leave(node::Member& member) noexcept;

    // Before close(), where not all have met for the last time: the others are told, and do not wait for an answer. After gma
    // is gone.
    void tell_that_we_leave() noexcept;

    // After gma is gone; all have met and nothing of anybody is outstanding.
    void close() noexcept;

private:
    base::Result<std::unique_ptr<gateway::OwnGateway>> make_own(node::Member& member,
                                                                local::Hazards& hazards,
                                                                const base::Config& config);
    base::Status open_own(node::Member& member,
                          local::Hazards& hazards,
                          const base::Config& config);
    base::Status settle_own(const node::Member& member, std::unique_ptr<gateway::OwnGateway> own);

    os::FileDescriptor own_key_;
    local::Space space_;  // what an own gateway sees of this process's memory
    std::unique_ptr<remote::Link> link_;
    gateway::OwnGateway* own_ = nullptr;  // link_, where it is one
    gma::MeetingHelper helper_;
    std::optional<node::OwnMeetings> meetings_;  // of an own gateway
};

}  // namespace acp::api
