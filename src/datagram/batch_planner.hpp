// SPDX-License-Identifier: BSD-3-Clause
// Which buffers of a peer leave together now (WIRE-89): what was lost first, then what waits, as far as credit, window,
// pace and room for records let it. Takes them out of their queues; seals nothing. One thread.
// Tests: tests/unit/datagram/endpoint_delivery_test.cpp.
#pragma once

#include <array>
#include <cstdint>

#include "datagram/peer.hpp"
#include "datagram/send_buffers.hpp"
#include "datagram/wire.hpp"

namespace acp::datagram {

// What one batch will be made of.
struct Batch {
    static constexpr std::uint32_t datagrams_max = 63;  // and an acknowledgement
    static constexpr std::uint32_t bytes_max = 65000;   // without that

    std::array<BufferIndex, datagrams_max> buffers{};
    std::uint32_t count = 0;
    std::uint32_t segment_bytes = 0;  // of every datagram but the last
    std::uint32_t last_bytes = 0;
    std::uint32_t bytes = 0;
    bool may_fragment = false;
};

class BatchPlanner {
public:
    //   buffers         outlive it
    //   datagram_bytes_min  what wants an acknowledgement is at least so long
    BatchPlanner(SendBuffers& buffers, std::uint32_t datagram_bytes_min) noexcept
        : buffers_(buffers), datagram_bytes_min_(datagram_bytes_min) {}

    // Empty when nothing may leave now; the peer says why (is_paced, is_starved, is_ping_due).
    [[nodiscard]] Batch plan(Peer& peer, Time now);

private:
    SendBuffers& buffers_;
    std::uint32_t datagram_bytes_min_;
};

}  // namespace acp::datagram
