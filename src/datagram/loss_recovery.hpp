// SPDX-License-Identifier: BSD-3-Clause
// Applies acknowledgements, losses and probe timeouts to a peer: frees buffers or queues them
// again, and updates all that estimates the path. It decides neither when a datagram is lost nor
// how large the window is: parts of the peer do. Sends nothing itself. One thread.
// Tests: tests/unit/datagram/endpoint_delivery_test.cpp, endpoint_mtu_test.cpp.
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
    // All arguments must outlive it.
    LossRecovery(const PeerAddresses& addresses,
                 Peers& peers,
                 SendBuffers& buffers,
                 EndpointCounters& counters) noexcept
        : addresses_(addresses), peers_(peers), buffers_(buffers), counters_(counters) {}

    // Processes an authentic acknowledgement.
    void on_ack(Peer& peer, const AckFrame& ack, Time now);

    // The alarm of a connected peer rang: detects losses by time. If the probe timeout has expired,
    // queues the oldest datagrams again and requests pings.
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
