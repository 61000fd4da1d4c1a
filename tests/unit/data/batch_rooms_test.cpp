// SPDX-License-Identifier: BSD-3-Clause
// Memory of calls on many keys: it is kept for the next call, and no two calls use the same at
// once.
#include "data/batch_rooms.hpp"

#include <gtest/gtest.h>
#include <optional>
#include <set>
#include <vector>

namespace acp::data {
namespace {

TEST(BatchRooms, are_kept_with_the_memory_that_they_have) {
    BatchRooms rooms;
    const BatchItem* items = nullptr;
    {
        BatchRooms::Lease lease(rooms);
        lease.room().items.resize(1'000);
        items = lease.room().items.data();
    }
    BatchRooms::Lease lease(rooms);
    EXPECT_EQ(lease.room().items.data(), items);
    EXPECT_GE(lease.room().items.capacity(), 1'000U);
}

TEST(BatchRooms, are_one_for_each_call_and_no_more_are_kept_than_that) {
    BatchRooms rooms;
    std::vector<std::optional<BatchRooms::Lease>> leases(BatchRooms::kept_max + 1);
    std::set<BatchRoom*> different;
    for (auto& lease : leases) {
        lease.emplace(rooms);
        lease->room().items.resize(1);
        different.insert(&lease->room());
    }
    EXPECT_EQ(different.size(), leases.size());
    for (auto& lease : leases) lease.reset();
    std::size_t kept = 0;
    for (auto& lease : leases) {
        lease.emplace(rooms);
        if (lease->room().items.capacity() != 0) ++kept;
    }
    EXPECT_EQ(kept, BatchRooms::kept_max);
}

}  // namespace
}  // namespace acp::data
