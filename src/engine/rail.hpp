// SPDX-License-Identifier: BSD-3-Clause
// A rail: one of the networks by which the gateways of a job reach each other. It has its own
// sockets, its own endpoint (so its own connections, keys and congestion state) and the addresses
// of all nodes on that network. The rails share one router, which chooses the rail of each frame. A
// rail gives received frames to the router, and reports peers and severed nodes to its owner. Knows
// no other rail. One thread. Tests: tests/unit/gateway/rails_test.cpp.
#pragma once

#include <cstdint>
#include <memory>

#include "base/fault_plan.hpp"
#include "base/status.hpp"
#include "router/router.hpp"

#include "engine/peer_book.hpp"
#include "engine/settings.hpp"
#include "engine/transport.hpp"

namespace acp::engine {

// What a rail reports about a node, or asks about it, for all rails.
class RailOwner {
public:
    RailOwner() = default;
    virtual ~RailOwner() = default;
    RailOwner(const RailOwner&) = delete;
    RailOwner& operator=(const RailOwner&) = delete;

    // Frames came from another node than the last frames before them.
    virtual void note_peer(NodeId node) = 0;

    // A rail has severed the node.
    //   rail  the number of that rail
    virtual void note_severed(std::uint32_t rail, NodeId node, datagram::SeverReason reason) = 0;

    // See datagram::EndpointHandler::may_be_waited_for.
    [[nodiscard]] virtual bool is_waited_for(NodeId node) = 0;
};

class Rail final : private datagram::EndpointHandler {
public:
    // What all rails of a gateway share; these must outlive the rails.
    struct Shared {
        router::Router& router;
        datagram::CipherSuite& suite;
        datagram::Entropy& entropy;
        RailOwner& owner;
        std::uint64_t& delivered;  // received datagrams with frames; each rail adds its own
    };

    // Opens the sockets and makes the endpoint.
    //   number    0 .. router::rails_max - 1
    //   settings  the gateway's; the rail listens on bind[number], or on all of `bind` if it is the
    //             only rail
    // Errors: system, limit, memory, argument.
    static base::Result<std::unique_ptr<Rail>> open(std::uint32_t number,
                                                    const GatewaySettings& settings,
                                                    const base::FaultPlan& faults,
                                                    const Shared& shared);
    ~Rail() override;
    Rail(const Rail&) = delete;
    Rail& operator=(const Rail&) = delete;

    // Sets the addresses of all nodes: from each row the address of this rail, or all of them if it
    // is the only rail.
    //   peers  a row per node
    // Errors: argument.
    base::Status set_peers(const std::vector<std::vector<Address>>& peers, std::uint32_t rails);

    // Receives datagrams that have arrived. True if there was any.
    bool receive(Time now) {
        return transport_->receive([this, now](const Address& from, std::span<std::byte> datagram) {
            take(now, from, datagram);
        });
    }

    // Receives all datagrams that have arrived.
    void receive_all(Time now) {
        transport_->receive_all([this, now](const Address& from, std::span<std::byte> datagram) {
            take(now, from, datagram);
        });
    }

    // Runs the endpoint's timer if it is due.
    void run_timers(Time now);

    // Sends the datagrams that the endpoint has ready. True if there was content among them.
    bool send(Time now);

    [[nodiscard]] Time deadline() const noexcept {
        return std::min(endpoint_->deadline(), transport_->deadline());
    }

    // Sends CLOSE to all peers, and closes the sockets.
    void close(Time now);

    [[nodiscard]] Transport& transport() noexcept { return *transport_; }

    [[nodiscard]] const Transport& transport() const noexcept { return *transport_; }

    [[nodiscard]] datagram::Endpoint& endpoint() noexcept { return *endpoint_; }

    [[nodiscard]] const datagram::Endpoint& endpoint() const noexcept { return *endpoint_; }

private:
    Rail(std::uint32_t number, NodeId nodes, const Shared& shared);
    base::Status make_endpoint(const GatewaySettings& settings, std::span<const Address> bind);
    void take(Time now, const Address& from, std::span<std::byte> datagram);

    void on_frames(NodeId from, datagram::Bytes frames) override;
    void on_room(NodeId node) override;
    void on_severed(NodeId node, datagram::SeverReason reason) override;

    bool may_be_waited_for(NodeId node) override { return shared_.owner.is_waited_for(node); }

    const std::uint32_t number_;
    const NodeId nodes_;
    const Shared shared_;
    PeerBook book_;
    std::unique_ptr<Transport> transport_;
    std::unique_ptr<datagram::Endpoint> endpoint_;
    NodeId latest_ = ~0U;  // the node whose frames came last
};

}  // namespace acp::engine
