// SPDX-License-Identifier: BSD-3-Clause
// What acknowledgements, losses and silence do to a peer: buffers come free or are queued again, and all that estimates
// the path is told. Decides neither when something is lost nor how large the window is; the peer's parts do. Sends
// nothing itself. One thread. Tests: tests/unit/datagram/endpoint_delivery_test.cpp, endpoint_mtu_test.cpp.
#pragma once

#include <cstdint>

#include "datagram/ack_frame.hpp"
#include "datagram/congestion.hpp"
#include "datagram/counters.hpp"
#include "datagram/peer.hpp"
#include "datagram/peer_addresses.hpp"
#include "datagram/peers.hpp"
#include "datagram/send_buffers.hpp"

namespace acp::datagram {

class LossRecovery {
public:
    // All outlive it.
    LossRecovery(const PeerAddresses& addresses,
                 Peers& peers,
                 SendBuffers& buffers,
                 EndpointCounters& counters) noexcept
        : addresses_(addresses), peers_(peers), buffers_(buffers), counters_(counters) {}

    // An authentic acknowledgement came.
    void on_ack(Peer& peer, const AckFrame& ack, Time now);

    // A connected peer's alarm rang: takes what is lost by now, and when the probe timeout has come, queues the oldest
    // again and has pings sent.
    void on_timer(Peer& peer, Time now);

private:
    void on_acked(Peer& peer, PacketNumber number, const SentDatagram& record, Time now);
    void on_lost(Peer& peer, PacketNumber number, const SentDatagram& record, Time now);
    void give_up(Peer& peer, const SentDatagram& record, Time now) noexcept;
    void on_longer_path(Peer& peer, std::uint32_t before, Time now) noexcept;
    void on_probe_timeout(Peer& peer, Time now);

    const PeerAddresses& addresses_;
    Peers& peers_;
    SendBuffers& buffers_;
    EndpointCounters& counters_;
};

}  // namespace acp::datagram
