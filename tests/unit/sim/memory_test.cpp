// SPDX-License-Identifier: BSD-3-Clause
// Simulated memory finds addresses, runs commands, and reports where it differs from the expected
// bytes. Main thread only.
#include "sim/memory.hpp"

#include <gtest/gtest.h>

namespace acp::sim {
namespace {

TEST(Memory, finds_addresses_within_and_refuses_others) {
    Memory memory(1, {64, 128});
    Range range;
    EXPECT_EQ(memory.find(memory.address(1, 100), 28, range), base::Code::ok);
    EXPECT_EQ(range.process, 1U);
    EXPECT_EQ(range.offset, 100U);
    EXPECT_EQ(memory.find(memory.address(1, 100), 29, range), base::Code::address);
    EXPECT_EQ(memory.find(memory.address(1, 128), 1, range), base::Code::address);
    EXPECT_EQ(memory.find(memory.address(0, 0) - 1, 1, range), base::Code::address);
    EXPECT_EQ(memory.find(memory.stale_address(0, 0), 1, range), base::Code::stale);
    EXPECT_EQ(memory.find(0, 1, range), base::Code::address);
}

TEST(Memory, returns_the_first_known_byte_that_is_wrong) {
    Memory memory(1, {64});
    std::string difference;
    EXPECT_TRUE(memory.is_as_expected({0, 0, 64}, difference));
    memory.held({0, 40, 1})[0] ^= std::byte{1};
    EXPECT_TRUE(memory.is_as_expected({0, 0, 40}, difference));
    EXPECT_FALSE(memory.is_as_expected({0, 0, 64}, difference));
    EXPECT_NE(difference.find("byte 40"), std::string::npos) << difference;
    memory.forget({0, 40, 1});
    EXPECT_TRUE(memory.is_as_expected({0, 0, 64}, difference));
    EXPECT_FALSE(memory.is_known({0, 32, 16}));
    EXPECT_TRUE(memory.is_known({0, 41, 16}));
}

TEST(Memory, runs_copies_and_atomics_as_a_node_does) {
    Memory memory(1, {64, 64});
    memory::Command command;
    command.source = memory.address(0, 8);
    command.target = memory.address(1, 16);
    command.bytes = 8;
    memory.run(command, false);
    EXPECT_EQ(load(memory.held({1, 16, 8})), load(memory.held({0, 8, 8})));
    command.operation = memory::Operation::add;
    command.width = 8;
    command.operand = 5;
    const std::uint64_t before = load(memory.held({0, 8, 8}));
    EXPECT_EQ(memory.run(command, true), before);
    EXPECT_EQ(load(memory.held({0, 8, 8})), before + 5);
    EXPECT_EQ(load(memory.held({1, 16, 8})), before);
    memory.run(command, false);
    EXPECT_EQ(load(memory.held({1, 16, 8})), before + 5);
    command.operation = memory::Operation::compare_swap;
    command.expected = before + 10;
    command.operand = 1;
    memory.run(command, false);
    EXPECT_EQ(load(memory.held({0, 8, 8})), 1U);
    memory.run(command, false);
    EXPECT_EQ(load(memory.held({0, 8, 8})), 1U);
    EXPECT_EQ(load(memory.held({1, 16, 8})), 1U);
}

TEST(Memory, takes_the_less_and_the_greater_of_signed_words) {
    memory::Command command;
    command.operation = memory::Operation::min;
    command.width = 4;
    command.operand = 0xffff'fff0U;  // -16
    EXPECT_EQ(apply(command, 7), 0xffff'fff0U);
    EXPECT_EQ(apply(command, 0x8000'0000U), 0x8000'0000U);
    command.width = 8;
    EXPECT_EQ(apply(command, 7), 7U);
    command.operation = memory::Operation::max;
    EXPECT_EQ(apply(command, 7), 0xffff'fff0U);
    EXPECT_EQ(apply(command, ~0ULL), 0xffff'fff0U);
    command.width = 4;
    EXPECT_EQ(apply(command, 7), 7U);
}

// namespace acp::sim
}  // namespace
}  // namespace acp::sim
