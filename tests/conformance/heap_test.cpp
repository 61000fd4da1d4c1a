// SPDX-License-Identifier: BSD-3-Clause
// Memory of any rank: blocks do not overlap, keep their content, and any rank can free them; every
// misuse is refused and changes nothing.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <acp.h>

#include "support/heap_ranks.hpp"
#include "support/random.hpp"

namespace acp::test {
namespace {

class HeapTest : public HeapRankedTest {
protected:
    static acp_heap_stat_t stat(int rank) {
        acp_heap_stat_t told{};
        EXPECT_EQ(acp_heap_stat(rank, &told), 0) << acp_error_message();
        return told;
    }

    static std::vector<unsigned char> content(acp_ga_t block, std::size_t bytes) {
        std::vector<unsigned char> read(bytes);
        expect_done(acp_get(read.data(), block, bytes, ACP_HANDLE_NULL));
        return read;
    }

    static void write(acp_ga_t block, std::size_t bytes, unsigned char value) {
        const std::vector<unsigned char> all(bytes, value);
        expect_done(acp_put(block, all.data(), bytes, ACP_HANDLE_NULL));
    }

    static void expect_refused(int code, const std::vector<std::string>& parts) {
        expect_error(code, parts);
    }
};

TEST_F(HeapTest, blocks_of_every_rank_keep_what_is_written) {
    struct Block {
        std::size_t bytes;
        unsigned char value;
    };

    Random random(static_cast<std::uint64_t>(rank_) + 1);
    std::map<acp_ga_t, Block> blocks;
    for (int i = 0; i < 300; ++i) {
        if (!blocks.empty() && random.chance(40)) {
            const auto victim =
                std::next(blocks.begin(), static_cast<std::ptrdiff_t>(random.below(blocks.size())));
            const std::vector<unsigned char> kept(victim->second.bytes, victim->second.value);
            EXPECT_EQ(content(victim->first, kept.size()), kept);
            EXPECT_EQ(acp_free(victim->first), 0) << acp_error_message();
            blocks.erase(victim);
            continue;
        }
        const auto owner = static_cast<int>(random.below(static_cast<std::uint64_t>(procs_)));
        const std::size_t bytes = random.chance(5) ? 100'000 : random.below(3'000);
        const acp_ga_t block = acp_malloc(bytes, owner);
        ASSERT_NE(block, ACP_GA_NULL) << acp_error_message();
        EXPECT_EQ(acp_query_rank(block), owner);
        EXPECT_EQ(block % 16, 0U);
        EXPECT_GE(acp_usable_size(block), bytes);
        EXPECT_TRUE(blocks.emplace(block, Block{bytes, static_cast<unsigned char>(i)}).second);
        write(block, bytes, static_cast<unsigned char>(i));
    }
    for (const auto& [address, block] : blocks) {
        EXPECT_EQ(content(address, block.bytes),
                  std::vector<unsigned char>(block.bytes, block.value));
        EXPECT_EQ(acp_free(address), 0) << acp_error_message();
    }
}

TEST_F(HeapTest, another_rank_frees_what_one_has_allocated) {
    const int next = (rank_ + 1) % procs_;
    for (int round = 0; round < 20; ++round) {
        const acp_ga_t mine = acp_malloc(500, next);
        ASSERT_NE(mine, ACP_GA_NULL) << acp_error_message();
        const auto all = exchange(mine);
        EXPECT_EQ(acp_free(all[static_cast<std::size_t>(next)]), 0) << acp_error_message();
        sync_ranks();
    }
}

TEST_F(HeapTest, threads_of_all_ranks_allocate_and_free_at_once) {
    const auto act = [this](std::uint64_t seed) {
        Random random(seed);
        std::vector<acp_ga_t> held;
        for (int i = 0; i < 400; ++i) {
            const auto owner = static_cast<int>(random.below(static_cast<std::uint64_t>(procs_)));
            const acp_ga_t block = acp_malloc(8 + random.below(2'000), owner);
            if (block == ACP_GA_NULL) return false;
            // The first word of a block is its own address: if two threads had the block, one would
            // find the other's word.
            acp_complete(acp_put(block, &block, sizeof block, ACP_HANDLE_NULL));
            held.push_back(block);
            if (held.size() < 30) continue;
            const std::size_t which = random.below(held.size());
            acp_ga_t word = 0;
            acp_complete(acp_get(&word, held[which], sizeof word, ACP_HANDLE_NULL));
            if (word != held[which] || acp_free(held[which]) != 0) return false;
            held[which] = held.back();
            held.pop_back();
        }
        return acp_free_many(held.size(), held.data()) == 0;
    };
    bool is_well[3] = {};
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < 3; ++i) {
        threads.emplace_back(
            [&, i] { is_well[i] = act(static_cast<std::uint64_t>(rank_) * 3 + i + 1); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const bool is_one_well : is_well) EXPECT_TRUE(is_one_well) << acp_error_message();
}

TEST_F(HeapTest, more_threads_than_have_caches_of_their_own) {
    std::vector<std::thread> threads;
    std::atomic<int> done{0};
    for (int i = 0; i < 70; ++i) {
        threads.emplace_back([&] {
            for (int k = 0; k < 20; ++k) {
                const acp_ga_t block = acp_malloc(100, rank_);
                if (block == ACP_GA_NULL || acp_free(block) != 0) return;
            }
            ++done;
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(done, 70);
}

TEST_F(HeapTest, calloc_is_zero_also_where_others_have_written) {
    for (int owner = 0; owner < procs_; ++owner) {
        for (const std::size_t bytes :
             {std::size_t{40}, std::size_t{5'000}, std::size_t{3'000'001}}) {
            const acp_ga_t used = acp_malloc(bytes, owner);
            ASSERT_NE(used, ACP_GA_NULL) << acp_error_message();
            write(used, bytes, 0xaa);
            EXPECT_EQ(acp_free(used), 0);
            const acp_ga_t zeroed = acp_calloc(bytes, 1, owner);
            ASSERT_NE(zeroed, ACP_GA_NULL) << acp_error_message();
            const auto read = content(zeroed, bytes);
            EXPECT_TRUE(std::ranges::all_of(read, [](unsigned char byte) { return byte == 0; }));
            EXPECT_EQ(acp_free(zeroed), 0);
        }
    }
    EXPECT_EQ(acp_calloc(std::numeric_limits<std::size_t>::max() / 2, 3, rank_), ACP_GA_NULL);
    expect_refused(ACP_ERR_ARGUMENT, {"acp_calloc", "2^64"});
}

TEST_F(HeapTest, realloc_keeps_what_both_blocks_have_room_for) {
    for (int owner = 0; owner < procs_; ++owner) {
        acp_ga_t block = acp_malloc(100, owner);
        write(block, 100, 7);
        for (const std::size_t bytes : {std::size_t{110}, std::size_t{70'000}, std::size_t{90}}) {
            block = acp_realloc(block, bytes);
            ASSERT_NE(block, ACP_GA_NULL) << acp_error_message();
            EXPECT_EQ(acp_query_rank(block), owner);
            EXPECT_GE(acp_usable_size(block), bytes);
            EXPECT_EQ(content(block, 90), std::vector<unsigned char>(90, 7));
        }
        const std::size_t too_much = stat(owner).limit + 1;
        EXPECT_EQ(acp_realloc(block, too_much), ACP_GA_NULL);
        expect_refused(ACP_ERR_MEMORY, {"acp_realloc", "no room"});
        EXPECT_EQ(content(block, 90), std::vector<unsigned char>(90, 7));
        EXPECT_EQ(acp_free(block), 0);
    }
    const acp_ga_t fresh = acp_realloc(ACP_GA_NULL, 10);
    EXPECT_EQ(acp_query_rank(fresh), rank_);
    EXPECT_EQ(acp_free(fresh), 0);
}

TEST_F(HeapTest, alignments_hold_for_addresses_and_pointers) {
    for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        const acp_ga_t block = acp_aligned_alloc(alignment, 3 * alignment + 5, rank_);
        ASSERT_NE(block, ACP_GA_NULL) << acp_error_message();
        EXPECT_EQ(block % alignment, 0U);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(acp_query_address(block)) % alignment, 0U);
        EXPECT_EQ(acp_free(block), 0);
    }
    for (const std::size_t alignment : {std::size_t{0}, std::size_t{3}, std::size_t{8192}}) {
        EXPECT_EQ(acp_aligned_alloc(alignment, 8, rank_), ACP_GA_NULL);
        expect_refused(ACP_ERR_ARGUMENT, {"acp_aligned_alloc", "alignment"});
    }
}

TEST_F(HeapTest, many_blocks_at_once_are_all_there_or_none) {
    std::vector<std::size_t> sizes;
    for (std::size_t i = 0; i < 500; ++i) sizes.push_back(i * 10);
    for (int owner = 0; owner < procs_; ++owner) {
        std::vector<acp_ga_t> blocks(sizes.size());
        ASSERT_EQ(acp_malloc_many(sizes.size(), sizes.data(), owner, blocks.data()), 0)
            << acp_error_message();
        for (std::size_t i = 0; i < blocks.size(); i += 50) {
            EXPECT_EQ(acp_query_rank(blocks[i]), owner);
            EXPECT_GE(acp_usable_size(blocks[i]), sizes[i]);
        }
        std::vector<acp_ga_t> sorted = blocks;
        std::ranges::sort(sorted);
        EXPECT_EQ(std::ranges::adjacent_find(sorted), sorted.end());
        blocks.push_back(ACP_GA_NULL);
        EXPECT_EQ(acp_free_many(blocks.size(), blocks.data()), 0) << acp_error_message();
    }
    sync_ranks();
    if (rank_ == 0) {
        const std::size_t limit = stat(procs_ - 1).limit;
        const std::size_t too_much[] = {100, limit, limit};
        acp_ga_t blocks[] = {1, 1, 1};
        EXPECT_EQ(acp_malloc_many(3, too_much, procs_ - 1, blocks), -1);
        expect_refused(ACP_ERR_MEMORY, {"acp_malloc_many", "block 1", "no room"});
        for (const acp_ga_t block : blocks) EXPECT_EQ(block, ACP_GA_NULL);
        EXPECT_EQ(stat(procs_ - 1).blocks, 0U);
        const acp_ga_t freed[] = {acp_malloc(8, 0), acp_malloc(8, procs_ - 1)};
        EXPECT_EQ(acp_free(freed[0]), 0);
        EXPECT_EQ(acp_free_many(2, freed), -1);
        expect_refused(ACP_ERR_STALE, {"acp_free_many", "freed before"});
        EXPECT_EQ(acp_free(freed[1]), -1) << "the others are freed all the same";
    }
    sync_ranks();
    EXPECT_EQ(acp_malloc_many(0, nullptr, 0, nullptr), 0);
    EXPECT_EQ(acp_free_many(0, nullptr), 0);
    EXPECT_EQ(acp_malloc_many(1, nullptr, 0, nullptr), -1);
    // The array of sizes would have more bytes than 64 bits can count, or reach beyond any memory.
    for (const std::size_t extra : {0U, 3U}) {
        for (const int power : {37, 58, 61, 62, 63}) {
            const std::size_t sizes_there[] = {8, 8, 8};
            acp_ga_t blocks[] = {1, 1, 1};
            const std::size_t count = (std::size_t{1} << power) + extra;
            EXPECT_EQ(acp_malloc_many(count, sizes_there, procs_ - 1, blocks), -1) << count;
            expect_refused(ACP_ERR_ARGUMENT, {"acp_malloc_many", "no heap has room",
                                              "count is " + std::to_string(count)});
            for (const acp_ga_t block : blocks) EXPECT_EQ(block, 1U);
        }
    }
    sync_ranks();
    EXPECT_EQ(stat(rank_).blocks, 0U);
    EXPECT_EQ(acp_free_many(1, nullptr), -1);
}

TEST_F(HeapTest, misuse_is_refused_and_changes_nothing) {
    // Ranks take turns: a block that one rank frees twice could be another rank's block by the
    // second free.
    for (int turn = 0; turn < procs_ * procs_; ++turn) {
        sync_ranks();
        if (turn / procs_ != rank_) continue;
        const int owner = turn % procs_;
        const acp_ga_t block = acp_malloc(100, owner);
        const acp_ga_t large = acp_malloc(100'000, owner);
        write(block, 100, 9);
        for (const acp_ga_t wrong : {block + 1, block + 16, large + 16'384}) {
            EXPECT_EQ(acp_free(wrong), -1);
            expect_refused(ACP_ERR_ADDRESS, {"acp_free", "inside a block"});
            EXPECT_EQ(acp_usable_size(wrong), SIZE_MAX);
            EXPECT_EQ(acp_realloc(wrong, 10), ACP_GA_NULL);
        }
        EXPECT_EQ(acp_free(acp_query_starter_ga(owner)), -1);
        expect_refused(ACP_ERR_ADDRESS, {"acp_free", "no address that acp_malloc gave"});
        EXPECT_EQ(content(block, 100), std::vector<unsigned char>(100, 9));
        EXPECT_EQ(acp_free(block), 0);
        EXPECT_EQ(acp_free(block), -1);
        expect_refused(ACP_ERR_STALE, {"acp_free", "freed before"});
        EXPECT_EQ(acp_free(large), 0);
        EXPECT_EQ(acp_free(large), -1);
    }
    EXPECT_EQ(acp_free(ACP_GA_NULL), 0);
    EXPECT_EQ(acp_free(~ACP_GA_NULL), -1);
    for (const int wrong : {-1, procs_}) {
        EXPECT_EQ(acp_malloc(8, wrong), ACP_GA_NULL);
        expect_refused(ACP_ERR_ARGUMENT, {"acp_malloc", "is not one of 0 to"});
        EXPECT_EQ(acp_heap_check(wrong), -1);
    }
    EXPECT_EQ(acp_heap_stat(0, nullptr), -1);
    EXPECT_EQ(acp_malloc(std::numeric_limits<std::size_t>::max(), rank_), ACP_GA_NULL);
    expect_refused(ACP_ERR_MEMORY,
                   {"acp_malloc", "heap of rank " + std::to_string(rank_), "--heap-size"});
}

// Each rank checks the heap of the next one while all allocate and free in all heaps.
TEST_F(HeapTest, a_heap_is_sound_also_while_others_allocate_and_free) {
    constexpr int rounds = 4'000;
    test::Random random(static_cast<std::uint64_t>(rank_) + 1);
    for (int round = 0; round < rounds; ++round) {
        const int owner = static_cast<int>(random.below(static_cast<std::uint64_t>(procs_)));
        const acp_ga_t large = acp_malloc(20'000 + random.below(200'000), owner);
        const acp_ga_t small = acp_malloc(16 + random.below(4'000), owner);
        ASSERT_EQ(acp_heap_check((rank_ + 1) % procs_), 0) << acp_error_message();
        EXPECT_EQ(acp_free(large), 0);
        EXPECT_EQ(acp_free(small), 0);
    }
    sync_ranks();
}

// Every rank tries to free parts of containers of every rank.
TEST_F(HeapTest, parts_of_containers_are_not_freed_by_their_addresses) {
    const std::string text(3'000, 't');
    for (int owner = 0; owner < procs_; ++owner) {
        const acp_map_t map = acp_create_map(1, &owner, 4, owner);
        const acp_list_t list = acp_create_list(owner);
        const acp_vector_t vector = acp_create_vector(100, owner);
        const acp_deque_t deque = acp_create_deque(100, owner);
        const int elsewhere = (owner + 1) % procs_;
        ASSERT_EQ(acp_insert_or_assign_map(map, "short", 5, "v", 1), 1) << acp_error_message();
        ASSERT_EQ(acp_insert_or_assign_map(map, "long", 4, text.data(), text.size()), 1);
        ASSERT_EQ(acp_push_back_list(list, "short", 5, owner), 0) << acp_error_message();
        ASSERT_EQ(acp_push_back_list(list, text.data(), text.size(), owner), 0);
        ASSERT_EQ(acp_push_back_list(list, text.data(), text.size(), elsewhere), 0);
        std::vector<acp_ga_t> parts{map.ga, list.ga, vector.ga, deque.ga};
        for (acp_map_it_t it = acp_begin_map(map); it.elem != ACP_GA_NULL;
             it = acp_increment_map_it(it)) {
            parts.push_back(it.elem);
            parts.push_back(acp_dereference_map_it(it).second.ga);
        }
        for (acp_list_it_t it = acp_begin_list(list); it.elem != list.ga;
             it = acp_increment_list_it(it)) {
            parts.push_back(it.elem);
            parts.push_back(acp_dereference_list_it(it).ga);
        }
        parts.push_back(acp_dereference_vector_it(acp_begin_vector(vector)));
        for (const acp_ga_t part : parts) {
            ASSERT_NE(part, ACP_GA_NULL);
            EXPECT_EQ(acp_free(part), -1);
            expect_refused(ACP_ERR_ADDRESS, {"acp_free"});
            EXPECT_EQ(acp_free_many(1, &part), -1);
            expect_refused(ACP_ERR_ADDRESS, {"acp_free_many"});
            for (const std::size_t count : {(std::size_t{1} << 36U) + 1, std::size_t{1} << 61U,
                                            std::size_t{1} << 62U, SIZE_MAX}) {
                EXPECT_EQ(acp_free_many(count, &part), -1);
                expect_refused(ACP_ERR_ARGUMENT, {"acp_free_many"});
            }
            EXPECT_EQ(acp_usable_size(part), SIZE_MAX);
            EXPECT_EQ(acp_realloc(part, 10), ACP_GA_NULL);
            EXPECT_EQ(acp_realloc(part, 100'000), ACP_GA_NULL);
            expect_refused(ACP_ERR_ADDRESS, {"acp_realloc"});
        }
        EXPECT_EQ(acp_free(map.ga), -1);
        expect_refused(ACP_ERR_ADDRESS, {"part of a container"});
        EXPECT_EQ(acp_size_map(map), 2U);
        EXPECT_EQ(acp_size_list(list), 3U);
        EXPECT_EQ(acp_size_vector(vector), 100U);
        std::string taken(text.size(), '\0');
        EXPECT_EQ(acp_take_back_list(list, taken.data(), taken.size()), 3'000);
        EXPECT_EQ(taken, text);
        EXPECT_EQ(acp_destroy_map(map), 0) << acp_error_message();
        EXPECT_EQ(acp_destroy_list(list), 0) << acp_error_message();
        EXPECT_EQ(acp_destroy_vector(vector), 0) << acp_error_message();
        EXPECT_EQ(acp_destroy_deque(deque), 0) << acp_error_message();
        // Memory of the destroyed containers' parts can be allocated and freed by the program
        // again.
        std::vector<acp_ga_t> blocks;
        for (const std::size_t bytes : {16UL, 48UL, 64UL, 100UL, 200UL, 3'000UL, 4'000UL}) {
            for (int i = 0; i < 20; ++i) blocks.push_back(acp_malloc(bytes, owner));
        }
        EXPECT_EQ(acp_free_many(blocks.size(), blocks.data()), 0) << acp_error_message();
    }
}

TEST_F(HeapTest, a_full_heap_refuses_and_recovers) {
    sync_ranks();
    if (rank_ == 0) {
        const int owner = procs_ - 1;
        std::vector<acp_ga_t> blocks;
        while (true) {
            const acp_ga_t block = acp_malloc(1 << 20, owner);
            if (block == ACP_GA_NULL) break;
            blocks.push_back(block);
        }
        expect_refused(ACP_ERR_MEMORY, {"no room", "are in use"});
        EXPECT_GE(blocks.size() + 2, stat(owner).limit >> 20U)
            << "others keep what they do not use";
        EXPECT_EQ(acp_free_many(blocks.size(), blocks.data()), 0) << acp_error_message();
        const acp_ga_t again = acp_malloc(stat(owner).limit / 2, owner);
        EXPECT_NE(again, ACP_GA_NULL) << acp_error_message();
        EXPECT_EQ(acp_free(again), 0);
    }
    sync_ranks();
}

TEST_F(HeapTest, is_empty_after_a_reset) {
    const acp_ga_t block = acp_malloc(100, rank_);
    ASSERT_NE(block, ACP_GA_NULL);
    write(block, 100, 5);
    ASSERT_EQ(acp_reset((rank_ + 1) % procs_), 0) << acp_error_message();
    EXPECT_EQ(stat(acp_rank()).blocks, 0U);
    EXPECT_EQ(stat(acp_rank()).in_use, 0U);
    EXPECT_EQ(acp_free(block), -1);
    sync_ranks();
    ASSERT_EQ(acp_reset(rank_), 0) << acp_error_message();
}

}  // namespace
}  // namespace acp::test
