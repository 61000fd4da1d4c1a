// SPDX-License-Identifier: BSD-3-Clause
// The calls of <acp/heap.h> in a job of one rank: sizes, alignments and contents of blocks at the
// edges of the size classes, resizing, lists of blocks, a full heap, and what the statistics say
// after each.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <acp.h>

#include "unit/api/called.hpp"
#include "unit/api/one_rank_job.hpp"

namespace acp::api::test {
namespace {

constexpr std::size_t heap_bytes = std::size_t{8} << 20U;  // ACP_HEAP_SIZE of the job

class HeapCalls : public OneRankJob {
protected:
    void TearDown() override {
        const acp_heap_stat_t now = stat();
        EXPECT_EQ(now.blocks, before_.blocks) << "a block stays";
        EXPECT_EQ(now.allocated, before_.allocated);
        EXPECT_EQ(acp_heap_check(0), 0) << acp_error_message();
    }

    static acp_heap_stat_t stat() {
        acp_heap_stat_t now{};
        EXPECT_EQ(acp_heap_stat(0, &now), 0) << acp_error_message();
        return now;
    }

    static std::uint8_t* bytes_of(acp_ga_t block) {
        return static_cast<std::uint8_t*>(acp_query_address(block));
    }

    static constexpr std::size_t sizes[] = {
        0,    1,    7,    8,    9,    15,   16,    17,    63,    64,     65,      1023,
        1024, 1025, 4095, 4096, 4097, 8193, 32768, 32769, 65536, 300000, 1 << 20, 3 << 20};
};

TEST_F(HeapCalls, blocks_of_every_size_are_aligned_apart_and_as_long_as_they_say) {
    std::vector<std::pair<acp_ga_t, std::size_t>> blocks;
    std::size_t allocated = before_.allocated;
    for (const std::size_t size : sizes) {
        const acp_ga_t block = acp_malloc(size, 0);
        ASSERT_NE(block, ACP_GA_NULL) << size << ": " << acp_error_message();
        EXPECT_EQ(block % 16, 0U);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes_of(block)) % 16, 0U);
        EXPECT_EQ(acp_query_rank(block), 0);
        const std::size_t usable = acp_usable_size(block);
        EXPECT_GE(usable, std::max<std::size_t>(size, 1));
        std::memset(bytes_of(block), static_cast<int>(blocks.size()), usable);
        blocks.emplace_back(block, usable);
        allocated += usable;
    }
    EXPECT_EQ(stat().allocated, allocated) << "the sum of the usable sizes";
    EXPECT_EQ(stat().blocks, before_.blocks + blocks.size());
    EXPECT_GE(stat().in_use, stat().allocated);
    EXPECT_EQ(stat().limit, heap_bytes);
    EXPECT_LE(stat().in_use, stat().limit);
    EXPECT_GE(stat().memory, 4U << 20U) << "a MiB and three were allocated";
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const auto [block, usable] = blocks[i];
        EXPECT_EQ(
            std::count(bytes_of(block), bytes_of(block) + usable, static_cast<std::uint8_t>(i)),
            static_cast<std::ptrdiff_t>(usable))
            << "no other block has written into block " << i;
        EXPECT_EQ(acp_free(block), 0) << acp_error_message();
    }
}

TEST_F(HeapCalls, alignments_are_powers_of_two_up_to_4096) {
    std::vector<acp_ga_t> blocks;
    for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        for (const std::size_t size : Sizes{0, 1, 17, 4096, 4097, 20000}) {
            const acp_ga_t block = acp_aligned_alloc(alignment, size, 0);
            ASSERT_NE(block, ACP_GA_NULL)
                << alignment << ", " << size << ": " << acp_error_message();
            EXPECT_EQ(block % alignment, 0U) << alignment << ", " << size;
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes_of(block)) % alignment, 0U);
            EXPECT_GE(acp_usable_size(block), size);
            blocks.push_back(block);
        }
    }
    for (const acp_ga_t block : blocks) EXPECT_EQ(acp_free(block), 0) << acp_error_message();
    for (const std::size_t alignment : Sizes{0, 3, 6, 4095, 4097, 8192}) {
        expect_refused(
            ACP_REFUSED_BY_0(acp_aligned_alloc, ACP_ERR_ARGUMENT, "alignment", alignment, 8, 0));
    }
}

TEST_F(HeapCalls, acp_calloc_gives_zeros_also_where_a_freed_block_was) {
    for (const auto& [count, size] :
         std::vector<std::pair<std::size_t, std::size_t>>{{0, 8},
                                                          {8, 0},
                                                          {0, 0},
                                                          {1, 1},
                                                          {7, 9},
                                                          {1, 4096},
                                                          {4097, 1},
                                                          {64, 1024},
                                                          {3, 1 << 20}}) {
        SCOPED_TRACE(std::to_string(count) + " of " + std::to_string(size));
        const acp_ga_t dirty = acp_malloc(count * size, 0);
        ASSERT_NE(dirty, ACP_GA_NULL) << acp_error_message();
        std::memset(bytes_of(dirty), 0xFF, acp_usable_size(dirty));
        ASSERT_EQ(acp_free(dirty), 0);
        const acp_ga_t block = acp_calloc(count, size, 0);
        ASSERT_NE(block, ACP_GA_NULL) << acp_error_message();
        EXPECT_EQ(std::count(bytes_of(block), bytes_of(block) + count * size, 0),
                  static_cast<std::ptrdiff_t>(count * size));
        EXPECT_EQ(acp_free(block), 0);
    }
    constexpr std::size_t half = std::size_t{1} << 32;
    for (const RefusedCall& row : {
             ACP_REFUSED_BY_0(acp_calloc, ACP_ERR_ARGUMENT, "2^64", half, half, 0),
             ACP_REFUSED_BY_0(acp_calloc, ACP_ERR_ARGUMENT, "2^64", ~std::size_t{0}, 2, 0),
             ACP_REFUSED_BY_0(acp_calloc, ACP_ERR_ARGUMENT, "2^64", 2, ~std::size_t{0}, 0),
             ACP_REFUSED_BY_0(acp_calloc, ACP_ERR_MEMORY, "", half - 1, half, 0),
             ACP_REFUSED_BY_0(acp_calloc, ACP_ERR_MEMORY, "", 1, heap_bytes + 1, 0),
             ACP_REFUSED_BY_0(acp_calloc, ACP_ERR_ARGUMENT, "rank -1 is not one of 0 to 0", 0, 0,
                              -1),
         })
        expect_refused(row);
}

TEST_F(HeapCalls, acp_realloc_keeps_the_content_up_to_the_smaller_size) {
    for (const std::size_t from : sizes) {
        for (const std::size_t to : Sizes{0, 1, 8, 16, 100, 4096, 5000, 70000, 1 << 20}) {
            SCOPED_TRACE(std::to_string(from) + " to " + std::to_string(to));
            acp_ga_t block = acp_malloc(from, 0);
            ASSERT_NE(block, ACP_GA_NULL) << acp_error_message();
            for (std::size_t i = 0; i < from; ++i)
                bytes_of(block)[i] = static_cast<std::uint8_t>(i * 13 + 5);
            const std::size_t room = acp_usable_size(block);
            const acp_ga_t moved = acp_realloc(block, to);
            ASSERT_NE(moved, ACP_GA_NULL) << acp_error_message();
            EXPECT_EQ(moved == block, to <= room && to >= room / 2) << "room of " << room;
            EXPECT_GE(acp_usable_size(moved), to);
            for (std::size_t i = 0; i < std::min(from, to); ++i)
                ASSERT_EQ(bytes_of(moved)[i], static_cast<std::uint8_t>(i * 13 + 5)) << i;
            if (moved != block) {
                expect_refused(ACP_REFUSED(acp_free, ACP_ERR_STALE, "", block));
            }
            ASSERT_EQ(acp_free(moved), 0) << acp_error_message();
        }
    }
    const acp_ga_t made = acp_realloc(ACP_GA_NULL, 100);
    EXPECT_GE(acp_usable_size(made), 100U) << "of null, as acp_malloc";
    EXPECT_EQ(acp_free(made), 0);
}

TEST_F(HeapCalls, a_refused_resize_leaves_the_block_as_it_is) {
    const acp_ga_t block = acp_malloc(100, 0);
    std::memset(bytes_of(block), 0x77, 100);
    for (const std::size_t size : {~std::size_t{0}, heap_bytes, heap_bytes * 1000}) {
        expect_refused(ACP_REFUSED_BY_0(acp_realloc, ACP_ERR_MEMORY, "", block, size));
        EXPECT_EQ(std::count(bytes_of(block), bytes_of(block) + 100, 0x77), 100);
        EXPECT_GE(acp_usable_size(block), 100U);
    }
    EXPECT_EQ(acp_free(block), 0);
    for (const RefusedCall& row : {
             ACP_REFUSED_BY_0(acp_realloc, ACP_ERR_ADDRESS, "no allocated block", block, 200),
             ACP_REFUSED_BY_0(acp_realloc, ACP_ERR_MEMORY, "", ACP_GA_NULL, ~std::size_t{0}),
             ACP_REFUSED(acp_usable_size, ACP_ERR_ADDRESS, "no allocated block", block),
             ACP_REFUSED(acp_free, ACP_ERR_STALE, "", block),
         })
        expect_refused(row);
}

TEST_F(HeapCalls, a_list_of_blocks_is_allocated_and_freed_as_a_whole) {
    for (const std::size_t count : Sizes{0, 1, 2, 126, 127, 128, 1000}) {
        SCOPED_TRACE(count);
        std::vector<std::size_t> wanted;
        for (std::size_t i = 0; i < count; ++i) wanted.push_back(i * 37 % 500);
        std::vector<acp_ga_t> blocks(count + 1, 7);
        ASSERT_EQ(acp_malloc_many(count, wanted.data(), 0, blocks.data()), 0)
            << acp_error_message();
        EXPECT_EQ(blocks[count], 7U) << "beyond the last one";
        blocks.pop_back();
        EXPECT_EQ((std::set<acp_ga_t>(blocks.begin(), blocks.end()).size()), count);
        EXPECT_EQ(stat().blocks, before_.blocks + count);
        for (std::size_t i = 0; i < count; ++i) {
            ASSERT_GE(acp_usable_size(blocks[i]), std::max<std::size_t>(wanted[i], 1));
            ASSERT_EQ(blocks[i] % 16, 0U);
        }
        EXPECT_EQ(acp_free_many(count, blocks.data()), 0) << acp_error_message();
        EXPECT_EQ(stat().blocks, before_.blocks);
    }
    EXPECT_EQ(acp_malloc_many(0, nullptr, 0, nullptr), 0) << acp_error_message();
    EXPECT_EQ(acp_free_many(0, nullptr), 0) << acp_error_message();
}

TEST_F(HeapCalls, a_list_that_does_not_fit_is_not_allocated_in_part) {
    // Each place at which the size may stand that no heap has room for.
    for (const std::size_t place : Sizes{0, 1, 63, 199}) {
        std::vector<std::size_t> wanted(200, 64);
        wanted[place] = heap_bytes + 1;
        std::vector<acp_ga_t> blocks(200, 7);
        const std::size_t* const sizes_given = wanted.data();
        expect_refused(ACP_REFUSED(acp_malloc_many, ACP_ERR_MEMORY, "200 blocks", 200, sizes_given,
                                   0, blocks.data()));
        EXPECT_EQ(std::count(blocks.begin(), blocks.end(), ACP_GA_NULL), 200) << place;
        EXPECT_EQ(stat().blocks, before_.blocks) << place;
    }
    const std::size_t one = 8;
    acp_ga_t block = 7;
    constexpr std::size_t most = std::size_t{1} << 36;
    for (const RefusedCall& row : {
             ACP_REFUSED(acp_malloc_many, ACP_ERR_ARGUMENT, "sizes is NULL", 1, nullptr, 0, &block),
             ACP_REFUSED(acp_malloc_many, ACP_ERR_ARGUMENT, "addresses is NULL", 1, &one, 0,
                         nullptr),
             ACP_REFUSED(acp_malloc_many, ACP_ERR_ARGUMENT, "no heap has room", most + 1, &one, 0,
                         &block),
             ACP_REFUSED(acp_malloc_many, ACP_ERR_ARGUMENT, "rank 1", 1, &one, 1, &block),
             ACP_REFUSED(acp_malloc_many, ACP_ERR_ARGUMENT, "rank 1", 0, nullptr, 1, nullptr),
             ACP_REFUSED(acp_free_many, ACP_ERR_ARGUMENT, "no heap has room", most + 1, &block),
         })
        expect_refused(row);
    EXPECT_EQ(block, 7U) << "arguments that are refused leave the addresses unchanged";
}

TEST_F(HeapCalls, a_list_frees_all_blocks_that_it_can_and_reports_the_first_that_it_cannot) {
    acp_ga_t freed = acp_malloc(64, 0);
    ASSERT_EQ(acp_free(freed), 0);
    const std::size_t wanted[] = {64, 64, 64};
    acp_ga_t good[3];
    ASSERT_EQ(acp_malloc_many(3, wanted, 0, good), 0);
    const acp_ga_t list[] = {good[0],  ACP_GA_NULL, good[1] + 1, good[1],
                             starter_, good[2],     ACP_GA_NULL};
    expect_refused(ACP_REFUSED(acp_free_many, ACP_ERR_ADDRESS, "7 blocks", 7, list));
    EXPECT_EQ(stat().blocks, before_.blocks) << "the good ones are free";
    const acp_ga_t nulls[] = {ACP_GA_NULL, ACP_GA_NULL};
    EXPECT_EQ(acp_free_many(2, nulls), 0) << acp_error_message();
    const acp_ga_t again[] = {good[0], good[2]};
    expect_refused(ACP_REFUSED(acp_free_many, ACP_ERR_STALE, "", 2, again));
}

TEST_F(HeapCalls, a_heap_fills_up_and_is_as_large_when_all_is_freed) {
    for (const std::size_t size :
         {std::size_t{48}, std::size_t{4096}, std::size_t{32768}, std::size_t{1} << 20U}) {
        SCOPED_TRACE(size);
        std::size_t first_count = 0;
        for (int turn = 0; turn < 2; ++turn) {
            std::vector<acp_ga_t> blocks;
            for (acp_ga_t block = acp_malloc(size, 0); block != ACP_GA_NULL;
                 block = acp_malloc(size, 0))
                blocks.push_back(block);
            EXPECT_EQ(acp_errno(), ACP_ERR_MEMORY) << acp_error_message();
            const std::string message = acp_error_message();
            EXPECT_TRUE(message.starts_with("acp_malloc(" + std::to_string(size) +
                                            " bytes, rank 0) by rank 0 on "))
                << message;
            EXPECT_EQ(stat().blocks, before_.blocks + blocks.size());
            EXPECT_GE(stat().allocated, heap_bytes / 4 * 3) << "most of the heap is in blocks";
            EXPECT_EQ(acp_heap_check(0), 0) << acp_error_message();
            if (turn == 0) first_count = blocks.size();
            EXPECT_EQ(blocks.size(), first_count);
            ASSERT_EQ(acp_free_many(blocks.size(), blocks.data()), 0) << acp_error_message();
        }
    }
    const acp_ga_t large = acp_malloc(heap_bytes / 2, 0);
    EXPECT_NE(large, ACP_GA_NULL) << "the room is in one piece: " << acp_error_message();
    EXPECT_EQ(acp_free(large), 0);
}

TEST_F(HeapCalls, blocks_of_containers_and_locks_are_not_the_programs_to_free) {
    const acp_lock_t lock = acp_create_lock(0);
    const acp_vector_t vector = acp_create_vector(100, 0);
    for (const acp_ga_t address : {lock.ga, vector.ga}) {
        const acp_heap_stat_t now = stat();
        expect_refused(ACP_REFUSED(acp_free, ACP_ERR_ADDRESS, "", address));
        expect_refused(ACP_REFUSED_BY_0(acp_realloc, ACP_ERR_ADDRESS, "", address, 8));
        expect_refused(ACP_REFUSED(acp_free_many, ACP_ERR_ADDRESS, "", 1, &address));
        EXPECT_EQ(stat().blocks, now.blocks);
    }
    EXPECT_EQ(acp_free_lock(lock), 0) << acp_error_message();
    EXPECT_EQ(acp_destroy_vector(vector), 0) << acp_error_message();
}

}  // namespace
}  // namespace acp::api::test
