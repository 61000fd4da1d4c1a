// SPDX-License-Identifier: BSD-3-Clause
// Chooses the buffers of a peer that are sent together now (WIRE-89): lost content first, then new
// content, as far as credit, congestion window, pacing and room for sent records allow. Removes
// them from their queues; seals nothing. One thread.
// Tests: tests/unit/datagram/endpoint_delivery_test.cpp.
#pragma once

#include <array>
#include <cstdint>

#include "datagram/peer.hpp"
#include "datagram/send_buffers.hpp"
#include "datagram/wire.hpp"

namespace acp::datagram {

// The buffers of one batch: datagrams that are handed to the kernel in one call.
struct Batch {
    static constexpr std::uint32_t datagrams_max = 63;  // an acknowledgement may follow
    static constexpr std::uint32_t bytes_max = 65000;   // the acknowledgement not counted

    std::array<BufferIndex, datagrams_max> buffers{};
    std::uint32_t count = 0;
    std::uint32_t segment_bytes = 0;  // length of every datagram but the last
    std::uint32_t last_bytes = 0;     // length of the last one; <= segment_bytes
    std::uint32_t bytes = 0;          // length of the whole batch
    bool may_fragment = false;        // its datagrams are longer than the path carries whole
};

class BatchPlanner {
public:
    //   buffers             must outlive it
    //   datagram_bytes_min  an ack-eliciting datagram is padded to at least this length
    BatchPlanner(SendBuffers& buffers, std::uint32_t datagram_bytes_min) noexcept
        : buffers_(buffers), datagram_bytes_min_(datagram_bytes_min) {}

    // Empty if nothing may be sent now; the peer's fields is_paced, is_starved and is_ping_due say
    // why.
    [[nodiscard]] Batch plan(Peer& peer, Time now);

private:
    SendBuffers& buffers_;
    std::uint32_t datagram_bytes_min_;
};

}  // namespace acp::datagram
