// SPDX-License-Identifier: BSD-3-Clause
// The engine of a gateway: transport, endpoint, router and placement wired together, with one round of work and
// its deadline. Its owner brings the node's memory, hands it commands and hears of their ends: the gateway of a
// node (gateway/node_gateway.cpp) takes commands from rings, OwnGateway from its own process. Knows no ring and no
// segment word. Reads the clock. One thread, but transport().wake() from any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fault_plan.hpp"
#include "base/status.hpp"
#include "crypto/choose.hpp"
#include "router/router.hpp"

#include "engine/node_map.hpp"
#include "engine/peer_book.hpp"
#include "engine/settings.hpp"
#include "placement/local_placement.hpp"
#include "transport/transport.hpp"

namespace acp::engine {

class Engine final : private datagram::EndpointHandler {
public:
    // Opens sockets and makes everything else. Says aloud what weakens the job's safety.
    //   parts, completions  must outlive the engine
    // Errors: as Gateway::open.
    static base::Result<std::unique_ptr<Engine>> open(const GatewaySettings& settings,
                                                      const placement::LocalPlacement::Parts& parts,
                                                      router::Completions& completions);
    ~Engine() override;
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    base::Status set_peers(const std::vector<std::vector<Address>>& peers) {
        return book_.fill(peers, nodes_);
    }

    // Takes what has arrived. true when something had.
    bool receive(Time now);

    // Takes all that has arrived. To be called between the news of a loss and sever(): what the lost node sent before lies in the
    // sockets by then, and may end what others wait for.
    void receive_all(Time now);

    // Runs what came and what was submitted, and sends. true when content moved: not for acknowledgements alone.
    bool work(Time now);

    // When work() must be called again though nothing comes in; 0: at once; datagram::never.
    [[nodiscard]] Time deadline() const noexcept;

    // Works until nothing is owed to anybody, at most this long; then tells all peers and closes the sockets.
    void leave(std::int64_t timeout_ns);

    [[nodiscard]] router::Router& router() noexcept { return *router_; }

    [[nodiscard]] placement::LocalPlacement& placement() noexcept { return placement_; }

    [[nodiscard]] transport::Transport& transport() noexcept { return *transport_; }

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

    static constexpr std::size_t recent_peers_max = 64;

    // Nodes heard of lately, at most recent_peers_max.
    [[nodiscard]] std::span<const NodeId> recent_peers() const noexcept { return recent_; }

    [[nodiscard]] std::string security_name() const;

private:
    Engine(const GatewaySettings& settings,
           const placement::LocalPlacement::Parts& parts,
           router::Completions& completions,
           const memory::GaLayout& layout);
    base::Status open_all(const GatewaySettings& settings);
    void say_what_weakens(const GatewaySettings& settings, const base::FaultPlan& faults) const;

    void on_frames(NodeId from, datagram::Bytes frames) override;
    void on_room(NodeId node) override;
    void on_severed(NodeId node, datagram::SeverReason reason) override;

    bool may_be_waited_for(NodeId node) override { return may_wait_ && may_wait_(node); }

    void take(Time now, const Address& from, std::span<std::byte> datagram);
    void note_peer(NodeId node);

    const NodeId node_;
    const NodeId nodes_;
    const base::Security security_;
    NodeMap map_;
    PeerBook book_;
    placement::LocalPlacement placement_;
    std::unique_ptr<router::Router> router_;
    std::unique_ptr<datagram::CipherSuite> suite_;
    crypto::SystemEntropy entropy_;
    std::unique_ptr<transport::Transport> transport_;
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

}  // namespace acp::engine
