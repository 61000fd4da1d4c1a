// SPDX-License-Identifier: BSD-3-Clause
// Addresses in the own part of an allocation are converted to those of other members, and addresses
// in no part are refused.
#include "team/team_memory.hpp"

#include <gtest/gtest.h>

namespace acp::team {
namespace {

void add(TeamMemory& memory,
         std::uint64_t number,
         std::uint64_t bytes,
         std::vector<GlobalAddress> parts) {
    TeamMemory::Allocations made;
    const GlobalAddress own = parts.front();
    made[own] = {number, bytes, std::move(parts)};
    memory.add(made);
    EXPECT_TRUE(made.empty());
}

TEST(TeamMemory, an_offset_is_the_same_in_all_parts) {
    TeamMemory memory;
    add(memory, 0, 100, {1000, 70'000});
    add(memory, 1, 16, {2000, 50'000});
    EXPECT_EQ(memory.address(1000, 0), 1000U);
    EXPECT_EQ(memory.address(1000, 1), 70'000U);
    EXPECT_EQ(memory.address(1099, 1), 70'099U);
    EXPECT_EQ(memory.address(2015, 1), 50'015U);
}

TEST(TeamMemory, addresses_outside_of_all_parts_are_in_none) {
    TeamMemory memory;
    EXPECT_EQ(memory.address(1000, 0), std::nullopt);
    add(memory, 0, 100, {1000, 70'000});
    for (const GlobalAddress address : {GlobalAddress{0}, GlobalAddress{999}, GlobalAddress{1100},
                                        GlobalAddress{70'000}, ~GlobalAddress{0}})
        EXPECT_EQ(memory.address(address, 0), std::nullopt) << address;
}

TEST(TeamMemory, an_allocation_is_named_by_its_beginning_alone) {
    TeamMemory memory;
    add(memory, 7, 100, {1000, 70'000});
    EXPECT_EQ(memory.number_at(1000), 7U);
    EXPECT_EQ(memory.number_at(1001), std::nullopt);
    EXPECT_EQ(memory.number_at(70'000), std::nullopt);
}

TEST(TeamMemory, what_was_removed_or_taken_is_found_no_more) {
    TeamMemory memory;
    add(memory, 0, 100, {1000, 70'000});
    add(memory, 1, 100, {3000, 90'000});
    memory.remove(1000);
    EXPECT_EQ(memory.address(1000, 1), std::nullopt);
    EXPECT_EQ(memory.address(3000, 1), 90'000U);
    EXPECT_EQ(memory.take_all().size(), 1U);
    EXPECT_EQ(memory.number_at(3000), std::nullopt);
}

}  // namespace
}  // namespace acp::team
