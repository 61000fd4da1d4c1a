// SPDX-License-Identifier: BSD-3-Clause
// XXH3 gives the values that the xxHash project publishes, in each of its ranges of lengths, so
// that processes of different builds agree; and the seed matters. One thread.
#include "hash/xxh3.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

namespace acp::hash {
namespace {

constexpr std::uint64_t prime_32 = 2'654'435'761U;
constexpr std::uint64_t prime_64 = 11'400'714'785'074'694'797U;

// The input of xxHash's own checks.
std::vector<std::byte> published_input(std::size_t count) {
    std::vector<std::byte> bytes(count);
    std::uint64_t word = prime_32;
    for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(word >> 56);
        word *= prime_64;
    }
    return bytes;
}

struct Vector {
    std::size_t count;
    std::uint64_t without_seed;
    std::uint64_t with_prime_64;
};

TEST(Xxh3, gives_the_published_values) {
    constexpr Vector vectors[] = {
        {0, 0x2D06800538D394C2U, 0xA8A6B918B2F0364AU},
        {1, 0xC44BDFF4074EECDBU, 0x032BE332DD766EF8U},
        {6, 0x27B56A84CD2D7325U, 0x84589C116AB59AB9U},
        {12, 0xA713DAF0DFBB77E7U, 0xE7303E1B2336DE0EU},
        {24, 0xA3FE70BF9D3510EBU, 0x850E80FC35BDD690U},
        {48, 0x397DA259ECBA1F11U, 0xADC2CBAA44ACC616U},
        {80, 0xBCDEFBBB2C47C90AU, 0xC6DD0CB699532E73U},
        {195, 0xCD94217EE362EC3AU, 0xBA68003D370CB3D9U},
        {403, 0xCDEB804D65C6DEA4U, 0x6259F6ECFD6443FDU},
        {512, 0x617E49599013CB6BU, 0x3CE457DE14C27708U},
        {2048, 0xDD59E2C3A5F038E0U, 0x66F81670669ABABCU},
    };
    for (const Vector& vector : vectors) {
        const std::vector<std::byte> bytes = published_input(vector.count);
        EXPECT_EQ(xxh3(bytes, 0), vector.without_seed) << vector.count << " bytes";
        EXPECT_EQ(xxh3(bytes, prime_64), vector.with_prime_64) << vector.count << " bytes";
    }
}

TEST(Xxh3, does_not_depend_on_the_alignment) {
    const std::vector<std::byte> bytes = published_input(700);
    for (const std::size_t count : {1U, 5U, 16U, 17U, 128U, 240U, 241U, 600U}) {
        const std::uint64_t expected = xxh3(std::span(bytes).first(count), 1);
        for (std::size_t at = 1; at < 64; ++at) {
            std::vector<std::byte> moved(at + count);
            std::copy_n(bytes.begin(), count, moved.begin() + static_cast<std::ptrdiff_t>(at));
            ASSERT_EQ(xxh3(std::span(moved).subspan(at), 1), expected) << count << " from " << at;
        }
    }
}

}  // namespace
}  // namespace acp::hash
