// SPDX-License-Identifier: BSD-3-Clause
// The engine of a gateway: rails (each a transport and an endpoint), router and placement wired together, with one round of
// work and its deadline. Its owner brings the node's memory, hands it commands and hears of their ends: the gateway of a
// node (gateway/node_gateway.cpp) takes commands from rings, OwnGateway from its own process. Knows no ring and no
// segment word. Reads the clock. One thread, but wake() from any.
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
#include "engine/rail.hpp"
#include "engine/settings.hpp"
#include "placement/local_placement.hpp"

namespace acp::engine {

class Engine final : private RailOwner {
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

    base::Status set_peers(const std::vector<std::vector<Address>>& peers);

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

    [[nodiscard]] std::span<const std::unique_ptr<Rail>> rails() const noexcept { return rails_; }

    // Where it listens, ports filled in; of several rails an address each.
    [[nodiscard]] std::span<const Address> addresses() const noexcept { return addresses_; }

    // Sleeps until something arrives, wake(), or the time is over.   timeout_ns  < 0: no limit
    void wait(std::int64_t timeout_ns) noexcept { (void)os::wait_readable(wait_fds_, timeout_ns); }

    // As transport::Transport says.
    [[nodiscard]] std::span<const int> wait_fds() const noexcept { return wait_fds_; }

    [[nodiscard]] int event_fd() const noexcept { return first_->transport().event_fd(); }

    void drain() noexcept { first_->transport().drain(); }

    void wake() noexcept { first_->transport().wake(); }

    [[nodiscard]] bool is_closed_by_others() const noexcept { return is_closed_by_others_; }

    // Datagrams whose frames were given to the router.
    [[nodiscard]] std::uint64_t delivered() const noexcept { return delivered_; }

    [[nodiscard]] const NodeMap& map() const noexcept { return map_; }

    // Nothing comes from this node any more: somebody else knows it is gone. Its commands end with the next work().
    void sever(NodeId node, datagram::SeverReason reason = datagram::SeverReason::told) {
        for (const auto& rail : rails_) rail->endpoint().sever(node, reason);
    }

    // Who is asked before a node is given up for its silence (EndpointHandler::may_be_waited_for). Nobody at first.
    void set_patience(std::function<bool(NodeId)> may_wait) { may_wait_ = std::move(may_wait); }

    struct Severed {
        NodeId node = 0;
        datagram::SeverReason reason = datagram::SeverReason::told;
        std::uint32_t rail = 0;           // that did so first
        std::uint32_t stalled_bytes = 0;  // Endpoint::stalled_bytes(), where that is the reason
    };

    // How a node was severed here; told when the news came from others.
    [[nodiscard]] Severed severed(NodeId node) const noexcept;

    // The reason alone.
    [[nodiscard]] datagram::SeverReason reason_of(NodeId node) const noexcept {
        return severed(node).reason;
    }

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

    void note_peer(NodeId node) override;
    void note_severed(std::uint32_t rail, NodeId node, datagram::SeverReason reason) override;

    bool is_waited_for(NodeId node) override { return may_wait_ && may_wait_(node); }

    void sever_torn(Time now);
    [[nodiscard]] bool is_quiet() const noexcept;

    const NodeId node_;
    const NodeId nodes_;
    const base::Security security_;
    NodeMap map_;
    placement::LocalPlacement placement_;
    std::unique_ptr<router::Router> router_;
    std::unique_ptr<datagram::CipherSuite> suite_;
    crypto::SystemEntropy entropy_;
    std::vector<std::unique_ptr<Rail>> rails_;        // 1 .. router::rails_max
    Rail* first_ = nullptr;                           // rail 0, whose event wakes the gateway
    std::span<const std::unique_ptr<Rail>> further_;  // the other rails: mostly none
    std::uint64_t delivered_ = 0;
    bool is_closed_by_others_ = false;  // a socket of some rail
    std::vector<Address> addresses_;
    std::vector<int> wait_fds_;  // of that event, then of the sockets of all rails

    std::function<bool(NodeId)> may_wait_;

    std::vector<Severed> severed_;  // here, first ones; only for messages
    std::vector<Severed> torn_;     // on one of several rails, and not yet on the others
    std::vector<NodeId> recent_;    // ring of the peers met last
    std::size_t recent_next_ = 0;
};

}  // namespace acp::engine
