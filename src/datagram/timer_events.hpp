// SPDX-License-Identifier: BSD-3-Clause
// Reactions to the passing of time: handshakes are tried again, delayed acknowledgements become
// due, probes and pings are requested, nodes are severed, idle peers folded. An alarm may ring
// early, so what is due is decided by the deadlines. Sends nothing: it marks in the peer what is to
// be sent. One thread.
// Tests: tests/unit/datagram/endpoint_life_test.cpp, endpoint_handshake_test.cpp,
// endpoint_idle_test.cpp.
#pragma once

#include "datagram/endpoint.hpp"
#include "datagram/loss_recovery.hpp"
#include "datagram/peers.hpp"
#include "datagram/send_buffers.hpp"
#include "datagram/severing.hpp"

namespace acp::datagram {

class TimerEvents {
public:
    static constexpr std::uint32_t probes_before_severing = 3;

    // All arguments must outlive it.
    TimerEvents(Peers& peers,
                SendBuffers& buffers,
                LossRecovery& recovery,
                Severing& severing,
                EndpointHandler& handler) noexcept
        : peers_(peers),
          buffers_(buffers),
          recovery_(recovery),
          severing_(severing),
          handler_(handler) {}

    // Handles the alarm of a peer. The peer may be deleted afterwards.
    void ring(Peer& peer, Time now);

private:
    void ring_connecting(Peer& peer, Time now);
    void ring_half_open(Peer& peer, Time now);
    void ring_connected(Peer& peer, Time now);

    Peers& peers_;
    SendBuffers& buffers_;
    LossRecovery& recovery_;
    Severing& severing_;
    EndpointHandler& handler_;
};

}  // namespace acp::datagram
