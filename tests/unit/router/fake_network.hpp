// SPDX-License-Identifier: BSD-3-Clause
// Endpoints that lose nothing, but delay and reorder datagrams by a seed, have room for few, and
// are cut from one another on demand. An endpoint notices a cut after some time if it has
// unacknowledged datagrams for that node or watches it, like a real endpoint. Knows no router. One
// thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "datagram/endpoint.hpp"
#include "datagram/handshake_packets.hpp"

#include "support/random.hpp"

namespace acp::router::test {

using datagram::NodeId;
using datagram::Time;

struct NetworkSettings {
    std::uint32_t datagram_bytes = 1436;  // bytes of frames in a datagram
    std::uint32_t datagrams_max = 4;      // the most in flight from one node to another
    unsigned deliver_percent = 50;        // share of the datagrams in flight that one step delivers
};

class FakeNetwork;

class FakeEndpoint final : public datagram::Endpoint {
public:
    FakeEndpoint(FakeNetwork& network, NodeId node, std::uint32_t nodes)
        : network_(network), node_(node), peers_(nodes) {}

    std::byte* reserve(NodeId node, std::uint32_t bytes) override;
    void commit(NodeId node, std::uint32_t bytes) override;
    void commit_with_tail(NodeId node, std::uint32_t bytes, datagram::Bytes tail) override;
    datagram::MutableBytes reserve_rest(NodeId node, std::uint32_t bytes_min) override;
    [[nodiscard]] std::uint32_t frame_bytes_max(NodeId node) const noexcept override;

    void watch(NodeId node) override { ++peers_[node].watches; }

    void unwatch(NodeId node) override {
        if (peers_[node].watches-- == 0) bad_unwatches_ = true;
    }

    [[nodiscard]] bool is_severed(NodeId node) const noexcept override {
        return peers_[node].is_severed;
    }

    void close() override {}

    void on_datagram(Time /*now*/,
                     const datagram::Address& /*from*/,
                     datagram::MutableBytes /*bytes*/) override {}

    void on_timer(Time /*now*/) override {}

    [[nodiscard]] Time deadline() const noexcept override { return datagram::never; }

    datagram::Transmit next_transmit(Time /*now*/, datagram::MutableBytes /*into*/) override {
        return {};
    }

    [[nodiscard]] bool is_quiet() const noexcept override { return true; }

    [[nodiscard]] std::uint32_t free_buffers() const noexcept override { return 1; }

    [[nodiscard]] datagram::Features features() const noexcept override { return {}; }

    [[nodiscard]] datagram::Features differing_features() const noexcept override { return {}; }

    [[nodiscard]] std::uint32_t stalled_bytes() const noexcept override { return 0; }

    [[nodiscard]] const datagram::EndpointCounters& counters() const noexcept override {
        std::abort();
    }

    [[nodiscard]] bool stats(NodeId /*node*/,
                             datagram::PeerStats& /*stats*/) const noexcept override {
        return false;
    }

    void sever(NodeId node, datagram::SeverReason reason = datagram::SeverReason::told) override;

    // Makes allocations for other nodes fail from now on, or succeed again.
    void set_memory_refused(bool is_refused) { is_memory_refused_ = is_refused; }

    [[nodiscard]] std::uint32_t watches(NodeId node) const { return peers_[node].watches; }

    [[nodiscard]] bool bad_unwatches() const { return bad_unwatches_; }

private:
    friend class FakeNetwork;

    struct Peer {
        std::vector<std::byte> filling;
        std::vector<std::byte> reserved;
        std::uint32_t under_way = 0;
        std::uint32_t watches = 0;
        bool is_blocked = false;
        bool is_severed = false;
    };

    FakeNetwork& network_;
    NodeId node_;
    std::vector<Peer> peers_;
    bool bad_unwatches_ = false;
    bool is_memory_refused_ = false;
};

class FakeNetwork {
public:
    FakeNetwork(std::uint32_t nodes, std::uint64_t seed, const NetworkSettings& settings = {})
        : settings_(settings), random_(seed) {
        for (NodeId node = 0; node < nodes; ++node) {
            endpoints_.push_back(std::make_unique<FakeEndpoint>(*this, node, nodes));
        }
        handlers_.resize(nodes);
        cut_.resize(nodes, std::vector<bool>(nodes, false));
    }

    void bind(NodeId node, datagram::EndpointHandler& handler) { handlers_[node] = &handler; }

    [[nodiscard]] FakeEndpoint& endpoint(NodeId node) { return *endpoints_[node]; }

    // From now on the network delivers no datagram between the two nodes.
    void cut(NodeId one, NodeId other) {
        cut_[one][other] = true;
        cut_[other][one] = true;
        is_any_cut_ = true;
    }

    void cut_off(NodeId node) {
        for (NodeId other = 0; other < endpoints_.size(); ++other) {
            if (other != node) cut(node, other);
        }
    }

    // Delivers frames as if a node had sent them.
    void inject(NodeId from, NodeId to, std::vector<std::byte> frames) {
        handlers_[to]->on_frames(from, frames);
    }

    // Delivers some datagrams in flight, in any order, and makes endpoints notice some cuts. true
    // if it did either.
    bool step() {
        send_filled();
        bool is_moved = notice_cuts();
        std::vector<Datagram> now;
        for (std::size_t i = 0; i < under_way_.size();) {
            if (!random_.chance(settings_.deliver_percent)) {
                ++i;
                continue;
            }
            now.push_back(std::move(under_way_[i]));
            under_way_[i] = std::move(under_way_.back());
            under_way_.pop_back();
        }
        for (std::size_t i = now.size(); i > 1; --i) std::swap(now[i - 1], now[random_.below(i)]);
        for (Datagram& datagram : now) deliver(datagram);
        return is_moved || !now.empty() || !under_way_.empty();
    }

    [[nodiscard]] bool is_empty() const { return under_way_.empty(); }

    [[nodiscard]] std::uint64_t delivered() const { return delivered_; }

private:
    friend class FakeEndpoint;

    struct Datagram {
        NodeId from = 0;
        NodeId to = 0;
        std::vector<std::byte> frames;
    };

    void send(FakeEndpoint& from, NodeId to) {
        FakeEndpoint::Peer& peer = from.peers_[to];
        if (peer.filling.empty()) return;
        ++peer.under_way;
        under_way_.push_back({from.node_, to, std::move(peer.filling)});
        peer.filling.clear();
    }

    void send_filled() {
        for (auto& endpoint : endpoints_) {
            for (NodeId to = 0; to < endpoints_.size(); ++to) send(*endpoint, to);
        }
    }

    void deliver(Datagram& datagram) {
        FakeEndpoint& from = *endpoints_[datagram.from];
        FakeEndpoint& to = *endpoints_[datagram.to];
        if (cut_[datagram.from][datagram.to]) {
            // The node is cut off: the datagram stays unacknowledged.
            if (!from.peers_[datagram.to].is_severed) under_way_.push_back(std::move(datagram));
            return;
        }
        if (from.peers_[datagram.to].is_severed) return;
        if (to.peers_[datagram.from].is_severed) {
            from.sever(datagram.to, datagram::SeverReason::gave_up);
            return;
        }
        ++delivered_;
        --from.peers_[datagram.to].under_way;
        handlers_[datagram.to]->on_frames(datagram.from, datagram.frames);
        FakeEndpoint::Peer& peer = from.peers_[datagram.to];
        if (peer.is_blocked && !peer.is_severed) {
            peer.is_blocked = false;
            handlers_[datagram.from]->on_room(datagram.to);
        }
    }

    bool notice_cuts() {
        bool is_any = false;
        for (NodeId from = 0; is_any_cut_ && from < endpoints_.size(); ++from) {
            for (NodeId to = 0; to < endpoints_.size(); ++to) {
                FakeEndpoint::Peer& peer = endpoints_[from]->peers_[to];
                const bool is_waiting = peer.under_way != 0 || peer.watches != 0;
                const bool is_lost = cut_[from][to] || endpoints_[to]->peers_[from].is_severed;
                if (peer.is_severed || !is_waiting || !is_lost) continue;
                is_any = true;
                if (!random_.chance(10)) continue;
                endpoints_[from]->sever(to, cut_[from][to] ? datagram::SeverReason::silent
                                                           : datagram::SeverReason::gave_up);
            }
        }
        return is_any;
    }

    NetworkSettings settings_;
    acp::test::Random random_;
    std::vector<std::unique_ptr<FakeEndpoint>> endpoints_;
    std::vector<datagram::EndpointHandler*> handlers_;
    std::vector<std::vector<bool>> cut_;
    std::vector<Datagram> under_way_;
    std::uint64_t delivered_ = 0;
    bool is_any_cut_ = false;
};

inline std::byte* FakeEndpoint::reserve(NodeId node, std::uint32_t bytes) {
    if (is_memory_refused_) throw std::bad_alloc();
    Peer& peer = peers_[node];
    if (peer.is_severed) return nullptr;
    if (peer.filling.size() + bytes > network_.settings_.datagram_bytes) network_.send(*this, node);
    if (peer.under_way >= network_.settings_.datagrams_max) {
        peer.is_blocked = true;
        return nullptr;
    }
    peer.reserved.assign(bytes, std::byte{0xee});
    return peer.reserved.data();
}

inline datagram::MutableBytes FakeEndpoint::reserve_rest(NodeId node, std::uint32_t bytes_min) {
    if (reserve(node, bytes_min) == nullptr) return {};
    Peer& peer = peers_[node];
    peer.reserved.assign(network_.settings_.datagram_bytes - peer.filling.size(), std::byte{0xee});
    return peer.reserved;
}

inline void FakeEndpoint::commit(NodeId node, std::uint32_t bytes) {
    Peer& peer = peers_[node];
    peer.filling.insert(peer.filling.end(), peer.reserved.begin(), peer.reserved.begin() + bytes);
}

// Reads the tail at once; only real endpoints read it later.
inline void FakeEndpoint::commit_with_tail(NodeId node, std::uint32_t bytes, datagram::Bytes tail) {
    commit(node, bytes);
    Peer& peer = peers_[node];
    peer.filling.insert(peer.filling.end(), tail.begin(), tail.end());
}

inline std::uint32_t FakeEndpoint::frame_bytes_max(NodeId /*node*/) const noexcept {
    return network_.settings_.datagram_bytes;
}

inline void FakeEndpoint::sever(NodeId node, datagram::SeverReason reason) {
    if (peers_[node].is_severed) return;
    peers_[node].is_severed = true;
    peers_[node].filling.clear();
    network_.is_any_cut_ = true;
    network_.handlers_[node_]->on_severed(node, reason);
}

}  // namespace acp::router::test
