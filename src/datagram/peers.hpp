// SPDX-License-Identifier: BSD-3-Clause
// The peers of an endpoint through their lives: made when something is first owed to a node or a node first asks, half
// open, connected, folded when idle for long, woken, and gone. Each has a place in the table, one alarm, and a place in
// the queue of those that may have something to send. Knows no datagram. One thread.
// Tests: tests/unit/datagram/endpoint_idle_test.cpp, endpoint_memory_test.cpp.
#pragma once

#include <cstdint>
#include <memory>

#include "datagram/counters.hpp"
#include "datagram/credentials.hpp"
#include "datagram/endpoint.hpp"
#include "datagram/peer.hpp"
#include "datagram/peer_table.hpp"
#include "datagram/peer_timers.hpp"
#include "datagram/ready_queue.hpp"
#include "datagram/sent_datagrams.hpp"

namespace acp::datagram {

class Peers {
public:
    // All outlive it. Throws std::bad_alloc.
    Peers(const Settings& settings,
          CipherSuite& suite,
          Entropy& entropy,
          EndpointCounters& counters);

    [[nodiscard]] const PeerTable& table() const noexcept { return table_; }

    // The full record; nullptr: there is none.
    [[nodiscard]] Peer* hot(NodeId node) const noexcept { return table_.hot(node); }

    [[nodiscard]] const FoldedPeer* folded(NodeId node) const noexcept {
        return table_.folded(node);
    }

    [[nodiscard]] bool is_severed(NodeId node) const noexcept { return table_.is_severed(node); }

    // A full record of a node that has none: an idle peer is woken, a new one is to be connected to. nullptr: no
    // memory. Throws std::bad_alloc likewise.
    [[nodiscard]] Peer* meet(NodeId node, Time now);

    // A record that is not in the table yet; nullptr: no memory.
    [[nodiscard]] std::unique_ptr<Peer> make(NodeId node);

    // A connected one of what a node long idle left; nullptr: no memory, and it stays idle.
    [[nodiscard]] std::unique_ptr<Peer> wake(const FoldedPeer& folded, NodeId node, Time now);

    // A peer that sits takes no memory any more but for its next key: its alarm has a place, whatever it is set to.
    // Where there is none for that, nothing is changed (std::bad_alloc).
    Peer& seat(std::unique_ptr<Peer> peer);

    // WIRE-90: leaves a few bytes of a peer that has nothing under way in either direction, and misses nothing.
    //   false: that is not so, or there is no memory, and the peer stays
    [[nodiscard]] bool fold(Peer& peer);

    // The record goes without a trace. It holds no buffer.
    void drop(Peer& peer) noexcept;

    // For good. The record stays until bury(), so that it can be taken apart in peace.
    void mark_severed(NodeId node, SeverReason reason) noexcept {
        table_.mark_severed(node, reason);
    }

    // The record of a severed node goes; its instance and the fact remain. It holds no buffer.
    void bury(NodeId node) noexcept;

    // How many peers were answered and have not been heard again.
    [[nodiscard]] std::uint32_t half_open() const noexcept { return half_open_; }

    void set_half_open(Peer& peer) noexcept {
        if (peer.state != Peer::State::half_open) ++half_open_;
        peer.state = Peer::State::half_open;
    }

    void set_connected(Peer& peer) noexcept {
        if (peer.state == Peer::State::half_open) --half_open_;
        peer.state = Peer::State::connected;
    }

    // It may have something to send.
    void make_ready(Peer& peer) noexcept { ready_.push(peer); }

    // nullptr: there is none.
    [[nodiscard]] Peer* take_ready() noexcept { return ready_.take(); }

    [[nodiscard]] bool has_ready() const noexcept { return !ready_.is_empty(); }

    void arm(Peer& peer, Time now) noexcept { timers_.arm(peer, now); }

    [[nodiscard]] PeerTimers& timers() noexcept { return timers_; }

    [[nodiscard]] const PeerTimers& timers() const noexcept { return timers_; }

private:
    void take_out(Peer& peer) noexcept;

    const Settings& settings_;
    CipherSuite& suite_;
    Entropy& entropy_;
    EndpointCounters& counters_;
    SentPool records_;
    PeerTable table_;
    PeerTimers timers_;
    ReadyQueue ready_;
    std::uint32_t half_open_ = 0;
};

}  // namespace acp::datagram
