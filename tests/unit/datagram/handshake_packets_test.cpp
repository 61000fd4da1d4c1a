// SPDX-License-Identifier: BSD-3-Clause
// Messages of the handshake: the offsets of their fields; and the MAC covers each of their bits.
#include "datagram/handshake_packets.hpp"

#include <gtest/gtest.h>

#include "support/test_cipher.hpp"

namespace acp::datagram {
namespace {

// WIRE-10
TEST(HandshakePackets, init_lies_as_specified) {
    EXPECT_EQ(offsetof(InitPacket, job), 16U);
    EXPECT_EQ(offsetof(InitPacket, target), 24U);
    EXPECT_EQ(offsetof(InitPacket, features), 28U);
    EXPECT_EQ(offsetof(InitPacket, instance), 32U);
    EXPECT_EQ(offsetof(InitPacket, first_dsn), 40U);
    EXPECT_EQ(offsetof(InitPacket, credit), 44U);
    EXPECT_EQ(offsetof(InitPacket, nonce), 48U);
    EXPECT_EQ(offsetof(InitPacket, cookie), 64U);
    EXPECT_EQ(offsetof(InitPacket, public_key), 80U);
    EXPECT_EQ(sizeof(InitPacket), 128U);
}

// WIRE-11
TEST(HandshakePackets, cookie_lies_as_specified) {
    EXPECT_EQ(offsetof(CookiePacket, target), 24U);
    EXPECT_EQ(offsetof(CookiePacket, nonce), 32U);
    EXPECT_EQ(offsetof(CookiePacket, cookie), 48U);
    EXPECT_EQ(sizeof(CookiePacket), 80U);
}

// WIRE-12
TEST(HandshakePackets, response_lies_as_specified) {
    EXPECT_EQ(offsetof(ResponsePacket, features), 28U);
    EXPECT_EQ(offsetof(ResponsePacket, instance), 32U);
    EXPECT_EQ(offsetof(ResponsePacket, first_dsn), 40U);
    EXPECT_EQ(offsetof(ResponsePacket, credit), 44U);
    EXPECT_EQ(offsetof(ResponsePacket, nonce), 48U);
    EXPECT_EQ(offsetof(ResponsePacket, initiator_nonce), 64U);
    EXPECT_EQ(offsetof(ResponsePacket, public_key), 80U);
    EXPECT_EQ(sizeof(ResponsePacket), 128U);
}

// WIRE-13
TEST(HandshakePackets, close_lies_as_specified) {
    EXPECT_EQ(offsetof(ClosePacket, target), 24U);
    EXPECT_EQ(offsetof(ClosePacket, reason), 28U);
    EXPECT_EQ(offsetof(ClosePacket, instance), 32U);
    EXPECT_EQ(offsetof(ClosePacket, other_instance), 40U);
    EXPECT_EQ(sizeof(ClosePacket), 64U);
}

// WIRE-14
TEST(HandshakePackets, no_answer_is_longer_than_an_init) {
    EXPECT_LE(sizeof(CookiePacket), sizeof(InitPacket));
    EXPECT_LE(sizeof(ResponsePacket), sizeof(InitPacket));
    EXPECT_LE(sizeof(ClosePacket), sizeof(InitPacket));
}

template <typename Packet>
void expect_every_bit_signed() {
    test::TestSuite suite;
    const std::array<std::byte, 32> key{std::byte{7}};
    Packet packet;
    packet.job = 0x1234;
    sign(packet, key, suite);
    EXPECT_TRUE(is_signed(packet, key, suite));
    for (std::size_t bit = 0; bit < sizeof(Packet) * 8; ++bit) {
        std::array<std::byte, sizeof(Packet)> bytes;
        store(bytes.data(), packet);
        bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        EXPECT_FALSE(is_signed(load<Packet>(bytes.data()), key, suite)) << "bit " << bit;
    }
    std::array<std::byte, 32> other = key;
    other[31] = std::byte{1};
    EXPECT_FALSE(is_signed(packet, other, suite));
}

// WIRE-15
TEST(HandshakePackets, every_bit_of_a_message_is_signed) {
    expect_every_bit_signed<InitPacket>();
    expect_every_bit_signed<CookiePacket>();
    expect_every_bit_signed<ResponsePacket>();
    expect_every_bit_signed<ClosePacket>();
}

}  // namespace
}  // namespace acp::datagram
