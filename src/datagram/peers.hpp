// SPDX-License-Identifier: BSD-3-Clause
// The peers of an endpoint through their life cycle: made when there is first content for a node or
// a node's INIT arrives; half open; connected; folded after long idleness; woken; removed. Each
// full record has a seat in the table, at most one alarm, and at most one place in the queue of
// peers that may have something to send. Knows no datagram. One thread.
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
    // All arguments must outlive it. Throws std::bad_alloc.
    Peers(const Settings& settings,
          CipherSuite& suite,
          Entropy& entropy,
          EndpointCounters& counters);

    [[nodiscard]] const PeerTable& table() const noexcept { return table_; }

    // The full record of a node; nullptr if there is none.
    [[nodiscard]] Peer* hot(NodeId node) const noexcept { return table_.hot(node); }

    [[nodiscard]] const FoldedPeer* folded(NodeId node) const noexcept {
        return table_.folded(node);
    }

    [[nodiscard]] bool is_severed(NodeId node) const noexcept { return table_.is_severed(node); }

    // Makes a full record for a node that has none: wakes a folded peer, or begins to connect to a
    // new one. Returns nullptr, or throws std::bad_alloc, if there is no memory; nothing is changed
    // then.
    [[nodiscard]] Peer* open(NodeId node, Time now);

    // Makes a record that is not in the table yet; nullptr if there is no memory.
    [[nodiscard]] std::unique_ptr<Peer> make(NodeId node);

    // Makes a connected record from a folded one, not in the table yet; nullptr if there is no
    // memory: the peer stays folded.
    [[nodiscard]] std::unique_ptr<Peer> wake(const FoldedPeer& folded, NodeId node, Time now);

    // Enters a record into the table and reserves its alarm, so that the peer needs no more memory
    // except for its next key. Throws std::bad_alloc if there is none for the alarm; nothing is
    // changed then.
    Peer& seat(std::unique_ptr<Peer> peer);

    // WIRE-90: folds a peer that has nothing in flight in either direction. Returns false, and
    // keeps the peer, if content or an acknowledgement is outstanding or there is no memory.
    [[nodiscard]] bool fold(Peer& peer);

    // Deletes a record without a trace. It must hold no buffer.
    void drop(Peer& peer) noexcept;

    // Marks a node as severed, for good. Its record stays until bury(), so that its owner can free
    // what it holds.
    void mark_severed(NodeId node, SeverReason reason) noexcept {
        table_.mark_severed(node, reason);
    }

    // Deletes the record of a severed node; its instance and reason remain. It must hold no buffer.
    void bury(NodeId node) noexcept;

    // The number of half-open peers.
    [[nodiscard]] std::uint32_t half_open() const noexcept { return half_open_; }

    void set_half_open(Peer& peer) noexcept {
        if (peer.state != Peer::State::half_open) ++half_open_;
        peer.state = Peer::State::half_open;
    }

    void set_connected(Peer& peer) noexcept {
        if (peer.state == Peer::State::half_open) --half_open_;
        peer.state = Peer::State::connected;
    }

    // Notes that a peer may have something to send.
    void make_ready(Peer& peer) noexcept { ready_.push(peer); }

    // Takes the first peer from the queue; nullptr if it is empty.
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
