// SPDX-License-Identifier: BSD-3-Clause
// The agent's side of its node's gateway in a job of several nodes: chooses the addresses, opens the sockets,
// learns where the other nodes are, tells of deaths, and takes leave at the end. Knows nothing of ranks' output or
// of the launcher. The agent's main thread; the gateway runs in a thread of its own.
#pragma once

#include <memory>
#include <vector>

#include "base/config.hpp"
#include "base/status.hpp"
#include "job/job_key.hpp"
#include "job/launch_plan.hpp"
#include "job/peer_table.hpp"
#include "node/segment.hpp"
#include "os/datagram_socket.hpp"

namespace acp::agent {

class Network {
public:
    // Opens sockets on the node's addresses, and sends nothing yet.
    //   segment  of this node; must outlive this
    // Errors: argument (no address of this machine fits), system, limit, memory.
    static base::Result<std::unique_ptr<Network>> open(const node::Segment& segment,
                                                       const job::LaunchPlan& plan,
                                                       const base::Config& config,
                                                       job::JobKey key);

    // Where this node listens; for the launcher to tell all nodes.
    [[nodiscard]] const std::vector<job::Address>& addresses() const noexcept { return addresses_; }

    // Where all nodes listen, a row per node. Errors: argument.
    base::Status set_peers(const job::PeerTable& peers);

    // Starts the gateway's thread, when all processes have been started. Errors: limit, system.
    base::Status start();

    // A process of this node has ended otherwise than it should (after node::mark_dead).
    void on_local_death(std::uint32_t slot, std::uint32_t wait_status) noexcept;

    // Takes leave of the other nodes; at most a moment.
    void leave() noexcept;

private:
    Network() = default;

    std::vector<os::DatagramSocket> sockets_;
    std::vector<job::Address> addresses_;
    job::PeerTable peers_;
    job::JobKey key_;
};

}  // namespace acp::agent
