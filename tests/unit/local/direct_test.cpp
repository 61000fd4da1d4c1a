// SPDX-License-Identifier: BSD-3-Clause
// Moving bytes: every size around the limits between the ways of moving, at odd places, also onto
// itself, without a write to other bytes; and atomics on words. One thread.
#include "local/direct.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

namespace acp::local::test {
namespace {

using memory::Operation;

std::vector<char> pattern(std::size_t bytes) {
    std::vector<char> made(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        made[i] = static_cast<char>(i * 7 + i / 251 + 1);
    }
    return made;
}

std::vector<std::uint64_t> sizes() {
    std::vector<std::uint64_t> all;
    for (std::uint64_t bytes = 0; bytes <= 130; ++bytes) {
        all.push_back(bytes);
    }
    for (const std::uint64_t border : {std::uint64_t{1024}, string_move_bytes_min,
                                       4 * string_move_bytes_min, std::uint64_t{1} << 20U}) {
        all.insert(all.end(), {border - 1, border, border + 1});
    }
    return all;
}

TEST(DirectTest, moves_exactly_the_bytes_asked_for_at_any_alignment) {
    constexpr std::size_t margin = 64;
    for (const std::uint64_t bytes : sizes()) {
        for (const std::size_t from : {0U, 1U, 8U, 37U}) {
            for (const std::size_t to : {0U, 3U, 8U, 63U}) {
                const std::vector<char> source = pattern(bytes + margin);
                std::vector<char> target(bytes + 2 * margin, 'x');
                std::vector<char> expected = target;
                std::memcpy(expected.data() + to, source.data() + from, bytes);
                move_bytes(target.data() + to, source.data() + from, bytes);
                ASSERT_EQ(target, expected) << bytes << " bytes from " << from << " to " << to;
            }
        }
    }
}

TEST(DirectTest, moves_overlapping_ranges_as_if_through_a_buffer) {
    for (const std::uint64_t bytes : sizes()) {
        for (const std::size_t distance : {1U, 7U, 8U, 64U, 4095U}) {
            for (const bool is_forward : {true, false}) {
                std::vector<char> memory = pattern(bytes + distance);
                std::vector<char> expected = memory;
                const std::size_t from = is_forward ? 0 : distance;
                const std::size_t to = distance - from;
                std::memmove(expected.data() + to, expected.data() + from, bytes);
                move_bytes(memory.data() + to, memory.data() + from, bytes);
                ASSERT_EQ(memory, expected) << bytes << " bytes over " << distance;
            }
        }
    }
}

struct Example {
    Operation operation;
    std::uint64_t operand;
    std::uint64_t expected;
    std::uint64_t after;
};

// Operations on a word with the value 12.
constexpr Example examples[] = {
    {Operation::compare_swap, 5, 12, 5}, {Operation::compare_swap, 5, 13, 12},
    {Operation::swap, 9, 0, 9},          {Operation::add, 30, 0, 42},
    {Operation::bit_xor, 10, 0, 6},      {Operation::bit_or, 3, 0, 15},
    {Operation::bit_and, 6, 0, 4},       {Operation::min, 11, 0, 11},
    {Operation::min, 12, 0, 12},         {Operation::min, 13, 0, 12},
    {Operation::max, 11, 0, 12},         {Operation::max, 13, 0, 13},
};

TEST(DirectTest, every_atomic_has_an_example) {
    for (const memory::OperationRow& row : memory::operation_table) {
        const auto is_of_row = [&](const Example& one) { return one.operation == row.operation; };
        EXPECT_EQ(std::ranges::any_of(examples, is_of_row), row.is_atomic) << row.name;
    }
}

TEST(DirectTest, atomics_return_the_old_value_and_leave_the_new_one) {
    for (const Example& example : examples) {
        for (const std::uint8_t width : {std::uint8_t{4}, std::uint8_t{8}}) {
            alignas(8) std::uint64_t words[2] = {12, 77};
            memory::Command command;
            command.operation = example.operation;
            command.width = width;
            command.operand = example.operand;
            command.expected = example.expected;
            EXPECT_EQ(apply(command, reinterpret_cast<char*>(words)), 12U);
            EXPECT_EQ(words[0], example.after);
            EXPECT_EQ(words[1], 77U);
        }
    }
}

TEST(DirectTest, atomics_of_four_bytes_wrap_within_their_word) {
    alignas(8) std::uint32_t words[2] = {0xffff'ffffU, 7};
    memory::Command command;
    command.operation = Operation::add;
    command.width = 4;
    command.operand = 3;
    EXPECT_EQ(apply(command, reinterpret_cast<char*>(words)), 0xffff'ffffU);
    EXPECT_EQ(words[0], 2U);
    EXPECT_EQ(words[1], 7U);
}

// Two's complement of the width: a word of 4 bytes is negative if its own top bit is set.
TEST(DirectTest, min_and_max_compare_signed_numbers) {
    for (const std::uint8_t width : {std::uint8_t{4}, std::uint8_t{8}}) {
        const std::uint64_t all = width == 4 ? 0xffff'ffffU : ~0ULL;
        const std::uint64_t least = all / 2 + 1;  // the most negative number
        const std::uint64_t greatest = all / 2;
        const std::uint64_t numbers[] = {least, least + 1, all - 1,      all,
                                         0,     1,         greatest - 1, greatest};
        for (std::size_t a = 0; a < std::size(numbers); ++a) {
            for (std::size_t b = 0; b < std::size(numbers); ++b) {
                for (const Operation operation : {Operation::min, Operation::max}) {
                    alignas(8) std::uint64_t words[2] = {numbers[a], 77};
                    memory::Command command;
                    command.operation = operation;
                    command.width = width;
                    command.operand = numbers[b];
                    EXPECT_EQ(apply(command, reinterpret_cast<char*>(words)), numbers[a]);
                    const std::size_t chosen =
                        operation == Operation::min ? std::min(a, b) : std::max(a, b);
                    EXPECT_EQ(words[0], numbers[chosen]);
                }
            }
        }
    }
}

TEST(DirectTest, an_old_value_is_stored_in_its_width_only) {
    alignas(8) std::uint32_t words[2] = {1, 2};
    store_old(reinterpret_cast<char*>(words), 0x5'0000'0009U, 4);
    EXPECT_EQ(words[0], 9U);
    EXPECT_EQ(words[1], 2U);
    store_old(reinterpret_cast<char*>(words), 0x5'0000'0009U, 8);
    EXPECT_EQ(words[0], 9U);
    EXPECT_EQ(words[1], 5U);
}

// namespace acp::local::test
}  // namespace
}  // namespace acp::local::test
