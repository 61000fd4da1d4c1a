// SPDX-License-Identifier: BSD-3-Clause
// The messages that make and end a connection, as bytes: INIT, COOKIE, RESPONSE, CLOSE. Each has a
// fixed length, begins with the outer header, and ends with a MAC under the handshake key. None is
// longer than an INIT, so that answers cannot amplify. Knows no state. Pure; any thread. Layouts:
// docs/spec/wire.md. Tests: tests/unit/datagram/handshake_packets_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "datagram/cipher.hpp"
#include "datagram/wire.hpp"

namespace acp::datagram {

using Mac = std::array<std::byte, 16>;
using Random16 = std::array<std::byte, 16>;

// WIRE-10: asks for a connection. All tries of one handshake carry the same nonce.
struct InitPacket {
    static constexpr PacketType type = PacketType::init;
    OuterHeader outer;
    std::uint64_t job = 0;
    std::uint32_t target = 0;
    std::uint32_t features = 0;   // Features; must equal the responder's
    std::uint64_t instance = 0;   // random, drawn when the gateway started
    std::uint32_t first_dsn = 0;  // serial number of the sender's first content
    std::uint32_t credit = 0;     // datagrams that the other side may send unasked
    Random16 nonce{};
    Random16 cookie{};       // zero until a COOKIE brought one
    PublicKey public_key{};  // zero with security off
    Mac mac{};
};

static_assert(sizeof(InitPacket) == 128 && offsetof(InitPacket, mac) == 112);

// WIRE-11: asks for the INIT again with this cookie, so that the responder keeps no state for a
// source that has not shown its address.
struct CookiePacket {
    static constexpr PacketType type = PacketType::cookie;
    OuterHeader outer;
    std::uint64_t job = 0;
    std::uint32_t target = 0;
    std::uint32_t reserved = 0;
    Random16 nonce{};  // of the INIT
    Random16 cookie{};
    Mac mac{};
};

static_assert(sizeof(CookiePacket) == 80 && offsetof(CookiePacket, mac) == 64);

// WIRE-12: accepts a connection.
struct ResponsePacket {
    static constexpr PacketType type = PacketType::response;
    OuterHeader outer;
    std::uint64_t job = 0;
    std::uint32_t target = 0;
    std::uint32_t features = 0;
    std::uint64_t instance = 0;
    std::uint32_t first_dsn = 0;
    std::uint32_t credit = 0;
    Random16 nonce{};            // the responder's
    Random16 initiator_nonce{};  // of the INIT
    PublicKey public_key{};      // the responder's
    Mac mac{};
};

static_assert(sizeof(ResponsePacket) == 128 && offsetof(ResponsePacket, mac) == 112);

enum class CloseReason : std::uint32_t { leaving = 1, severed = 2, unknown = 3, mismatched = 4 };

// The settings that two gateways must share, as INIT and RESPONSE carry them.
struct Features {
    std::uint8_t security = 0;          // base::Security
    std::uint8_t key_packets_log2 = 0;  // log2 of the packets sealed per key
    std::uint8_t cipher = 0;            // CipherSuite::number(); 0 with security off
    std::uint8_t agreement = 0;         // 1: X25519; 0 with security off

    friend bool operator==(const Features&, const Features&) = default;
};

static_assert(sizeof(Features) == sizeof(std::uint32_t));

// The features in words: "encrypt by aes-128-gcm, keys agreed on by x25519, 2^22 packets per key".
[[nodiscard]] std::string text_of(const Features& features);

// WIRE-13: there is no connection, and there never will be. outer.number repeats the packet number
// of the data that this answers; if the reason is `mismatched`, it holds the sender's features.
struct ClosePacket {
    static constexpr PacketType type = PacketType::close;
    OuterHeader outer;
    std::uint64_t job = 0;
    std::uint32_t target = 0;
    std::uint32_t reason = 0;          // CloseReason
    std::uint64_t instance = 0;        // the sender's
    std::uint64_t other_instance = 0;  // the target's as the sender knows it; 0: unknown
    Mac mac{};
};

// WIRE-14: no answer is longer than the message it answers, so forged messages cannot use the
// endpoint to amplify traffic. Data shorter than a CLOSE is not answered.
static_assert(sizeof(ClosePacket) == 64 && offsetof(ClosePacket, mac) == 48);
static_assert(sizeof(CookiePacket) <= sizeof(InitPacket) &&
              sizeof(ResponsePacket) <= sizeof(InitPacket) &&
              sizeof(ClosePacket) <= sizeof(InitPacket));

inline constexpr std::size_t handshake_bytes_max = sizeof(InitPacket);

// Computes the MAC over all bytes of a message before its MAC.
template <typename Packet>
[[nodiscard]] Mac mac_of(const Packet& packet, Bytes handshake_key, CipherSuite& suite) noexcept {
    static_assert(std::is_trivially_copyable_v<Packet>);
    std::array<std::byte, sizeof(Packet)> bytes{};
    store(bytes.data(), packet);
    Mac mac;
    suite.authenticate(handshake_key, Bytes(bytes).first(sizeof(Packet) - sizeof(Mac)), mac);
    return mac;
}

// Fills in the length and the MAC.
template <typename Packet>
void sign(Packet& packet, Bytes handshake_key, CipherSuite& suite) noexcept {
    packet.outer.bytes = sizeof(Packet);
    packet.mac = mac_of(packet, handshake_key, suite);
}

// WIRE-15: whether a message's MAC is right. No other field may be used before this was checked.
template <typename Packet>
[[nodiscard]] bool is_signed(const Packet& packet,
                             Bytes handshake_key,
                             CipherSuite& suite) noexcept {
    const Mac right = mac_of(packet, handshake_key, suite);
    // All bytes are always compared: the time taken must not reveal how many were right.
    std::byte difference{};
    for (std::size_t i = 0; i < sizeof(Mac); ++i) difference |= right[i] ^ packet.mac[i];
    return difference == std::byte{};
}

}  // namespace acp::datagram
