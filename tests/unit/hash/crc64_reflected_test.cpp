// SPDX-License-Identifier: BSD-3-Clause
// The reflected CRC is what its definition gives, bit by bit, for every length. One thread.
#include "hash/crc64_reflected.hpp"

#include <gtest/gtest.h>
#include <string_view>
#include <vector>

#include "support/random.hpp"

namespace acp::hash {
namespace {

std::uint64_t by_bits(std::span<const std::byte> bytes) {
    std::uint64_t crc = ~std::uint64_t{0};
    for (const std::byte byte : bytes) {
        crc ^= std::to_integer<std::uint64_t>(byte);
        for (int bit = 0; bit < 8; ++bit) {
            const bool is_carried = (crc & 1) != 0;
            crc >>= 1;
            if (is_carried) crc ^= 0xC96C5795D7870F42U;
        }
    }
    return ~crc;
}

TEST(Crc64ReflectedTest, gives_the_published_check_value) {
    const std::string_view text = "123456789";
    EXPECT_EQ(crc64_reflected(std::as_bytes(std::span(text))), 0x995dc9bbdf1939faU);
    EXPECT_EQ(key_hash_reflected(std::as_bytes(std::span(text))), 0x995dc9bbdf19U);
    EXPECT_EQ(crc64_reflected({}), 0U);
}

TEST(Crc64ReflectedTest, gives_for_each_length_what_the_definition_gives) {
    acp::test::Random random(5);
    std::vector<std::byte> bytes(300);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
    for (std::size_t count = 0; count <= 280; ++count) {
        const std::span<const std::byte> some(bytes.data() + count % 9, count);
        ASSERT_EQ(crc64_reflected(some), by_bits(some)) << count;
    }
}

}  // namespace
}  // namespace acp::hash
