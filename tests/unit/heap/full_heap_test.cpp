// SPDX-License-Identifier: BSD-3-Clause
// The cost of a heap that has little room or none: the tests count the atomic accesses of a call,
// which do not depend on the machine's load.
#include <gtest/gtest.h>
#include <vector>

#include "heap_memory.hpp"
#include "support/random.hpp"
#include "support/stepped_atomic.hpp"

namespace acp::heap {
namespace {

using test::SteppedAtomic;

constexpr std::uint32_t caches = 3;

// A heap of `areas` areas whose accesses are counted.
struct Counted {
    explicit Counted(std::uint32_t areas)
        : shape{areas, caches},
          control(Control<SteppedAtomic>::bytes(shape)),
          heap(control.data(), shape, keeps_memory) {}

    Offset allocate(std::uint64_t bytes) {
        const Offset block = heap.allocate(cache, bytes);
        heap.keep(cache);
        return block;
    }

    // The number of accesses of a call.
    template <typename Call>
    static std::uint64_t steps_of(const Call& call) {
        constexpr std::uint64_t many = ~std::uint64_t{0};
        test::steps_left = many;
        call();
        const std::uint64_t steps = many - test::steps_left;
        test::steps_left = 0;
        return steps;
    }

    HeapShape shape;
    SharedPages control;
    Heap<SteppedAtomic> heap;
    ThreadCache cache{0};
    ThreadCache other{1};
};

// Accesses of a call that finds no room, without those for each area: lists of spans by class, and
// caches.
constexpr std::uint64_t steps_most = 4'000;

TEST(FullHeap, a_block_longer_than_any_free_run_is_refused_after_few_looks_at_each_area) {
    for (const std::uint32_t areas : {256U, 1'024U, 4'096U}) {
        SCOPED_TRACE(areas);
        Counted counted(areas);
        const std::uint64_t limit = counted.heap.limit_bytes();
        const Offset first = counted.allocate(limit / 2 - area_bytes);
        const Offset between = counted.allocate(2 * area_bytes);
        const Offset last = counted.allocate(limit / 2 - area_bytes);
        ASSERT_NE(last, no_block);
        ASSERT_EQ(counted.heap.free(counted.cache, first), Freed::done);
        ASSERT_EQ(counted.heap.free(counted.cache, last), Freed::done);
        // The same where the free runs are short.
        for (const std::uint64_t bytes : {limit, limit / 10 * 6, limit / 2}) {
            EXPECT_LT(Counted::steps_of([&] { EXPECT_EQ(counted.allocate(bytes), no_block); }),
                      8 * areas + steps_most);
        }
        ASSERT_EQ(counted.heap.free(counted.cache, between), Freed::done);
        EXPECT_NE(counted.allocate(limit), no_block) << "nothing is lost";
    }
}

TEST(FullHeap, between_short_free_runs_a_longer_one_is_found_and_none_too_many) {
    Counted counted(256);
    std::vector<Offset> blocks;
    for (Offset block; (block = counted.allocate(area_bytes)) != no_block;) blocks.push_back(block);
    ASSERT_EQ(blocks.size(), 256U);
    for (std::uint64_t i = 0; i < 256; i += 3)
        ASSERT_EQ(counted.heap.free(counted.cache, blocks[i]), Freed::done);
    for (const std::uint64_t bytes : {area_bytes + 1, 2 * area_bytes, 5 * area_bytes}) {
        EXPECT_LT(Counted::steps_of([&] { EXPECT_EQ(counted.allocate(bytes), no_block); }),
                  8 * 256 + steps_most);
    }
    ASSERT_EQ(counted.heap.free(counted.cache, blocks[100]), Freed::done);
    EXPECT_EQ(counted.allocate(2 * area_bytes), blocks[99]);
    EXPECT_EQ(counted.allocate(area_bytes + 1), no_block);
    EXPECT_EQ(counted.heap.allocate(counted.cache, area_bytes, 4 * area_bytes) % (4 * area_bytes),
              0U);
}

TEST(FullHeap, of_small_blocks_refuses_after_few_looks_at_each_area) {
    for (const std::uint32_t areas : {64U, 512U}) {
        for (const std::uint64_t bytes : {48U, 1'000U, 32'768U}) {
            SCOPED_TRACE(testing::Message() << areas << " areas, blocks of " << bytes);
            Counted counted(areas);
            while (counted.allocate(bytes) != no_block) {
            }
            for (const std::uint64_t asked : {bytes, std::uint64_t{100'000}, 8 * area_bytes}) {
                EXPECT_LT(Counted::steps_of([&] { EXPECT_EQ(counted.allocate(asked), no_block); }),
                          8 * areas + steps_most);
            }
        }
    }
}

TEST(FullHeap, a_block_that_anybody_frees_is_found_without_a_search) {
    test::Random random(4);
    for (const std::uint64_t bytes : {16U, 64U, 400U, 5'000U}) {
        SCOPED_TRACE(bytes);
        Counted counted(64);
        std::vector<Offset> blocks;
        for (Offset block; (block = counted.allocate(bytes)) != no_block;) blocks.push_back(block);
        for (std::uint32_t i = 0; i < 2'000; ++i) {
            Offset& block = blocks[random.below(blocks.size())];
            ASSERT_EQ(counted.heap.free(i % 2 == 0 ? counted.cache : counted.other, block),
                      Freed::done);
            std::uint64_t steps = Counted::steps_of([&] { block = counted.allocate(bytes); });
            ASSERT_NE(block, no_block) << "free " << i;
            ASSERT_LT(steps, 8 * 64 + steps_most);
        }
        ASSERT_EQ(counted.allocate(bytes), no_block);
        EXPECT_TRUE(findings_of(counted.heap.control()).empty());
    }
}

// The message of a refused allocation says how much is in use.
TEST(FullHeap, the_bytes_in_use_are_estimated_from_few_areas) {
    for (const std::uint32_t areas : {1U, 7U, 1'024U, 1'500U, 16'384U}) {
        SCOPED_TRACE(areas);
        Counted counted(areas);
        test::Random random(9);
        std::uint64_t used = 0;
        const auto estimate = [&] { return bytes_in_use(counted.heap.control()); };
        EXPECT_EQ(estimate(), 0U);
        while (used < counted.heap.limit_bytes() / 2) {
            const std::uint64_t bytes = unit_bytes * random.between(3, 60);
            const Offset block = counted.allocate(bytes);
            if (block == no_block) break;
            used += bytes;
            if (random.chance(30)) {
                ASSERT_EQ(counted.heap.free(counted.cache, block), Freed::done);
                used -= bytes;
            }
        }
        const double share = static_cast<double>(used) / static_cast<double>(estimate());
        EXPECT_NEAR(share, 1.0, areas <= sampled_areas_max ? 0.0 : 0.1);
        EXPECT_LE(Counted::steps_of([&] { (void)estimate(); }), sampled_areas_max);
    }
}

// An idle cache has spans; the search for them reads the words of these spans alone.
TEST(FullHeap, spans_that_other_caches_hold_are_found_by_their_bits) {
    Counted counted(1'024);
    std::vector<Offset> held;
    for (std::uint64_t bytes = 16; bytes <= 4'096; bytes *= 2) {
        held.push_back(counted.heap.allocate(counted.other, bytes));
        counted.heap.keep(counted.other);
    }
    while (counted.allocate(1'000'000) != no_block) {
    }
    while (counted.allocate(16'384) != no_block) {
    }
    for (const Offset block : held) ASSERT_EQ(counted.heap.free(counted.cache, block), Freed::done);
    const std::uint64_t steps =
        Counted::steps_of([&] { EXPECT_NE(counted.allocate(16'384), no_block); });
    EXPECT_LT(steps, 3 * steps_most);
}

}  // namespace
}  // namespace acp::heap
