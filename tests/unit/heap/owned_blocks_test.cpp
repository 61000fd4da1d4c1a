// SPDX-License-Identifier: BSD-3-Clause
// Blocks of containers are distinguished from all others, and where no container has blocks nothing
// is read.
#include "heap/owned_blocks.hpp"

#include <gtest/gtest.h>

#include "unit/heap/heap_memory.hpp"

namespace acp::heap {
namespace {

class OwnedBlocksTest : public testing::Test {
protected:
    static constexpr std::uint32_t areas = 3;

    SharedPages memory_{OwnedBlocks::bytes(areas)};
    OwnedBlocks owned_{memory_.data(), areas};
};

TEST_F(OwnedBlocksTest, distinguishes_each_block_from_its_neighbours) {
    for (const Offset block :
         {Offset{0}, Offset{16 * 63}, Offset{unit_bytes}, areas * area_bytes - granule_bytes}) {
        EXPECT_FALSE(owned_.contains(block));
        owned_.add(block, granule_bytes);
        EXPECT_TRUE(owned_.contains(block));
        if (block != 0) {
            EXPECT_FALSE(owned_.contains(block - granule_bytes));
        }
        if (block + granule_bytes < areas * area_bytes) {
            EXPECT_FALSE(owned_.contains(block + granule_bytes));
        }
        owned_.remove(block);
        EXPECT_FALSE(owned_.contains(block));
        owned_.remove(block);
        EXPECT_FALSE(owned_.contains(block)) << "it was none";
    }
}

TEST_F(OwnedBlocksTest, distinguishes_a_separate_block_from_a_part) {
    for (const Offset block :
         {Offset{0}, Offset{16 * 63}, areas * area_bytes - 2 * granule_bytes}) {
        owned_.add_separate(block);
        EXPECT_TRUE(owned_.contains(block));
        EXPECT_TRUE(owned_.is_separate(block));
        owned_.add(block, OwnedBlocks::separate_least);
        EXPECT_TRUE(owned_.contains(block));
        EXPECT_FALSE(owned_.is_separate(block));
        owned_.add_separate(block);
        owned_.remove(block);
        EXPECT_FALSE(owned_.is_separate(block));
    }
}

TEST_F(OwnedBlocksTest, a_part_of_one_granule_leaves_its_neighbour_alone) {
    owned_.add(64, granule_bytes);
    owned_.add(48, granule_bytes);
    EXPECT_TRUE(owned_.contains(64));
    EXPECT_TRUE(owned_.contains(48));
}

TEST_F(OwnedBlocksTest, knows_in_which_units_there_was_one) {
    EXPECT_FALSE(owned_.is_unit_noted(area_bytes + 5 * unit_bytes));
    owned_.add(area_bytes + 5 * unit_bytes + 48, 64);
    owned_.remove(area_bytes + 5 * unit_bytes + 48);
    EXPECT_TRUE(owned_.is_unit_noted(area_bytes + 5 * unit_bytes));
    EXPECT_FALSE(owned_.is_unit_noted(area_bytes + 6 * unit_bytes));
    EXPECT_FALSE(owned_.is_unit_noted(area_bytes + 4 * unit_bytes));
    owned_.note_unit(0);
    EXPECT_TRUE(owned_.is_unit_noted(0));
    EXPECT_FALSE(owned_.contains(0));
}

}  // namespace
}  // namespace acp::heap
