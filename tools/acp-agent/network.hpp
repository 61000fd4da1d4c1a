// SPDX-License-Identifier: BSD-3-Clause
// The agent's side of its node's gateway in a job of several nodes: chooses the addresses, opens it, tells it and the
// node where the other nodes are, runs it in a thread, tells it of deaths, and takes leave at the end. Knows nothing of
// ranks' output or of the launcher. The agent's main thread; the gateway runs in a thread of its own. A rank that is
// alone on its node may one day run the gateway itself: then this opens the sockets and hands them on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
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
    // Opens the gateway's sockets on the node's addresses, and sends nothing yet.
    //   segment  of this node; must outlive this
    //   key      of the job; gone afterwards
    // Errors: argument (no address of this machine fits), config, system, limit, memory, unsupported (no cipher).
    static base::Result<std::unique_ptr<Network>> open(const node::Segment& segment,
                                                       const launch::LaunchPlan& plan,
                                                       const base::Config& config,
                                                       launch::JobKey key);

    // Where this node listens; for the launcher to tell all nodes.
    [[nodiscard]] std::vector<os::SocketAddress> addresses() const;

    // Descriptors the ranks inherit under their numbers: what wakes the gateway, and the key of ranks that reach other
    // nodes themselves.
    [[nodiscard]] std::vector<int> inherited() const;

    // Where all nodes listen, a row per node; before any rank starts. Errors: argument.
    base::Status set_peers(const launch::GatewayTable& peers);

    // Starts the gateway's thread, when all processes have been started. Errors: limit, system.
    base::Status start();

    // A process of this node has ended (after node::mark_dead).
    void on_local_death(std::uint32_t slot, std::uint32_t wait_status) noexcept;

    // Takes leave of the other nodes, for at most a moment: a gateway that does not come to an end is left behind in
    // its thread, so the process must end soon.
    void leave() noexcept;

private:
    Network(const node::Segment& segment, std::vector<std::uint32_t> first_process, os::Event end)
        : segment_(segment), first_process_(std::move(first_process)), end_(std::move(end)) {}

    const node::Segment& segment_;
    std::vector<std::uint32_t> first_process_;  // of each node
    std::unique_ptr<gateway::Gateway> gateway_;
    os::FileDescriptor own_key_;  // of the ranks, where each node has one
    os::Event end_;               // of the gateway's thread
    std::atomic<bool> is_leaving_{false};
    os::Thread thread_;
};

}  // namespace acp::agent
