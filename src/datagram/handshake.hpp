// SPDX-License-Identifier: BSD-3-Clause
// The handshake by which two gateways agree on keys: INIT, a COOKIE if the responder asks for one,
// RESPONSE. A node is connected to once: there is no second handshake with the same instance.
// Handles the messages received, makes INITs to send, and leaves its answers in the queue. Knows no
// data. One thread.
// Tests: tests/unit/datagram/endpoint_handshake_test.cpp, endpoint_bad_handshake_test.cpp,
// endpoint_copies_test.cpp.
#pragma once

#include "datagram/answer_queue.hpp"
#include "datagram/counters.hpp"
#include "datagram/credentials.hpp"
#include "datagram/credit_budget.hpp"
#include "datagram/endpoint.hpp"
#include "datagram/handshake_packets.hpp"
#include "datagram/peer_addresses.hpp"
#include "datagram/peers.hpp"
#include "datagram/severing.hpp"
#include "datagram/wire.hpp"

namespace acp::datagram {

class Handshake {
public:
    // Interval between the first tries; it doubles.
    static constexpr Time init_retry_ns = 30'000'000;
    static constexpr Time init_retry_max_ns = 200'000'000;  // the longest interval

    // The parts it calls. All must outlive it.
    struct Parts {
        Entropy& entropy;
        const CreditBudget& budget;
        Credentials& credentials;
        AnswerQueue& answers;
        PeerAddresses& addresses;
        Peers& peers;
        Severing& severing;
        EndpointCounters& counters;
    };

    //   settings  must outlive it
    Handshake(const Settings& settings, const Parts& parts) noexcept
        : settings_(settings), parts_(parts) {}

    // Handle a received message whose outer header was checked. A message that is not accepted is
    // counted under the reason, and changes nothing.
    void on_init(const OuterHeader& outer, const Address& from, Bytes datagram, Time now);
    void on_cookie(const OuterHeader& outer, const Address& from, Bytes datagram);
    void on_response(const OuterHeader& outer, const Address& from, Bytes datagram, Time now);

    // Makes an INIT that is due (HandshakeState::inits_due != 0). Returns nothing if the node has
    // no address.
    [[nodiscard]] Transmit transmit_init(Peer& peer, MutableBytes into, Time now) noexcept;

private:
    void on_other_features(const InitPacket& init, const Address& from, Time now);
    [[nodiscard]] bool has_shown_address(const InitPacket& init, const Address& from, Time now);
    [[nodiscard]] bool may_respond(Peer& peer,
                                   const InitPacket& init,
                                   const Address& from,
                                   Time now);
    void respond(Peer* known, const InitPacket& init, const Address& from, Time now);
    void send_response(const Peer& peer, const Address& to);

    const Settings& settings_;
    Parts parts_;
};

}  // namespace acp::datagram
