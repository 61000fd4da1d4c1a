// SPDX-License-Identifier: BSD-3-Clause
// This process's link to other nodes, for an epoch: rings to the gateway in the agent, or, if each
// node has one rank, a gateway of its own. None in a job of one node. One thread: the one that
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
    // Called by all processes at the same time; with own gateways this makes a meeting.   member,
    // hazards  outlive this
    // Errors: peer, state (no key), and those of gateway::OwnGateway::open.
    base::Status open(node::Member& member, local::Hazards& hazards, const base::Config& config);

    // Takes the file with the key for own gateways, which the agent has sent to this process;
    // empty: this process has inherited it.
    void keep_own_key(os::FileDescriptor file) noexcept { own_key_ = std::move(file); }

    // The link for gma; nullptr in a job of one node.
    [[nodiscard]] remote::Link* get() noexcept { return link_.get(); }

    // All have joined: from now on a gateway of this process, if there is one, carries the meetings
    // of the epoch, up to Member::end_own_meetings(). Every rank calls it after the same meeting.
    void carry_meetings(node::Member& member) noexcept;

    // From here until leave(), a thread that waits in a meeting makes progress for this gma.
    void join(node::Member& member, gma::Gma& gma) noexcept;
    void leave(node::Member& member) noexcept;

    // Called before close() if the last meeting has not completed: notifies the other nodes, so
    // that they do not wait for an answer. Called after gma is destroyed.
    void tell_that_we_leave() noexcept;

    // Called after gma is destroyed and all ranks have completed their last meeting, with nothing
    // outstanding.
    void close() noexcept;

private:
    base::Result<std::unique_ptr<gateway::OwnGateway>> make_own(node::Member& member,
                                                                local::Hazards& hazards,
                                                                const base::Config& config);
    base::Status open_own(node::Member& member,
                          local::Hazards& hazards,
                          const base::Config& config);
    base::Status settle_own(const node::Member& member,
                            std::unique_ptr<gateway::OwnGateway> own,
                            bool has_libraries);

    os::FileDescriptor own_key_;
    local::Space space_;  // an own gateway's view of this process's memory
    std::unique_ptr<remote::Link> link_;
    gateway::OwnGateway* own_ = nullptr;  // link_, if it is an own gateway
    gma::MeetingHelper helper_;
    std::optional<node::OwnMeetings> meetings_;  // carried by an own gateway
};

}  // namespace acp::api
