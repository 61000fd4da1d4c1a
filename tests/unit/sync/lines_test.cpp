// SPDX-License-Identifier: BSD-3-Clause
// take_lines() copies all wanted bytes, and stores a zero into every line that lies wholly in the
// range, and into no other byte.
#include "sync/lines.hpp"

#include <array>
#include <gtest/gtest.h>
#include <string>

namespace acp::sync {

namespace {

TEST(Lines, are_taken_whole_or_as_far_as_is_wanted_and_leave_zeros) {
    for (const std::uint64_t bytes : {1UL, 63UL, 64UL, 65UL, 128UL, 129UL, 320UL, 321UL}) {
        for (const std::uint64_t wanted : {std::uint64_t{0}, std::uint64_t{1}, bytes / 2, bytes}) {
            alignas(line_bytes) std::array<char, 512> range{};
            range.fill('s');
            std::array<char, 512> target{};
            take_lines(target.data(), range.data(), wanted, bytes);
            EXPECT_EQ(std::string(target.data()), std::string(wanted, 's')) << bytes;
            for (std::uint64_t line = 0; line < range.size(); line += line_bytes) {
                EXPECT_EQ(range[line], line < bytes ? '\0' : 's') << bytes << ", " << wanted;
                EXPECT_EQ(range[line + 8], 's');
            }
        }
    }
}

TEST(Lines, that_a_range_has_only_in_part_keep_what_they_hold) {
    for (const std::uint64_t begin : {0UL, 8UL, 56UL, 64UL}) {
        for (const std::uint64_t bytes : {0UL, 8UL, 64UL, 72UL, 120UL, 128UL, 200UL}) {
            alignas(line_bytes) std::array<char, 512> memory{};
            memory.fill('s');
            clear_lines(memory.data() + begin, bytes);
            for (std::uint64_t line = 0; line < memory.size(); line += line_bytes) {
                const bool is_inside = line >= begin && line + line_bytes <= begin + bytes;
                EXPECT_EQ(memory[line], is_inside ? '\0' : 's') << begin << ", " << bytes;
                EXPECT_EQ(memory[line + 8], 's');
            }
        }
    }
}

}  // namespace

}  // namespace acp::sync
