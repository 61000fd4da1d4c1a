// SPDX-License-Identifier: BSD-3-Clause
// Layouts byte by byte, and a reader that never reads outside its bytes.
#include "datagram/wire.hpp"

#include <array>
#include <gtest/gtest.h>

namespace acp::datagram {
namespace {

std::uint8_t at(const std::byte* bytes, std::size_t i) {
    return std::to_integer<std::uint8_t>(bytes[i]);
}

// WIRE-1 WIRE-2
TEST(Wire, outer_header_lies_as_specified) {
    std::array<std::byte, outer_bytes> bytes{};
    store(bytes.data(), OuterHeader{1, 4, 0x0302, 0x07060504, 0x0f0e0d0c0b0a0908});
    EXPECT_EQ(at(bytes.data(), 0), 1);
    EXPECT_EQ(at(bytes.data(), 1), 4);
    for (std::uint8_t i = 2; i < 16; ++i) EXPECT_EQ(at(bytes.data(), i), i == 2 ? 2 : i) << int{i};
}

// WIRE-2
TEST(Wire, the_first_of_joined_datagrams_has_its_length) {
    std::array<std::byte, 100> joined{};
    const auto first_of = [&joined](std::uint16_t told, std::size_t all) {
        store(joined.data(), OuterHeader{1, 4, told, 1, 5});
        return first_datagram_bytes(Bytes(joined).first(all));
    };
    EXPECT_EQ(first_of(40, 100), 40U);
    EXPECT_EQ(first_of(100, 100), 100U);
    EXPECT_EQ(first_of(outer_bytes, 100), outer_bytes);
    // Impossible lengths are returned as the whole, so that the caller counts a bad length.
    EXPECT_EQ(first_of(101, 100), 100U);
    EXPECT_EQ(first_of(outer_bytes - 1, 100), 100U);
    EXPECT_EQ(first_of(0, 100), 100U);
    EXPECT_EQ(first_of(8, 15), 15U);
    EXPECT_EQ(first_of(8, 0), 0U);
}

// WIRE-20
TEST(Wire, sealed_header_lies_as_specified) {
    std::array<std::byte, sealed_bytes> bytes{};
    store(bytes.data(), SealedHeader{0x04030201, 0x0605, 7, 8});
    for (std::uint8_t i = 0; i < 8; ++i) EXPECT_EQ(at(bytes.data(), i), i + 1);
}

TEST(Wire, frames_begin_on_a_cipher_block_but_for_eight_bytes) {
    EXPECT_EQ(overhead_bytes, 40U);
    EXPECT_EQ(outer_bytes + sealed_bytes, 24U);
}

TEST(Reader, takes_what_is_there_and_fails_for_good_beyond) {
    const std::array bytes{std::byte{1}, std::byte{2}, std::byte{3}};
    Reader reader(bytes);
    EXPECT_EQ(reader.take<std::uint16_t>(), 0x0201);
    EXPECT_TRUE(reader.is_good());
    EXPECT_EQ(reader.take<std::uint16_t>(), 0);
    EXPECT_FALSE(reader.is_good());
    EXPECT_EQ(reader.left(), 0U);
    EXPECT_EQ(reader.take<std::uint8_t>(), 0) << "the third byte must not be given after a failure";
    EXPECT_TRUE(reader.take_bytes(1).empty());
    EXPECT_FALSE(reader.is_good());
}

TEST(Reader, gives_nothing_of_nothing) {
    Reader reader({});
    EXPECT_TRUE(reader.is_good());
    EXPECT_TRUE(reader.take_bytes(0).empty());
    EXPECT_TRUE(reader.is_good());
    EXPECT_EQ(reader.take<std::uint64_t>(), 0U);
    EXPECT_FALSE(reader.is_good());
}

}  // namespace
}  // namespace acp::datagram
