// SPDX-License-Identifier: BSD-3-Clause
// The words between the ends of a ring: a word made for one line and key fits no other line or key.
#include "message/ring_words.hpp"

#include <gtest/gtest.h>

#include "support/random.hpp"

namespace acp::message {
namespace {

RecordHead any_head(test::Random& random) {
    return {static_cast<std::uint32_t>(random.below(header_bytes_max)),
            static_cast<std::uint8_t>(random.below(tag_max + 1)), random.chance(50)};
}

TEST(RingWords, a_header_is_decoded_to_what_was_encoded) {
    test::Random random(1);
    for (int i = 0; i < 10'000; ++i) {
        const RingKey key(static_cast<std::uint32_t>(random.next()));
        const std::uint64_t line = random.next();
        const RecordHead head = any_head(random);
        const std::uint64_t word = key.header(line, head);
        ASSERT_TRUE(key.fits_header(word, line));
        const RecordHead read = RingKey::read_header(word);
        ASSERT_EQ(read.bytes, head.bytes);
        ASSERT_EQ(read.tag, head.tag);
        ASSERT_EQ(read.wraps, head.wraps);
    }
}

TEST(RingWords, a_header_fits_no_other_line_and_no_other_key) {
    test::Random random(2);
    for (int i = 0; i < 100'000; ++i) {
        const auto number = static_cast<std::uint32_t>(random.next());
        const std::uint64_t line = random.next();
        const std::uint64_t word = RingKey(number).header(line, any_head(random));
        ASSERT_FALSE(RingKey(number).fits_header(word, line + 1 + random.below(0xffffffff)));
        ASSERT_FALSE(RingKey(number + 1 + static_cast<std::uint32_t>(random.below(0xfffffffe)))
                         .fits_header(word, line));
    }
}

TEST(RingWords, a_changed_header_does_not_fit) {
    test::Random random(3);
    for (int i = 0; i < 100'000; ++i) {
        const RingKey key(static_cast<std::uint32_t>(random.next()));
        const std::uint64_t line = random.next();
        const std::uint64_t word = key.header(line, any_head(random));
        ASSERT_FALSE(key.fits_header(word ^ std::uint64_t{1} << random.below(64), line));
        ASSERT_FALSE(key.fits_header(random.next(), line));
    }
}

TEST(RingWords, zero_is_no_word) {
    test::Random random(4);
    for (int i = 0; i < 100'000; ++i) {
        const RingKey key(static_cast<std::uint32_t>(random.next()));
        const std::uint64_t line = random.next();
        std::uint64_t read = 0;
        ASSERT_FALSE(key.fits_header(0, line));
        ASSERT_FALSE(key.read_credit(0, line, 1 << 20, read));
        ASSERT_FALSE(key.read_request(0, line, 1 << 20, read));
    }
    // A state from which the CRC of an empty record's header would be 0.
    for (std::uint32_t low = 0; low < 8; ++low) {
        std::uint64_t line = 0;
        // The change of the CRC by each bit of the line; the equations are solved for the CRC 0.
        std::uint32_t sum = os::crc32c_of_word(0x1234567 + low, 0);
        std::uint64_t rows[32];
        for (int bit = 0; bit < 32; ++bit) {
            rows[bit] = std::uint64_t{os::crc32c_of_word(0, std::uint64_t{1} << (32 + bit))} << 32 |
                        std::uint64_t{1} << bit;
        }
        for (int column = 0; column < 32; ++column) {
            int row = column;
            while ((rows[row] >> (32 + column) & 1) == 0) ++row;
            std::swap(rows[row], rows[column]);
            for (int other = 0; other < 32; ++other) {
                if (other != column && (rows[other] >> (32 + column) & 1) != 0)
                    rows[other] ^= rows[column];
            }
        }
        for (int column = 0; column < 32; ++column) {
            if ((sum >> column & 1) != 0) line ^= rows[column] & 0xffffffff;
        }
        ASSERT_EQ(os::crc32c_of_word(0x1234567 + low, line << 32), 0U);
        EXPECT_NE(RingKey(0x1234567 + low).header(line, {}), 0U);
    }
}

TEST(RingWords, a_credit_names_a_line_within_what_is_expected) {
    test::Random random(5);
    for (int i = 0; i < 10'000; ++i) {
        const RingKey key(static_cast<std::uint32_t>(random.next()));
        const std::uint64_t first = random.next();
        const std::uint64_t count = 1 + random.below(1 << 20);
        const std::uint64_t line = first + random.below(count);
        std::uint64_t read = 0;
        ASSERT_TRUE(key.read_credit(key.credit(line), first, count, read));
        ASSERT_EQ(read, line);
        ASSERT_TRUE(key.read_request(key.request(line), first, count, read));
        ASSERT_FALSE(key.read_credit(key.credit(first - 1), first, count, read));
        ASSERT_FALSE(key.read_credit(key.credit(first + count), first, count, read));
        ASSERT_FALSE(key.read_credit(key.request(line), first, count, read));
        ASSERT_FALSE(key.read_request(key.refusal(), first, count, read));
        ASSERT_FALSE(key.read_credit(key.refusal(), first, count, read));
        ASSERT_FALSE(key.read_request(key.credit(line), first, count, read));
        ASSERT_FALSE(key.fits_header(key.credit(line), line));
    }
}

}  // namespace
}  // namespace acp::message
