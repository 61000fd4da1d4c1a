// SPDX-License-Identifier: BSD-3-Clause
// Processes received data. Checks run from cheap to expensive (WIRE-7), each has a counter, and no
// state changes before the tag was verified. The plain text is checked as a whole before any of it
// is acted on: first control frames, then the content, which the handler gets if it is new. Sends
// nothing itself. One thread.
// Tests: tests/unit/datagram/endpoint_bad_input_test.cpp, endpoint_delivery_test.cpp,
// endpoint_idle_test.cpp.
#pragma once

#include <cstdint>

#include "datagram/acknowledger.hpp"
#include "datagram/counters.hpp"
#include "datagram/credit_budget.hpp"
#include "datagram/endpoint.hpp"
#include "datagram/loss_recovery.hpp"
#include "datagram/packet_protection.hpp"
#include "datagram/peer_addresses.hpp"
#include "datagram/peers.hpp"
#include "datagram/severing.hpp"
#include "datagram/wire.hpp"

namespace acp::datagram {

class Receiver {
public:
    // The parts it calls. All must outlive it.
    struct Parts {
        EndpointHandler& handler;
        CreditBudget& budget;
        PacketProtection& protection;
        Acknowledger& acknowledger;
        LossRecovery& recovery;
        const PeerAddresses& addresses;
        Peers& peers;
        Severing& severing;
        EndpointCounters& counters;
    };

    explicit Receiver(const Parts& parts) noexcept : parts_(parts) {}

    // Takes a received datagram whose outer header was checked and says that it holds data.
    void on_data(const OuterHeader& outer, const Address& from, MutableBytes datagram, Time now);

private:
    void on_data_of_idle(const FoldedPeer& folded,
                         const OuterHeader& outer,
                         MutableBytes datagram,
                         Time now);
    void take(
        Peer& peer, const OuterHeader& outer, std::uint32_t datagram_bytes, Bytes plain, Time now);
    void act_on_control(Peer& peer, Bytes control, Time now);

    Parts parts_;
};

}  // namespace acp::datagram
