// SPDX-License-Identifier: BSD-3-Clause
// The messages that make and end a connection, as bytes: INIT, COOKIE, RESPONSE, CLOSE. Each has a fixed length, the
// outer header first and a MAC under the handshake key last; none is longer than an INIT. Knows no state. Pure; any
// thread. Layouts: docs/spec/wire.md. Tests: tests/unit/datagram/handshake_packets_test.cpp.
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

// WIRE-10: "I want to talk to you", the same nonce in every try.
struct InitPacket {
    static constexpr PacketType type = PacketType::init;
    OuterHeader outer;
    std::uint64_t job = 0;
    std::uint32_t target = 0;
    std::uint32_t features = 0;   // Features; both sides' must be equal
    std::uint64_t instance = 0;   // drawn when the gateway started
    std::uint32_t first_dsn = 0;  // serial number it begins with
    std::uint32_t credit = 0;     // KiB it lets the other have in flight
    Random16 nonce{};
    Random16 cookie{};       // zero at first
    PublicKey public_key{};  // zero with security off
    Mac mac{};
};

static_assert(sizeof(InitPacket) == 128 && offsetof(InitPacket, mac) == 112);

// WIRE-11: "say that again with this", so that whoever answers keeps no state for a source it has not seen.
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

// WIRE-12: "we talk".
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

// What two gateways must do alike, as it travels in INIT and RESPONSE.
struct Features {
    std::uint8_t security = 0;          // base::Security
    std::uint8_t key_packets_log2 = 0;  // packets per key
    std::uint8_t cipher = 0;            // CipherSuite::number(); 0 with security off
    std::uint8_t agreement = 0;         // 1: X25519; 0 with security off

    friend bool operator==(const Features&, const Features&) = default;
};

static_assert(sizeof(Features) == sizeof(std::uint32_t));

// As a person would say it: "encrypt by aes-128-gcm, keys agreed on by x25519".
[[nodiscard]] std::string text_of(const Features& features);

// WIRE-13: "we do not talk, and never will". outer.number repeats the packet number of the data it answers; when the
// reason is `mismatched`, it holds the sender's features.
struct ClosePacket {
    static constexpr PacketType type = PacketType::close;
    OuterHeader outer;
    std::uint64_t job = 0;
    std::uint32_t target = 0;
    std::uint32_t reason = 0;          // CloseReason
    std::uint64_t instance = 0;        // of the sender
    std::uint64_t other_instance = 0;  // of the target, as the sender knows it; 0: it does not
    Mac mac{};
};

// WIRE-14: no answer is longer than what it answers. Data shorter than a CLOSE is not answered.
static_assert(sizeof(ClosePacket) == 64 && offsetof(ClosePacket, mac) == 48);
static_assert(sizeof(CookiePacket) <= sizeof(InitPacket) &&
              sizeof(ResponsePacket) <= sizeof(InitPacket) &&
              sizeof(ClosePacket) <= sizeof(InitPacket));

inline constexpr std::size_t handshake_bytes_max = sizeof(InitPacket);

// Of all bytes before it.
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

// WIRE-15: nothing of a message is looked at before its MAC has been found right.
template <typename Packet>
[[nodiscard]] bool is_signed(const Packet& packet,
                             Bytes handshake_key,
                             CipherSuite& suite) noexcept {
    const Mac right = mac_of(packet, handshake_key, suite);
    // All bytes are compared, whatever the first ones are: no time tells how many were right.
    std::byte difference{};
    for (std::size_t i = 0; i < sizeof(Mac); ++i) difference |= right[i] ^ packet.mac[i];
    return difference == std::byte{};
}

}  // namespace acp::datagram
