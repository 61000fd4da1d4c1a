// SPDX-License-Identifier: BSD-3-Clause
// How two gateways come to share a secret: INIT, perhaps COOKIE, RESPONSE. A node is connected to once: there is no
// second handshake with the same instance. Takes these messages in, sends INITs, leaves answers in the queue; knows no
// data. One thread.
// Tests: tests/unit/datagram/endpoint_handshake_test.cpp, endpoint_bad_handshake_test.cpp, endpoint_copies_test.cpp.
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
    static constexpr Time init_retry_ns = 30'000'000;
    static constexpr Time init_retry_max_ns = 200'000'000;

    // What it works with. All outlive it.
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

    //   settings  outlive it
    Handshake(const Settings& settings, const Parts& parts) noexcept
        : settings_(settings), parts_(parts) {}

    // A message came whose outer header is sound. It is taken, or counted under what was wrong with it.
    void on_init(const OuterHeader& outer, const Address& from, Bytes datagram, Time now);
    void on_cookie(const OuterHeader& outer, const Address& from, Bytes datagram);
    void on_response(const OuterHeader& outer, const Address& from, Bytes datagram, Time now);

    // An INIT that is due (HandshakeState::inits_due != 0). Nothing where the node has no address.
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
