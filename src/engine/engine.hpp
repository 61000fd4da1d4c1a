// SPDX-License-Identifier: BSD-3-Clause
// The engine of a gateway: rails (each a transport and an endpoint), router and placement wired
// together, with one round of work and its deadline. Its owner supplies the node's memory, submits
// commands to it and gets their completions: the gateway of a node (gateway/node_gateway.cpp) takes
// commands from rings, OwnGateway from its own process. Knows no ring and no word of the node
// segment. Reads the clock. One thread, but wake() from any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fault_plan.hpp"
#include "base/status.hpp"
#include "crypto/choose.hpp"
#include "router/router.hpp"

#include "engine/local_placement.hpp"
#include "engine/node_map.hpp"
#include "engine/rail.hpp"
#include "engine/settings.hpp"

namespace acp::engine {

class Engine final : private RailOwner {
public:
    // Opens the sockets and makes all parts. Reports on stderr which settings weaken the job's
    // safety.
    //   parts, completions  must outlive the engine
    // Errors: see Gateway::open.
    static base::Result<std::unique_ptr<Engine>> open(const GatewaySettings& settings,
                                                      const LocalPlacement::Parts& parts,
                                                      router::Completions& completions);
    ~Engine() override;
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    base::Status set_peers(const std::vector<std::vector<Address>>& peers);

    // Receives datagrams that have arrived. True if there was any.
    bool receive(Time now);

    // Receives all datagrams that have arrived. Call it after a node was reported lost and before
    // sever(): the node's last datagrams may be in the socket buffers and hold completions.
    void receive_all(Time now);

    // Places accesses, runs submitted commands, and sends. True if content was moved;
    // acknowledgements alone do not count.
    bool work(Time now) {
        const bool has_moved = prepare(now);
        return send(now) || has_moved;
    }

    // Does what work() does, but sends nothing: the next work() sends.
    bool prepare(Time now);

    // When work() must be called again even if nothing arrives; 0: at once; datagram::never: no
    // such time.
    [[nodiscard]] Time deadline() const noexcept;

    // Works until no peer waits for a frame of this gateway, for at most `timeout_ns`; then sends
    // CLOSE to all peers and closes the sockets.
    void leave(std::int64_t timeout_ns);

    [[nodiscard]] router::Router& router() noexcept { return *router_; }

    [[nodiscard]] LocalPlacement& placement() noexcept { return placement_; }

    [[nodiscard]] std::span<const std::unique_ptr<Rail>> rails() const noexcept { return rails_; }

    // The addresses it listens on, ports filled in; with several rails one address per rail.
    [[nodiscard]] std::span<const Address> addresses() const noexcept { return addresses_; }

    // Sleeps until a datagram arrives, wake() is called, or the time is over.
    //   timeout_ns  < 0: no limit
    void wait(std::int64_t timeout_ns) noexcept { (void)os::wait_readable(wait_fds_, timeout_ns); }

    // See Transport.
    [[nodiscard]] std::span<const int> wait_fds() const noexcept { return wait_fds_; }

    [[nodiscard]] int event_fd() const noexcept { return first_->transport().event_fd(); }

    void drain() noexcept { first_->transport().drain(); }

    void wake() noexcept { first_->transport().wake(); }

    [[nodiscard]] bool is_closed_by_others() const noexcept { return is_closed_by_others_; }

    // Datagrams whose frames were given to the router.
    [[nodiscard]] std::uint64_t delivered() const noexcept { return delivered_; }

    [[nodiscard]] const NodeMap& map() const noexcept { return map_; }

    // Accepts nothing from this node from now on: the caller knows by other means that it is lost.
    // The node's commands end with the next work().
    void sever(NodeId node, datagram::SeverReason reason = datagram::SeverReason::told) {
        for (const auto& rail : rails_) rail->endpoint().sever(node, reason);
    }

    // Sets the function that may keep a node which was silent for the peer timeout
    // (EndpointHandler::may_be_waited_for). Without one such a node is severed.
    void set_patience(std::function<bool(NodeId)> may_wait) { may_wait_ = std::move(may_wait); }

    struct Severed {
        NodeId node = 0;
        datagram::SeverReason reason = datagram::SeverReason::told;
        std::uint32_t rail = 0;           // which severed the node first
        std::uint32_t stalled_bytes = 0;  // Endpoint::stalled_bytes(), if the reason is `stalled`
    };

    // How this gateway severed a node; reason `told` if only sever() was called for it.
    [[nodiscard]] Severed severed(NodeId node) const noexcept;

    [[nodiscard]] datagram::SeverReason reason_of(NodeId node) const noexcept {
        return severed(node).reason;
    }

    static constexpr std::size_t recent_peers_max = 64;

    // Nodes that frames came from lately, at most recent_peers_max.
    [[nodiscard]] std::span<const NodeId> recent_peers() const noexcept { return recent_; }

    [[nodiscard]] std::string security_name() const;

private:
    Engine(const GatewaySettings& settings,
           const LocalPlacement::Parts& parts,
           router::Completions& completions,
           const memory::GaLayout& layout);
    base::Status open_all(const GatewaySettings& settings);
    void say_what_weakens(const GatewaySettings& settings, const base::FaultPlan& faults) const;

    void note_peer(NodeId node) override;
    void note_severed(std::uint32_t rail, NodeId node, datagram::SeverReason reason) override;

    bool is_waited_for(NodeId node) override { return may_wait_ && may_wait_(node); }

    bool send(Time now);
    void sever_torn(Time now);
    [[nodiscard]] bool is_quiet() const noexcept;

    const NodeId node_;
    const NodeId nodes_;
    const base::Security security_;
    NodeMap map_;
    LocalPlacement placement_;
    std::unique_ptr<router::Router> router_;
    std::unique_ptr<datagram::CipherSuite> suite_;
    crypto::SystemEntropy entropy_;
    std::vector<std::unique_ptr<Rail>> rails_;        // 1 .. router::rails_max
    Rail* first_ = nullptr;                           // rail 0; its event wakes the gateway
    std::span<const std::unique_ptr<Rail>> further_;  // the rails after rail 0: mostly none
    std::uint64_t delivered_ = 0;
    bool is_closed_by_others_ = false;  // a socket of some rail
    std::vector<Address> addresses_;
    std::vector<int> wait_fds_;  // event_fd(), then the sockets of all rails

    std::function<bool(NodeId)> may_wait_;

    std::vector<Severed> severed_;  // the first severed_told_max; only for messages
    std::vector<Severed> torn_;     // severed by one of several rails, not yet by the rest
    std::vector<NodeId> recent_;    // ring of the peers that frames came from last
    std::size_t recent_next_ = 0;
};

}  // namespace acp::engine
