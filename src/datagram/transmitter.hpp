// SPDX-License-Identifier: BSD-3-Clause
// Makes the datagrams sent to a connected peer: batches of equal datagrams, which the kernel
// segments, of frames and acknowledgements; pings; and path probes. A batch is planned and sealed
// at once into the caller's memory; the plain text stays in its buffer until acknowledged. Does not
// decide which peer is next. One thread.
// Tests: tests/unit/datagram/endpoint_delivery_test.cpp, endpoint_mtu_test.cpp.
#pragma once

#include <cstdint>

#include "datagram/acknowledger.hpp"
#include "datagram/batch_planner.hpp"
#include "datagram/counters.hpp"
#include "datagram/endpoint.hpp"
#include "datagram/handshake_packets.hpp"
#include "datagram/packet_protection.hpp"
#include "datagram/peer.hpp"
#include "datagram/send_buffers.hpp"
#include "datagram/severing.hpp"

namespace acp::datagram {

class Transmitter {
public:
    static constexpr std::uint32_t wanting_bytes_min = sizeof(ClosePacket);  // WIRE-26
    static constexpr PacketNumber path_probe_after = 16;  // packets sent before the path is probed

    // The parts it calls. All must outlive it.
    struct Parts {
        PacketProtection& protection;
        Acknowledger& acknowledger;
        SendBuffers& buffers;
        Severing& severing;  // severs a peer for whose next key there is no memory
        EndpointCounters& counters;
    };

    explicit Transmitter(const Parts& parts) noexcept
        : parts_(parts),
          planner_(parts.buffers, wanting_bytes_min),
          tag_bytes_(parts.protection.tag_bytes_used()) {}

    // Seals what may be sent to the peer now. To be called until it returns nothing.
    //   into  at least 65536 bytes
    [[nodiscard]] Transmit transmit(Peer& peer, MutableBytes into, Time now);

private:
    Transmit transmit_batch(Peer& peer, const Batch& batch, MutableBytes into, Time now);
    std::uint32_t transmit_buffer(
        Peer& peer, const Batch& batch, std::uint32_t i, std::byte* into, Time now);
    void add_ack(Peer& peer, const Batch& batch, MutableBytes into, Transmit& transmit, Time now);
    Transmit transmit_control(Peer& peer, MutableBytes into, Time now);
    Transmit transmit_path_probe(Peer& peer, MutableBytes into, Time now);
    [[nodiscard]] std::uint32_t seal(Peer& peer, Pieces plain, std::byte* into);

    Parts parts_;
    BatchPlanner planner_;
    std::uint32_t tag_bytes_;  // length of the tag of each datagram
};

}  // namespace acp::datagram
