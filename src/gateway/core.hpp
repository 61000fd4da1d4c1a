// SPDX-License-Identifier: BSD-3-Clause
// The middle of a gateway: transport, endpoint, router and placement wired together, with one round of work and
// its deadline. Whoever owns it brings the node's memory, commands and an ear for completions: the gateway of a
// node (node_gateway.cpp) from rings, OwnGateway from its own process. Knows no ring and no segment word. Reads
// the clock. One thread, but transport().wake() from any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fault_plan.hpp"
#include "base/status.hpp"
#include "crypto/choose.hpp"
#include "gateway/gateway.hpp"
#include "gateway/local_placement.hpp"
#include "gateway/node_map.hpp"
#include "gateway/peer_book.hpp"
#include "gateway/transport.hpp"
#include "router/router.hpp"

namespace acp::gateway {

class Core final : private datagram::EndpointHandler {
public:
    // Opens sockets and makes everything else. Says aloud what weakens the job's safety.
    //   parts, completions  must outlive the core
    // Errors: as Gateway::open.
    static base::Result<std::unique_ptr<Core>> open(const GatewaySettings& settings,
                                                    const LocalPlacement::Parts& parts,
                                                    router::Completions& completions);
    ~Core() override;
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    base::Status set_peers(const std::vector<std::vector<Address>>& peers) {
        return book_.fill(peers, nodes_);
    }

    // Takes what has arrived. true when something had.
    bool receive(Time now);

    // Runs what came and what was submitted, and sends. true when content moved: not for acknowledgements alone.
    bool work(Time now);

    // When work() must be called again though nothing comes in; 0: at once; datagram::never.
    [[nodiscard]] Time deadline() const noexcept;

    // Works until nothing is owed to anybody, at most this long; then tells all peers and closes the sockets.
    void leave(std::int64_t timeout_ns);

    [[nodiscard]] router::Router& router() noexcept { return *router_; }

    [[nodiscard]] LocalPlacement& placement() noexcept { return placement_; }

    [[nodiscard]] Transport& transport() noexcept { return *transport_; }

    [[nodiscard]] const datagram::Endpoint& endpoint() const noexcept { return *endpoint_; }

    [[nodiscard]] const NodeMap& map() const noexcept { return map_; }

    // Nothing comes from this node any more: somebody else knows it is gone. Its commands end with the next work().
    void sever(NodeId node, datagram::SeverReason reason = datagram::SeverReason::told) {
        endpoint_->sever(node, reason);
    }

    // Who is asked before a node is given up for its silence (EndpointHandler::may_be_waited_for). Nobody at first.
    void set_patience(std::function<bool(NodeId)> may_wait) { may_wait_ = std::move(may_wait); }

    // Why a node was severed here; told when the news came from others.
    [[nodiscard]] datagram::SeverReason reason_of(NodeId node) const noexcept;

    // Nodes heard of lately, at most stats_peers_max.
    [[nodiscard]] std::span<const NodeId> recent_peers() const noexcept { return recent_; }

    [[nodiscard]] std::string security_name() const;

private:
    Core(const GatewaySettings& settings,
         const LocalPlacement::Parts& parts,
         router::Completions& completions,
         const memory::GaLayout& layout);
    base::Status open_all(const GatewaySettings& settings);
    void say_what_weakens(const GatewaySettings& settings, const base::FaultPlan& faults) const;

    void on_frames(NodeId from, datagram::Bytes frames) override;
    void on_room(NodeId node) override;
    void on_severed(NodeId node, datagram::SeverReason reason) override;

    bool may_be_waited_for(NodeId node) override { return may_wait_ && may_wait_(node); }

    void note_peer(NodeId node);

    const NodeId node_;
    const NodeId nodes_;
    const base::Security security_;
    NodeMap map_;
    PeerBook book_;
    LocalPlacement placement_;
    std::unique_ptr<router::Router> router_;
    std::unique_ptr<datagram::CipherSuite> suite_;
    crypto::SystemEntropy entropy_;
    std::unique_ptr<Transport> transport_;
    std::unique_ptr<datagram::Endpoint> endpoint_;

    std::function<bool(NodeId)> may_wait_;

    struct Severed {
        NodeId node = 0;
        datagram::SeverReason reason = datagram::SeverReason::told;
    };

    std::vector<Severed> severed_;  // here, first ones; only for messages
    std::vector<NodeId> recent_;    // ring of the peers met last
    std::size_t recent_next_ = 0;
    NodeId latest_ = ~0U;
};

}  // namespace acp::gateway
