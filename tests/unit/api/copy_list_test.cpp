// SPDX-License-Identifier: BSD-3-Clause
// acp_copy_v and acp_copy_strided: every byte that a list or a block of an array writes, compared
// with loops over the pieces; lists of which some ranges fail; and lists that cannot be served at
// all.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include <acp.h>

#include "unit/api/places.hpp"

namespace acp::api::test {
namespace {

using Strides = std::vector<std::ptrdiff_t>;

// A block of an array of several dimensions, in two places. Offsets and strides are in bytes.
struct Block {
    const char* what;
    std::size_t target_at;
    Strides target_strides;
    std::size_t source_at;
    Strides source_strides;
    std::size_t bytes;
    std::vector<std::size_t> counts;
};

class CopyLists : public Places {
protected:
    static constexpr std::size_t target_place = 2;
    static constexpr std::size_t source_place = 0;

    // Copies a block in the expected bytes, piece by piece.
    void expect_block(const Block& block) {
        std::vector<std::size_t> index(block.counts.size());
        for (const std::size_t count : block.counts)
            if (count == 0) return;
        while (true) {
            std::ptrdiff_t to = static_cast<std::ptrdiff_t>(block.target_at);
            std::ptrdiff_t from = static_cast<std::ptrdiff_t>(block.source_at);
            for (std::size_t i = 0; i < index.size(); ++i) {
                to += static_cast<std::ptrdiff_t>(index[i]) * block.target_strides[i];
                from += static_cast<std::ptrdiff_t>(index[i]) * block.source_strides[i];
            }
            std::copy_n(expected_[source_place].begin() + from, block.bytes,
                        expected_[target_place].begin() + to);
            std::size_t i = 0;
            while (i < index.size() && ++index[i] == block.counts[i]) index[i++] = 0;
            if (i == index.size()) return;
        }
    }

    acp_handle_t issue(const Block& block, acp_handle_t order = ACP_HANDLE_NULL) {
        return acp_copy_strided(
            places_[target_place].address + block.target_at, block.target_strides.data(),
            places_[source_place].address + block.source_at, block.source_strides.data(),
            block.bytes, block.counts.data(), static_cast<int>(block.counts.size()), order);
    }

    acp_copy_range_t range(std::size_t to, std::size_t from, std::size_t bytes) {
        return {places_[target_place].address + to, places_[source_place].address + from, bytes};
    }

    void expect_range(std::size_t to, std::size_t from, std::size_t bytes) {
        std::copy_n(expected_[source_place].begin() + static_cast<std::ptrdiff_t>(from), bytes,
                    expected_[target_place].begin() + static_cast<std::ptrdiff_t>(to));
    }
};

TEST_F(CopyLists, a_block_is_copied_piece_by_piece_along_each_dimension) {
    for (const Block& block : std::vector<Block>{
             {"a row", 0, {8}, 0, {16}, 8, {100}},
             {"one piece", 5, {0}, 9, {0}, 7, {1}},
             {"pieces of one byte", 1, {3}, 2, {5}, 1, {1000}},
             {"no pieces", 0, {8}, 0, {8}, 8, {0}},
             {"no pieces in an outer dimension", 0, {8, 64}, 0, {8, 64}, 8, {4, 0}},
             {"no bytes", 0, {8}, 0, {8}, 0, {4}},
             {"a matrix", 16, {8, 256}, 24, {16, 512}, 8, {10, 20}},
             {"a transposed matrix", 0, {8, 160}, 0, {160, 8}, 8, {20, 20}},
             {"backwards", 8184, {-8}, 0, {8}, 8, {1024}},
             {"backwards in the source", 0, {9}, 16375, {-9}, 9, {1000}},
             {"from one piece of the source", 100, {16}, 50, {0}, 16, {64}},
             {"up to the last byte", 16384 - 4 * 4096, {4096}, 4096, {0}, 4096, {4}},
             {"three dimensions", 0, {8, 128, 2048}, 8, {24, 96, 960}, 8, {3, 4, 5}},
             {"eight dimensions",
              0,
              {1, 2, 4, 8, 16, 32, 64, 128},
              0,
              {128, 64, 32, 16, 8, 4, 2, 1},
              1,
              {2, 2, 2, 2, 2, 2, 2, 2}},
         }) {
        SCOPED_TRACE(block.what);
        refill();
        const acp_handle_t handle = issue(block);
        ASSERT_NE(handle, ACP_HANDLE_NULL) << acp_error_message();
        ASSERT_EQ(acp_wait(handle, -1), ACP_OK) << acp_error_message();
        expect_block(block);
        expect_bytes();
    }
}

TEST_F(CopyLists, one_dimension_above_the_maximum_is_refused) {
    const Strides strides(9, 16);
    const std::vector<std::size_t> ones(9, 1);
    const auto issue_of = [&](int dimensions) {
        return acp_copy_strided(places_[2].address, strides.data(), places_[0].address,
                                strides.data(), 8, ones.data(), dimensions, ACP_HANDLE_NULL);
    };
    EXPECT_EQ(acp_wait(issue_of(ACP_DIMENSIONS_MAX), -1), ACP_OK) << acp_error_message();
    expect_range(0, 0, 8);
    EXPECT_EQ(acp_wait(issue_of(ACP_DIMENSIONS_MAX + 1), -1), ACP_ERR_ARGUMENT);
    EXPECT_NE(std::string(acp_error_message()).find("9"), std::string::npos) << acp_error_message();
    expect_bytes();
}

TEST_F(CopyLists, more_pieces_than_64_bits_count_are_refused) {
    const Strides strides(2, 0);
    const std::vector<std::size_t> counts{std::size_t{1} << 32, std::size_t{1} << 32};
    const acp_handle_t handle =
        acp_copy_strided(places_[2].address, strides.data(), places_[0].address, strides.data(), 8,
                         counts.data(), 2, ACP_HANDLE_NULL);
    EXPECT_EQ(acp_wait(handle, -1), ACP_ERR_ARGUMENT) << acp_error_message();
    expect_bytes();
}

TEST_F(CopyLists, a_list_copies_ranges_of_any_sizes_at_any_places) {
    std::vector<acp_copy_range_t> ranges;
    std::size_t at = 1;
    for (const std::size_t bytes : Sizes{0, 1, 7, 8, 9, 64, 255, 4095, 4096, 4097}) {
        ranges.push_back(range(at, place_bytes - bytes - 2, bytes));
        expect_range(at, place_bytes - bytes - 2, bytes);
        at += bytes + 3;
    }
    const acp_handle_t handle = acp_copy_v(ranges.data(), ranges.size(), ACP_HANDLE_NULL);
    std::fill(ranges.begin(), ranges.end(),
              acp_copy_range_t{});  // it was read before the call returned
    ASSERT_EQ(acp_wait(handle, -1), ACP_OK) << acp_error_message();
    expect_bytes();
}

TEST_F(CopyLists, a_list_of_many_ranges_has_one_handle) {
    for (const std::size_t count : Sizes{1, 2, 63, 64, 65, 127, 128, 129, 1000, 2048}) {
        refill();
        std::vector<acp_copy_range_t> ranges;
        for (std::size_t i = 0; i < count; ++i) {
            ranges.push_back(range(i * 8, place_bytes - 4 - i * 4, 4));
            expect_range(i * 8, place_bytes - 4 - i * 4, 4);
        }
        const acp_handle_t list = acp_copy_v(ranges.data(), count, ACP_HANDLE_NULL);
        const acp_handle_t after = acp_copy(places_[1].address, places_[2].address, 8, list);
        std::copy_n(expected_[2].begin(), 8, expected_[1].begin());
        ASSERT_EQ(acp_wait(after, -1), ACP_OK) << acp_error_message();
        expect_bytes();
        if (HasFatalFailure()) return;
    }
}

TEST_F(CopyLists, an_empty_list_stands_for_its_order) {
    const acp_copy_range_t one = range(0, 8, 8);
    for (const acp_copy_range_t* list : {static_cast<const acp_copy_range_t*>(nullptr), &one}) {
        EXPECT_EQ(acp_wait(acp_copy_v(list, 0, ACP_HANDLE_ALL), -1), ACP_OK) << acp_error_message();
        const acp_handle_t failed = acp_copy(starter_end_, starter_, 8, ACP_HANDLE_NULL);
        const acp_handle_t empty = acp_copy_v(list, 0, failed);
        EXPECT_EQ(acp_wait(failed, -1), ACP_ERR_ADDRESS);
        EXPECT_EQ(acp_wait(empty, -1), ACP_ERR_ORDER) << acp_error_message();
        EXPECT_EQ(acp_wait(ACP_HANDLE_ALL, -1), ACP_OK);
    }
    expect_bytes();
}

TEST_F(CopyLists, a_range_that_fails_leaves_the_others_copied) {
    // The first, the last and one in the middle of five ranges fail, and all of them.
    for (const std::vector<std::size_t>& failing :
         std::vector<std::vector<std::size_t>>{{0}, {4}, {2}, {0, 4}, {1, 2, 3}, {0, 1, 2, 3, 4}}) {
        refill();
        std::vector<acp_copy_range_t> ranges;
        for (std::size_t i = 0; i < 5; ++i) {
            const bool has_failed = std::find(failing.begin(), failing.end(), i) != failing.end();
            ranges.push_back(range(i * 100, i * 50, 33));
            if (has_failed) {
                ranges.back().source = starter_end_ - 32;
            } else {
                expect_range(i * 100, i * 50, 33);
            }
        }
        const acp_handle_t list = acp_copy_v(ranges.data(), 5, ACP_HANDLE_NULL);
        const acp_handle_t after = acp_copy(places_[1].address, places_[2].address, 8, list);
        for (std::size_t i = 0; i < failing.size(); ++i) {
            EXPECT_EQ(acp_wait(list, -1), ACP_ERR_ADDRESS) << "failure " << i;
            EXPECT_TRUE(std::string(acp_error_message()).starts_with("acp_copy by rank 0 on "))
                << acp_error_message();
        }
        EXPECT_EQ(acp_wait(list, -1), ACP_ERR_ORDER) << acp_error_message();
        const std::string message = acp_error_message();
        EXPECT_TRUE(message.starts_with("acp_copy_v by rank 0 on ")) << message;
        EXPECT_NE(message.find("5"), std::string::npos) << "the number of ranges: " << message;
        EXPECT_EQ(acp_wait(list, -1), ACP_OK) << "each failure once";
        EXPECT_EQ(acp_wait(after, -1), ACP_ERR_ORDER) << "ordered after the list";
        expect_bytes();
    }
}

TEST_F(CopyLists, a_list_whose_order_failed_copies_nothing_and_fails_once) {
    const acp_handle_t failed = acp_copy(starter_, starter_end_, 8, ACP_HANDLE_NULL);
    const std::vector<acp_copy_range_t> ranges{range(0, 64, 8), range(8, 128, 8)};
    const acp_handle_t list = acp_copy_v(ranges.data(), 2, failed);
    const acp_handle_t block = issue({"", 0, {8}, 64, {8}, 8, {4}}, failed);
    EXPECT_EQ(acp_wait(failed, -1), ACP_ERR_ADDRESS);
    EXPECT_EQ(acp_wait(list, -1), ACP_ERR_ORDER);
    EXPECT_EQ(acp_wait(list, -1), ACP_OK) << "one failure of the list";
    EXPECT_EQ(acp_wait(block, -1), ACP_ERR_ORDER);
    EXPECT_EQ(acp_wait(block, -1), ACP_OK) << "one failure of the block";
    expect_bytes();
}

TEST_F(CopyLists, a_block_of_which_pieces_leave_the_memory_copies_the_others) {
    // The last two of six pieces begin beyond the end of registered memory, or reach beyond it.
    const Block block{"", place_bytes - 4 * 64, {64}, 0, {64}, 64, {4}};
    expect_block(block);
    Block longer = block;
    longer.counts = {6};
    const acp_handle_t handle = issue(longer);
    EXPECT_EQ(acp_wait(handle, -1), ACP_ERR_ADDRESS);
    EXPECT_EQ(acp_wait(handle, -1), ACP_ERR_ADDRESS);
    EXPECT_EQ(acp_wait(handle, -1), ACP_ERR_ORDER) << acp_error_message();
    EXPECT_TRUE(std::string(acp_error_message()).starts_with("acp_copy_strided by rank 0 on "))
        << acp_error_message();
    EXPECT_EQ(acp_wait(handle, -1), ACP_OK);
    expect_bytes();
}

}  // namespace
}  // namespace acp::api::test
