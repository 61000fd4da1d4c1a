// SPDX-License-Identifier: BSD-3-Clause
// The CRC of a word: the published check value, and the same by the processor and by tables.
#include "os/crc32c.hpp"

#include <bit>
#include <cstring>
#include <gtest/gtest.h>

#include "support/random.hpp"

namespace acp::os {
namespace {

// RFC 3720, B.4: 32 bytes of zeros, of ones, and rising.
TEST(Crc32c, is_that_of_the_standard) {
    const auto crc_of = [](const unsigned char(&bytes)[32], auto of_word) {
        std::uint32_t state = 0xffffffff;
        for (std::size_t i = 0; i < sizeof bytes; i += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, bytes + i, sizeof word);
            state = of_word(state, word);
        }
        return ~state;
    };
    unsigned char zeros[32]{};
    unsigned char ones[32];
    unsigned char rising[32];
    for (unsigned char i = 0; i < 32; ++i) {
        ones[i] = 0xff;
        rising[i] = i;
    }
    for (const auto of_word : {crc32c_of_word, crc32c_of_word_by_tables}) {
        EXPECT_EQ(crc_of(zeros, of_word), 0x8a9136aaU);
        EXPECT_EQ(crc_of(ones, of_word), 0x62a8ab43U);
        EXPECT_EQ(crc_of(rising, of_word), 0x46dd794eU);
    }
}

TEST(Crc32c, is_the_same_by_tables) {
    test::Random random(1);
    for (int i = 0; i < 10'000; ++i) {
        const auto state = static_cast<std::uint32_t>(random.next());
        const std::uint64_t word = random.next();
        ASSERT_EQ(crc32c_of_word(state, word), crc32c_of_word_by_tables(state, word));
    }
}

TEST(Crc32c, differs_where_words_differ_in_32_neighbouring_bits) {
    test::Random random(2);
    for (int i = 0; i < 100'000; ++i) {
        const std::uint64_t word = random.next();
        const std::uint64_t burst = (random.next() >> 32 | 1) << random.below(33);
        ASSERT_NE(crc32c_of_word(7, word), crc32c_of_word(7, word ^ burst));
    }
}

// namespace acp::os
}  // namespace
}  // namespace acp::os
