// SPDX-License-Identifier: BSD-3-Clause
// A node's gateway: carries commands of its processes to other nodes and runs those of others on memory of its
// own. It ties UDP sockets, the endpoint (reliable datagrams), the router (commands) and the node's memory
// together, takes commands from the rings in the node segment and gives their ends back. A thread of the agent
// runs it. Where each node has one rank, commands take a shorter way (own_gateway.hpp), and what remains for this
// one are deaths, and the meetings in which ranks come and go.
//
// Order of calls: open, addresses() told to all nodes, set_peers(), then run(). open .. leave() by one thread at
// a time; wake(), on_local_death() and publish_stats() by any thread. Nothing here blocks but sleep(), run() and
// leave(). Tests: tests/unit/gateway.
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
    // Binds the sockets and makes everything ready, but sends nothing yet. Says on stderr that its
    // socket has too small a buffer, and, at node 0, that the job's faults are injected or that its security is off.
    //   segment  of this node; must outlive the gateway
    // Errors: argument (a setting out of range; security off on a network nobody named), config (ACP_FAULT),
    // system (bind), limit (descriptors), memory, unsupported (no cipher library).
    static base::Result<std::unique_ptr<Gateway>> open(const node::Segment& segment,
                                                       GatewaySettings settings);
    virtual ~Gateway() = default;
    Gateway(const Gateway&) = delete;
    Gateway& operator=(const Gateway&) = delete;

    // Where this gateway listens, ports filled in; for the launcher to tell all nodes.
    [[nodiscard]] virtual std::span<const Address> addresses() const noexcept = 0;

    // Where all nodes listen: one row per node, this one's included, each of 1 .. addresses_max addresses in order
    // of preference. Once, before the first poll().   Errors: argument (rows, an empty one).
    virtual base::Status set_peers(std::vector<std::vector<Address>> peers) = 0;

    // An eventfd that wakes this gateway; processes of the node inherit it under the number it has here.
    [[nodiscard]] virtual int event_fd() const noexcept = 0;

    // One round: receives, runs what came, takes what the ranks handed over, sends. Never blocks. true when
    // something was done.
    virtual bool poll(Time now) = 0;

    // Sleeps until a datagram, a command of a rank, wake(), or the time is over (< 0: for ever); never longer than
    // what is due allows. Announces its sleep, so that ranks ring.
    virtual void sleep(std::int64_t timeout_ns) = 0;

    // poll() and sleep() as node::Waiter waits, until stop is true (wake() after setting it).
    virtual void run(const std::atomic<bool>& stop) = 0;

    // Sends what is owed for at most this long, tells every peer that this gateway leaves, and closes the sockets.
    virtual void leave(std::int64_t timeout_ns) = 0;

    // Ends a sleep(). Any thread; async-signal-safe.
    virtual void wake() noexcept = 0;

    // A process of this node has ended (after node::mark_dead): told to the job, and what needs it ends. Any thread.
    //   wait_status  as waitpid gives it
    virtual void on_local_death(std::uint32_t slot, std::uint32_t wait_status) noexcept = 0;

    // A memory file that holds a StatsBlock (stats/stats_block.hpp), for whoever watches the job.
    [[nodiscard]] virtual int stats_fd() const noexcept = 0;

    // Asks for it to be brought up to date with the next poll. Any thread.
    virtual void publish_stats() noexcept = 0;

    // "aes-128-gcm/libcrypto", with the security mode; for reports.
    [[nodiscard]] virtual std::string security_name() const = 0;

protected:
    Gateway() = default;
};

}  // namespace acp::gateway
