// SPDX-License-Identifier: BSD-3-Clause
// Each way to compute the CRC gives what its definition gives, bit by bit: for every length and
// alignment, and it reads nothing but the bytes (under AddressSanitizer). One thread.
#include "hash/crc64.hpp"

#include <gtest/gtest.h>
#include <iostream>
#include <span>
#include <string_view>
#include <vector>

#include "hash/crc64_ways.hpp"
#include "os/cpu.hpp"

#include "support/random.hpp"

namespace acp::hash {
namespace {

using Bytes = std::span<const std::byte>;

Bytes bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

// The definition: the register is shifted by a bit of input at a time.
std::uint64_t crc64_by_bits(Bytes bytes) {
    std::uint64_t crc = 0;
    for (const std::byte byte : bytes) {
        crc ^= std::to_integer<std::uint64_t>(byte) << 56;
        for (int bit = 0; bit < 8; ++bit) {
            const bool is_carried = crc >> 63 != 0;
            crc <<= 1;
            if (is_carried) crc ^= 0x42F0E1EBA9EA3693U;
        }
    }
    return crc;
}

std::vector<std::byte> random_bytes(std::uint64_t seed, std::size_t count) {
    acp::test::Random random(seed);
    std::vector<std::byte> bytes(count);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
    return bytes;
}

struct Way {
    const char* name;
    std::uint64_t (*crc64)(Bytes) noexcept;
    bool (*is_possible)() noexcept;
};

class Crc64Test : public testing::TestWithParam<Way> {
protected:
    void SetUp() override {
        if (!GetParam().is_possible())
            GTEST_SKIP() << "this processor has no multiplication for it";
    }

    static std::uint64_t crc(Bytes bytes) { return GetParam().crc64(bytes); }
};

TEST_P(Crc64Test, gives_the_published_check_value) {
    EXPECT_EQ(crc(bytes_of("123456789")), 0x6c40df5f0b497347U);
    EXPECT_EQ(crc({}), 0U);
}

TEST_P(Crc64Test, follows_the_definition_at_every_length) {
    for (std::size_t count = 0; count <= 600; ++count) {
        const std::vector<std::byte> bytes = random_bytes(count, count);  // just as long as that
        ASSERT_EQ(crc(bytes), crc64_by_bits(bytes)) << count << " bytes";
    }
}

TEST_P(Crc64Test, follows_the_definition_at_every_alignment) {
    const std::vector<std::byte> bytes = random_bytes(1, 1024);
    for (std::size_t at = 0; at < 64; ++at) {
        for (const std::size_t count : {1U, 7U, 8U, 9U, 16U, 17U, 31U, 128U, 129U, 300U, 900U}) {
            const Bytes part = Bytes(bytes).subspan(at, count);
            ASSERT_EQ(crc(part), crc64_by_bits(part)) << count << " bytes from " << at;
        }
    }
}

TEST_P(Crc64Test, follows_the_definition_for_random_inputs) {
    for (std::uint64_t seed = 0; seed < 100'000; ++seed) {
        acp::test::Random random(seed);
        const std::vector<std::byte> bytes = random_bytes(seed, random.below(161));
        ASSERT_EQ(crc(bytes), crc64_by_bits(bytes)) << "seed " << seed;
    }
}

TEST_P(Crc64Test, takes_long_inputs) {
    for (const std::size_t count :
         {std::size_t{65'536}, (std::size_t{1} << 20), (std::size_t{1} << 20) + 77}) {
        const std::vector<std::byte> bytes = random_bytes(count, count);
        EXPECT_EQ(crc(bytes), crc64_by_bits(bytes)) << count << " bytes";
    }
}

TEST_P(Crc64Test, distinguishes_texts_that_differ_in_any_bit) {
    const std::vector<std::byte> zeros(300);
    ASSERT_EQ(crc(zeros), 0U);
    for (std::size_t bit = 0; bit < 8 * zeros.size(); ++bit) {
        std::vector<std::byte> bytes = zeros;
        bytes[bit / 8] = std::byte{1} << bit % 8;
        ASSERT_EQ(crc(bytes), crc64_by_bits(bytes)) << "bit " << bit;
        ASSERT_NE(crc(bytes), 0U) << "bit " << bit;
    }
}

constexpr Way by_tables = {"tables", crc64_by_tables, []() noexcept { return true; }};
constexpr Way by_multiplication = {"multiplication", crc64_by_multiplication,
                                   has_crc64_by_multiplication};
constexpr Way chosen = {"chosen", crc64, []() noexcept { return true; }};

INSTANTIATE_TEST_SUITE_P(by,
                         Crc64Test,
                         testing::Values(by_tables, by_multiplication, chosen),
                         [](const auto& parameter) { return parameter.param.name; });

TEST(Crc64, names_the_way_that_is_chosen) {
    const char* name = has_crc64_by_multiplication() ? "multiplication" : "tables";
    std::cout << "crc64 is computed by " << name << "\n";
    RecordProperty("crc64", name);
    EXPECT_EQ(has_crc64_by_multiplication(), os::has_carryless_multiply());
}

TEST(KeyHash, is_the_upper_48_bits_of_the_crc) {
    EXPECT_EQ(key_hash(bytes_of("123456789")), 0x6c40df5f0b49U);
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const std::vector<std::byte> key = random_bytes(seed, seed);
        EXPECT_EQ(key_hash(key), crc64_by_bits(key) >> 16) << "seed " << seed;
    }
}

}  // namespace
}  // namespace acp::hash
