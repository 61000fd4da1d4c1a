// SPDX-License-Identifier: BSD-3-Clause
// Blocks of arrays: packed in order, unpacked at their places, and merged where they are
// contiguous.
#include "exchange/strided_block.hpp"

#include <gtest/gtest.h>
#include <numeric>
#include <string>

namespace acp::exchange {
namespace {

using Axis = StridedBlock::Axis;

TEST(StridedBlockTest, columns_of_a_table_are_packed_and_unpacked) {
    std::string table(5 * 7, '.');
    std::iota(table.begin(), table.end(), '0');
    const std::vector<Axis> axes{{5, 7}, {2, 1}};
    const StridedBlock columns(1, axes);
    EXPECT_EQ(columns.bytes(), 10U);
    EXPECT_EQ(columns.run_bytes(), 2U);
    EXPECT_FALSE(columns.is_contiguous());
    std::string packed(10, '?');
    columns.pack(packed.data(), table.data() + 3);
    for (std::size_t row = 0; row < 5; ++row)
        EXPECT_EQ(packed.substr(2 * row, 2), table.substr(7 * row + 3, 2));
    std::string other(table.size(), '.');
    columns.unpack(other.data() + 3, packed.data());
    for (std::size_t i = 0; i < table.size(); ++i)
        EXPECT_EQ(other[i], i % 7 == 3 || i % 7 == 4 ? table[i] : '.') << i;
}

TEST(StridedBlockTest, what_lies_side_by_side_is_one_run) {
    const std::vector<Axis> rows{{1, 900}, {4, 56}, {7, 8}};
    EXPECT_TRUE(StridedBlock(8, rows).is_contiguous());
    EXPECT_EQ(StridedBlock(8, rows).bytes(), 4 * 56U);
    // The outer axis would continue the run, but the axis between them does not.
    const std::vector<Axis> apart{{3, 16}, {2, 100}, {2, 8}};
    const StridedBlock block(8, apart);
    std::vector<std::uint64_t> offsets;
    block.for_each_run([&](std::uint64_t offset) { offsets.push_back(offset); });
    EXPECT_EQ(offsets, (std::vector<std::uint64_t>{0, 100, 16, 116, 32, 132}));
}

TEST(StridedBlockTest, a_block_of_nothing_has_no_runs) {
    const std::vector<Axis> none{{3, 16}, {0, 8}};
    const StridedBlock block(8, none);
    EXPECT_EQ(block.bytes(), 0U);
    block.for_each_run([](std::uint64_t) { ADD_FAILURE(); });
}

}  // namespace
}  // namespace acp::exchange
