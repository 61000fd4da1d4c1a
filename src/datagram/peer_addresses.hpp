// SPDX-License-Identifier: BSD-3-Clause
// Where a node is sent to. Its addresses are those of the book; another one counts when a cookie sent there came back,
// and only until the node was heard from one of its own. A handshake message may be a copy that somebody sends from
// elsewhere: it is answered where it came from, and decides nothing (WIRE-18, WIRE-93, WIRE-94). Keeps no peer; writes
// the addresses of those it is given. One thread. Tests: tests/unit/datagram/endpoint_copies_test.cpp.
#pragma once

#include "datagram/answer_queue.hpp"
#include "datagram/cookie_jar.hpp"
#include "datagram/counters.hpp"
#include "datagram/credentials.hpp"
#include "datagram/endpoint.hpp"
#include "datagram/peer.hpp"

namespace acp::datagram {

class PeerAddresses {
public:
    static constexpr std::uint32_t probes_per_address = 2;  // WIRE-94

    // All outlive it. Throws std::bad_alloc.
    PeerAddresses(const AddressBook& book,
                  CipherSuite& suite,
                  Entropy& entropy,
                  const Credentials& credentials,
                  AnswerQueue& answers,
                  EndpointCounters& counters);

    [[nodiscard]] std::span<const Address> of(NodeId node) const noexcept {
        return book_.addresses_of(node);
    }

    [[nodiscard]] bool is_listed(NodeId node, const Address& address) const noexcept;

    // WIRE-18: whether an INIT may be worked on. Sources that are not in the book, and all while the endpoint is busy,
    // must show that they receive at their address before anything is kept of them or computed for them.
    //   is_busy  many handshakes are half open
    [[nodiscard]] bool has_shown_address(const InitPacket& init,
                                         const Address& from,
                                         bool is_busy,
                                         Time now);

    // Whether an INIT brings back a cookie that was sent where it came from, and so is no copy of an earlier time. Else
    // it is answered by one.
    [[nodiscard]] bool has_cookie(const InitPacket& init, const Address& from, Time now);

    // WIRE-93: keeps whence an INIT came that has shown its address: in case nothing comes from the node's own.
    void note_source(Peer& peer, const Address& from) const noexcept;

    // WIRE-93: the first authentic data of a node that asked tells where it is, unless it came from where nobody has
    // shown to be.
    void settle(Peer& peer, const Address& from) const noexcept;

    // WIRE-94: two probes in a row were not answered: the addresses of the book take turns, and what was shown.
    void turn(Peer& peer) const noexcept;

private:
    const AddressBook& book_;
    CookieJar cookies_;
    const Credentials& credentials_;
    AnswerQueue& answers_;
    EndpointCounters& counters_;
};

}  // namespace acp::datagram
