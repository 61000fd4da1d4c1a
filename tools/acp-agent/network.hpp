// SPDX-License-Identifier: BSD-3-Clause
// The agent's side of its node's gateway in a job of several nodes: opens the gateway, passes the
// other nodes' addresses to it and to the node segment, runs it in a thread, reports deaths to it,
// and ends it. Knows nothing of the ranks' output or of the launcher. Called by the agent's main
// thread; the gateway runs in a thread of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/config.hpp"
#include "base/status.hpp"
#include "gateway/gateway.hpp"
#include "node/segment.hpp"
#include "os/event.hpp"
#include "os/thread.hpp"

#include "launch/job_key.hpp"
#include "launch/launch_plan.hpp"
#include "launch/peer_table.hpp"

namespace acp::agent {

class Network {
public:
    // Opens the gateway's sockets; sends nothing yet.
    //   segment    the segment of this node; must outlive this
    //   key        the job's key; wiped before the call returns
    //   addresses  of this machine, without ports, best first
    // Errors: config, system, limit, memory, unsupported (no cipher).
    static base::Result<std::unique_ptr<Network>> open(
        const node::Segment& segment,
        const launch::LaunchPlan& plan,
        const base::Config& config,
        launch::JobKey key,
        std::span<const os::SocketAddress> addresses);

    // The addresses on which this node listens, which the launcher sends to all nodes.
    [[nodiscard]] std::vector<os::SocketAddress> addresses() const;

    // Descriptors that the ranks inherit under their numbers: the event that wakes the gateway, and
    // the key for ranks that run a gateway of their own.
    [[nodiscard]] std::vector<int> inherited() const;

    // Sets the addresses of all nodes, a row per node; call it before any rank starts. Errors:
    // argument.
    base::Status set_peers(const launch::GatewayTable& peers);

    // Starts the gateway's thread; call it when all processes have been started. Errors: limit,
    // system.
    base::Status start();

    // Tells the gateway that a process of this node has ended (after node::mark_dead).
    void on_local_death(std::uint32_t slot, std::uint32_t wait_status) noexcept;

    // Leaves the other nodes within limited time: a gateway that does not end by then is left
    // running in its thread, so the process must end soon.
    void leave() noexcept;

private:
    Network(const node::Segment& segment, std::vector<std::uint32_t> first_process, os::Event end)
        : segment_(segment), first_process_(std::move(first_process)), end_(std::move(end)) {}

    const node::Segment& segment_;
    std::vector<std::uint32_t> first_process_;  // first process of each node
    std::unique_ptr<gateway::Gateway> gateway_;
    os::FileDescriptor own_key_;  // the key for the ranks, if each node has one
    os::Event end_;               // signalled when the gateway's thread has ended
    std::atomic<bool> is_leaving_{false};
    os::Thread thread_;
};

}  // namespace acp::agent
