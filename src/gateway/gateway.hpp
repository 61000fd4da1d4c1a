// SPDX-License-Identifier: BSD-3-Clause
// A node's gateway: carries commands of its processes to other nodes, and runs commands from other
// nodes on its own node's memory. It ties UDP sockets, the endpoint (reliable datagrams), the
// router (commands) and the node's memory together. It takes commands from the rings in the node
// segment and returns their completions there. A thread of the agent runs it. Where each node has
// one rank, commands take a shorter way (own_gateway.hpp); this gateway then handles only deaths
// and the meetings in which ranks join and leave.
//
// Order of calls: open(), set_peers() with the addresses() of all nodes, then run(). One thread at
// a time calls open() .. leave(); any thread calls wake(), on_local_death() and publish_stats().
// Only sleep(), run() and leave() block. Tests: tests/unit/gateway.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "node/segment.hpp"

#include "engine/settings.hpp"

namespace acp::gateway {

using datagram::Address;
using datagram::NodeId;
using datagram::Time;
using engine::GatewaySettings;

class Gateway {
public:
    // Binds the sockets and makes everything ready, but sends nothing yet. Warns on stderr when the
    // socket's buffer is too small, and, at node 0, that the job's faults are injected or that its
    // security is off.
    //   segment  of this node; must outlive the gateway
    // Errors: argument (a setting out of range; security off, but no network named in the
    // settings), config (ACP_FAULT), system (bind), limit (descriptors), memory, unsupported (no
    // cipher library).
    static base::Result<std::unique_ptr<Gateway>> open(const node::Segment& segment,
                                                       GatewaySettings settings);
    virtual ~Gateway() = default;
    Gateway(const Gateway&) = delete;
    Gateway& operator=(const Gateway&) = delete;

    // The addresses on which this gateway listens, ports filled in. The launcher passes them to all
    // nodes.
    [[nodiscard]] virtual std::span<const Address> addresses() const noexcept = 0;

    // Sets where all nodes listen: one row per node, this one's included, each of 1 ..
    // addresses_max addresses in order of preference. Called once, before the first poll().
    // Errors: argument (number of rows, an empty row).
    virtual base::Status set_peers(std::vector<std::vector<Address>> peers) = 0;

    // An eventfd that wakes this gateway; processes of the node inherit it under the number it has
    // here.
    [[nodiscard]] virtual int event_fd() const noexcept = 0;

    // One round: receives datagrams, runs the commands in them, takes commands from the ranks'
    // rings, sends. Never blocks. True when something was done.
    virtual bool poll(Time now) = 0;

    // Sleeps until a datagram arrives, a rank rings, wake() is called, or timeout_ns is over (< 0:
    // no limit); never beyond the gateway's own next deadline. Announces the sleep, so that ranks
    // ring.
    virtual void sleep(std::int64_t timeout_ns) = 0;

    // Calls poll() and sleep() with the backoff of node::Waiter until stop is true (call wake()
    // after setting it).
    virtual void run(const std::atomic<bool>& stop) = 0;

    // Drains the router's and the endpoint's outstanding sends for at most timeout_ns, announces to
    // every peer that this gateway leaves, and closes the sockets.
    virtual void leave(std::int64_t timeout_ns) = 0;

    // Ends a sleep(). Any thread; async-signal-safe.
    virtual void wake() noexcept = 0;

    // Called after node::mark_dead: wakes the gateway, which reports the death to the job and ends
    // the commands that need the process. Any thread.
    //   wait_status  as waitpid gives it
    virtual void on_local_death(std::uint32_t slot, std::uint32_t wait_status) noexcept = 0;

    // A memory file that holds a StatsBlock (gateway/stats_block.hpp), for a process that observes
    // the job, such as acpstat.
    [[nodiscard]] virtual int stats_fd() const noexcept = 0;

    // Asks the gateway to update that file at its next poll. Any thread.
    virtual void publish_stats() noexcept = 0;

    // "aes-128-gcm/libcrypto", with the security mode; for reports.
    [[nodiscard]] virtual std::string security_name() const = 0;

protected:
    Gateway() = default;
};

}  // namespace acp::gateway
