// SPDX-License-Identifier: BSD-3-Clause
// The table of operations: numbers that other nodes and processes use, names in messages, and
// invalid operations.
#include "memory/operation.hpp"

#include <gtest/gtest.h>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "memory/command.hpp"

namespace {

using namespace acp::memory;  // NOLINT(google-build-using-namespace): the header under test

// WIRE-111: numbers on the wire never change; a new operation gets the next number.
TEST(OperationTest, each_has_the_number_that_other_nodes_know_it_by) {
    const std::vector<std::pair<unsigned, const char*>> numbers = {
        {0, "copy"}, {1, "cas"}, {2, "swap"}, {3, "add"}, {4, "xor"},
        {5, "or"},   {6, "and"}, {7, "min"},  {8, "max"}};
    ASSERT_EQ(numbers.size(), operation_count) << "this list has a new one too";
    for (const auto& [number, name] : numbers) {
        EXPECT_EQ(row_of(static_cast<Operation>(number)).name, name);
    }
}

TEST(OperationTest, no_two_have_the_same_name) {
    std::set<std::string_view> names;
    for (const OperationRow& row : operation_table) {
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
        EXPECT_TRUE(names.insert(row.call).second) << row.call;
        EXPECT_EQ(names.insert(row.call8).second, row.is_atomic) << row.call8;
    }
}

TEST(OperationTest, calls_are_named_by_operation_and_width) {
    EXPECT_EQ(call_name(Operation::copy, 0), "acp_copy");
    EXPECT_EQ(call_name(Operation::copy, 8), "acp_copy");
    EXPECT_EQ(call_name(Operation::add, 4), "acp_add4");
    EXPECT_EQ(call_name(Operation::compare_swap, 8), "acp_cas8");
    EXPECT_EQ(call_name(static_cast<Operation>(operation_count), 8), "a command");
    for (int call = static_cast<int>(IssuedBy::fetch); call <= static_cast<int>(IssuedBy::segment);
         ++call) {
        const Command within{.expected = Command::note(static_cast<IssuedBy>(call), 255)};
        EXPECT_EQ(within.loan(), 255U);
        const std::string name(call_name(within));
        EXPECT_EQ(name.find("acp_"), std::string::npos)
            << name << " would be a second call in a message";
    }
    for (const OperationRow& row : operation_table) {
        const std::string call = "acp_" + std::string(row.name);
        EXPECT_EQ(call_name(row.operation, 4), row.is_atomic ? call + "4" : call);
        EXPECT_EQ(call_name(row.operation, 8), row.is_atomic ? call + "8" : call);
    }
}

TEST(OperationTest, numbers_of_the_processs_own_commands_are_refused_from_elsewhere) {
    for (const Operation own : {invoke_operation, layer_operation}) {
        EXPECT_FALSE(is_known(own));
        EXPECT_FALSE(is_sound(own, 8));
        const Command command{.operation = own};
        EXPECT_FALSE(command.is_copy());
        EXPECT_EQ(command.loan(), 0U);
        EXPECT_EQ(command.is_invoke(), own == invoke_operation);
        EXPECT_EQ(command.is_of_layer(), own == layer_operation);
    }
}

TEST(OperationTest, what_came_from_elsewhere_is_sound_only_with_a_width_that_fits) {
    for (unsigned number = 0; number < 256; ++number) {
        for (unsigned width = 0; width < 256; ++width) {
            const bool is_word = width == 4 || width == 8;
            EXPECT_EQ(is_sound(static_cast<Operation>(number), width),
                      number == 0 || (number < operation_count && is_word))
                << number << " of width " << width;
        }
    }
}

}  // namespace
