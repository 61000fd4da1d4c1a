// SPDX-License-Identifier: BSD-3-Clause
// Packet protection: seals and opens datagrams with the key that belongs to the epoch of the packet
// number. Knows headers and tags, and nothing of the plain text. One thread.
// Tests: tests/unit/datagram/endpoint_security_test.cpp, endpoint_bad_input_test.cpp.
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
    // All arguments must outlive it. Throws std::bad_alloc.
    PacketProtection(const Settings& settings,
                     CipherSuite& suite,
                     const Credentials& credentials,
                     EndpointCounters& counters);

    // Length of the tag of a datagram; 0 with security off.
    [[nodiscard]] std::uint32_t tag_bytes_used() const noexcept { return tag_bytes_; }

    // Seals plain text under the peer's next packet number, which it advances. Returns the length
    // of the datagram. Returns 0 if there is no memory for the peer's next key; the caller must
    // sever the peer then, for a packet number may be used only under its own key.
    [[nodiscard]] std::uint32_t seal(PeerKeys& keys, Pieces plain, std::byte* into);

    // Opens data of a peer in place; `plain` becomes the plain text. On false the datagram was
    // counted and must be dropped; the peer is unchanged.
    [[nodiscard]] bool open(
        Peer& peer, const OuterHeader& outer, MutableBytes datagram, MutableBytes& plain, Time now);

    // Like open(), for a folded peer, which stays folded (WIRE-91): a forged datagram costs no more
    // than one for any other peer, except for a key now and then.
    [[nodiscard]] bool open_idle(const FoldedPeer& folded,
                                 const OuterHeader& outer,
                                 MutableBytes datagram,
                                 MutableBytes& plain,
                                 Time now);

    // Notes that a peer was woken by the packet that open_idle() opened.
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
