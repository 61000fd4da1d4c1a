// SPDX-License-Identifier: BSD-3-Clause
// copy_payload() and copy_line() copy every length whole, from any alignment, and write nothing
// beyond it.
#include "message/payload_copy.hpp"

#include <array>
#include <cstddef>
#include <gtest/gtest.h>

namespace {

using acp::message::copy_line;
using acp::message::copy_payload;

constexpr std::size_t room_bytes = 160;
constexpr std::size_t longest = 130;
constexpr std::size_t line_bytes = 64;
constexpr char untouched = '\x55';

template <typename Copy>
void expect_copies(std::size_t least, std::size_t most, const Copy& copy) {
    std::array<char, room_bytes> source{};
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<char>(i + 1);
    for (std::size_t shift = 0; shift < sizeof(std::uint64_t); ++shift) {
        for (std::size_t bytes = least; bytes <= most; ++bytes) {
            std::array<char, room_bytes> target{};
            target.fill(untouched);
            copy(target.data() + shift, source.data() + shift, bytes);
            for (std::size_t i = 0; i < target.size(); ++i) {
                const bool is_copied = i >= shift && i < shift + bytes;
                ASSERT_EQ(target[i], is_copied ? source[i] : untouched)
                    << bytes << " bytes from " << shift << ", at " << i;
            }
        }
    }
}

TEST(PayloadCopy, copies_every_length_and_no_byte_more) {
    expect_copies(0, longest, copy_payload);
}

TEST(PayloadCopy, copies_every_length_of_a_line_and_no_byte_more) {
    expect_copies(1, line_bytes, copy_line);
}

TEST(PayloadCopy, asks_for_no_source_where_there_is_nothing_to_copy) {
    char target = untouched;
    copy_payload(&target, nullptr, 0);
    EXPECT_EQ(target, untouched);
}

}  // namespace
