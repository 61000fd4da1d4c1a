// SPDX-License-Identifier: BSD-3-Clause
// Datagrams sealed and opened under the keys of a peer, with the key that belongs to a packet's number. Knows headers
// and tags, and nothing of what is inside. One thread. Tests: tests/unit/datagram/endpoint_security_test.cpp,
// endpoint_bad_input_test.cpp.
#pragma once

#include <cstdint>

#include "datagram/cipher.hpp"
#include "datagram/counters.hpp"
#include "datagram/credentials.hpp"
#include "datagram/endpoint.hpp"
#include "datagram/peer.hpp"
#include "datagram/wake_keys.hpp"
#include "datagram/wire.hpp"

namespace acp::datagram {

class PacketProtection {
public:
    // All outlive it. Throws std::bad_alloc.
    PacketProtection(const Settings& settings,
                     CipherSuite& suite,
                     const Credentials& credentials,
                     EndpointCounters& counters);

    // Of a datagram: none without security.
    [[nodiscard]] std::uint32_t tag_bytes_used() const noexcept { return tag_bytes_; }

    // Seals plain text under a peer's next packet number and keeps count. Returns the datagram's bytes; 0: there is no
    // memory for its next key, and nothing is sent to this peer any more.
    [[nodiscard]] std::uint32_t seal(PeerKeys& keys, Pieces plain, std::byte* into);

    // Opens data of a peer in place; `plain` is what was inside. false: dropped and counted, and nothing noted.
    [[nodiscard]] bool open(
        Peer& peer, const OuterHeader& outer, MutableBytes datagram, MutableBytes& plain, Time now);

    // open() of data for an idle peer, which stays folded (WIRE-91): to see that it is its own costs no more than for
    // others, but for a key now and then.
    [[nodiscard]] bool open_idle(const FoldedPeer& folded,
                                 const OuterHeader& outer,
                                 MutableBytes datagram,
                                 MutableBytes& plain,
                                 Time now);

    // The peer was woken by the packet that open_idle() opened.
    void on_woken(Peer& peer, PacketNumber number, Time now);

private:
    // WIRE-30: the epoch follows from the packet number.
    [[nodiscard]] std::uint64_t epoch_of(PacketNumber number) const noexcept {
        return number >> settings_.key_packets_log2;
    }

    [[nodiscard]] bool advance_send_key(PeerKeys& keys);
    [[nodiscard, gnu::always_inline]] bool open_with(DirectionKey& key,
                                                     const OuterHeader& outer,
                                                     MutableBytes datagram,
                                                     MutableBytes& plain) noexcept;

    const Settings& settings_;
    CipherSuite& suite_;
    const Credentials& credentials_;
    EndpointCounters& counters_;
    WakeKeys wake_keys_;
    std::uint32_t tag_bytes_;
};

}  // namespace acp::datagram
