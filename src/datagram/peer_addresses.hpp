// SPDX-License-Identifier: BSD-3-Clause
// Chooses the address to which a peer's datagrams are sent. The addresses of the book count;
// another one counts only after a cookie sent there has returned, and only until a datagram of the
// node arrives from an address of the book. A handshake message may be a copy sent from elsewhere:
// it is answered at its source, but does not change where data goes (WIRE-18, WIRE-93, WIRE-94).
// Keeps no peers; writes the addresses of those it is given. One thread.
// Tests: tests/unit/datagram/endpoint_copies_test.cpp.
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

    // All arguments must outlive it. Throws std::bad_alloc.
    PeerAddresses(const AddressBook& book,
                  CipherSuite& suite,
                  Entropy& entropy,
                  const Credentials& credentials,
                  AnswerQueue& answers,
                  EndpointCounters& counters);

    [[nodiscard]] std::span<const Address> of(NodeId node) const noexcept {
        return book_.addresses_of(node);
    }

    // Whether the book has this address for the node.
    [[nodiscard]] bool is_listed(NodeId node, const Address& address) const noexcept;

    // WIRE-18: whether an INIT may be processed. Sources outside the book, and all sources while
    // the endpoint is flooded, must first prove by a cookie that they receive at their address,
    // before any state is kept or any key computed for them. If not, a COOKIE is sent.
    //   is_busy  many handshakes are half open
    [[nodiscard]] bool has_shown_address(const InitPacket& init,
                                         const Address& from,
                                         bool is_busy,
                                         Time now);

    // Whether an INIT contains a valid cookie for its source, and so is no replayed copy. If not, a
    // COOKIE is sent in answer.
    [[nodiscard]] bool has_cookie(const InitPacket& init, const Address& from, Time now);

    // WIRE-93: notes the source of an INIT that has shown its address. An address outside the book
    // is used only as long as nothing comes from an address in the book.
    void note_source(Peer& peer, const Address& from) const noexcept;

    // WIRE-93: takes the source of the first authentic data of a half-open peer as its address, if
    // the book has it or a cookie has shown it.
    void settle(Peer& peer, const Address& from) const noexcept;

    // WIRE-94: a probe timeout expired. After every second one in a row the next address is used:
    // those of the book in turn, then `shown`.
    void note_probe_timeout(Peer& peer) const noexcept;

private:
    const AddressBook& book_;
    CookieJar cookies_;
    const Credentials& credentials_;
    AnswerQueue& answers_;
    EndpointCounters& counters_;
};

}  // namespace acp::datagram
