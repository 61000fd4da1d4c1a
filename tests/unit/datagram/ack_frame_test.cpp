// SPDX-License-Identifier: BSD-3-Clause
// An acknowledgement is the same after encoding and decoding; values out of bounds are refused. One
// thread.
#include "datagram/ack_frame.hpp"

#include <gtest/gtest.h>
#include <vector>

#include "base/random.hpp"

namespace acp::datagram {
namespace {

AckFrame example() {
    AckFrame ack;
    ack.largest = 1000;
    ack.run = 10;  // 990 .. 1000 came, so did 988 and 960
    ack.delay_ns = 51'200;
    ack.cumulative = 0xFFFF'FFF0U;
    ack.credit = 3640;
    ack.marked = 65535;
    ack.count = 1;
    ack.is_drain = true;
    ack.words[0] = 1ULL << (988 % 64) | 1ULL << (960 % 64);
    return ack;
}

TEST(AckFrame, is_decoded_to_what_was_encoded) {
    const AckFrame ack = example();
    std::array<std::byte, AckFrame::bytes_max> wire{};
    ASSERT_EQ(encode_ack(ack, 7, wire), 32U);
    EXPECT_EQ(wire[0], std::byte{7});
    AckFrame read;
    ASSERT_EQ(decode_ack(wire, read), 32U);
    EXPECT_EQ(read.largest, ack.largest);
    EXPECT_EQ(read.run, ack.run);
    EXPECT_EQ(read.delay_ns, ack.delay_ns);
    EXPECT_EQ(read.cumulative, ack.cumulative);
    EXPECT_EQ(read.credit, ack.credit);
    EXPECT_EQ(read.marked, ack.marked);
    EXPECT_TRUE(read.is_drain);
    for (PacketNumber number = 0; number < 1100; ++number) {
        const bool came = (number >= 990 && number <= 1000) || number == 988 || number == 960;
        EXPECT_EQ(read.contains(number), came) << number;
    }
}

TEST(AckFrame, saturates_a_long_delay) {
    AckFrame ack = example();
    ack.delay_ns = never;
    std::array<std::byte, AckFrame::bytes_max> wire{};
    ASSERT_NE(encode_ack(ack, 0, wire), 0U);
    AckFrame read;
    ASSERT_NE(decode_ack(wire, read), 0U);
    EXPECT_EQ(read.delay_ns, 65535 * AckFrame::delay_unit_ns);
}

TEST(AckFrame, is_not_written_where_it_does_not_fit) {
    std::vector<std::byte> wire(31, std::byte{0xAA});
    EXPECT_EQ(encode_ack(example(), 1, wire), 0U);
    EXPECT_EQ(wire, std::vector<std::byte>(31, std::byte{0xAA}));
}

TEST(AckFrame, cut_short_anywhere_is_refused_and_changes_nothing) {
    std::array<std::byte, AckFrame::bytes_max> wire{};
    const std::size_t bytes = encode_ack(example(), 1, wire);
    for (std::size_t cut = 0; cut < bytes; ++cut) {
        AckFrame read;
        read.largest = 77;
        EXPECT_EQ(decode_ack(std::span(wire).first(cut), read), 0U) << cut;
        EXPECT_EQ(read.largest, 77U);
    }
}

TEST(AckFrame, out_of_bounds_is_refused) {
    const auto is_taken = [](const AckFrame& ack) {
        std::array<std::byte, 64 + AckFrame::bytes_max> wire{};
        AckFrame read;
        return encode_ack(ack, 1, wire) != 0 && decode_ack(wire, read) != 0;
    };
    AckFrame ack = example();
    EXPECT_TRUE(is_taken(ack));
    ack.run = 1001;  // below packet 0
    EXPECT_FALSE(is_taken(ack));
    ack = example();
    ack.count = 16;  // the run starts in block 15
    EXPECT_TRUE(is_taken(ack));
    ack.run = 100;  // in block 14: there are only 15 blocks down to 0
    EXPECT_FALSE(is_taken(ack));
    ack = example();
    ack.largest = ~0ULL;
    EXPECT_FALSE(is_taken(ack));
    std::array<std::byte, AckFrame::bytes_max> wire{};
    ASSERT_NE(encode_ack(example(), 1, wire), 0U);
    wire[1] = std::byte{17};
    EXPECT_EQ(decode_ack(wire, ack), 0U);
}

TEST(AckFrame,
     any_bytes_are_read_or_refused_and_what_is_read_names_only_packets_up_to_the_largest) {
    base::Random random(20'240'601);
    std::array<std::byte, AckFrame::bytes_max> wire{};
    unsigned taken = 0;
    for (int i = 0; i < 20'000; ++i) {
        for (std::byte& byte : wire) byte = static_cast<std::byte>(random());
        wire[1] = static_cast<std::byte>(random.below(18));
        if (random.below(2) == 0) {  // small numbers, so that bounds matter
            for (std::size_t k = 10; k < 16; ++k) wire[k] = std::byte{0};
            wire[6] = wire[7] = std::byte{0};
        }
        AckFrame ack;
        if (decode_ack(wire, ack) == 0) continue;
        ++taken;
        EXPECT_EQ(ack.mask_of(block_of(ack.largest) + 1), 0U);
        EXPECT_TRUE(ack.contains(ack.largest));
        EXPECT_TRUE(ack.contains(ack.run_start()));
        EXPECT_FALSE(ack.contains(ack.largest + 1));
        EXPECT_LE(ack.lowest_block(), block_of(ack.run_start()));
    }
    EXPECT_GT(taken, 1000U);
}

}  // namespace
}  // namespace acp::datagram
