// SPDX-License-Identifier: BSD-3-Clause
// The heap is compared with a model: blocks do not overlap, every bad free is refused, and freed
// memory is reused.
#include "heap/heap.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "heap_memory.hpp"
#include "support/random.hpp"

namespace acp::heap {
namespace {

class HeapTest : public testing::Test {
protected:
    static constexpr std::uint32_t caches = 8;

    void make(std::uint32_t areas) {
        const HeapShape shape{areas, caches};
        pages_ = std::make_unique<SharedPages>(Control<>::bytes(shape));
        const auto give_back = [](void* sum, std::uint64_t offset, std::uint64_t bytes) noexcept {
            EXPECT_EQ(offset % area_bytes, 0U);
            *static_cast<std::uint64_t*>(sum) += bytes;
        };
        heap_ = std::make_unique<Heap<>>(pages_->data(), shape, GiveBack{give_back, &given_back_});
    }

    void expect_sound() const {
        for (const std::string& finding : findings_of(heap_->control())) ADD_FAILURE() << finding;
    }

    [[nodiscard]] Usage usage() const { return usage_of(heap_->control()); }

    std::unique_ptr<SharedPages> pages_;
    std::unique_ptr<Heap<>> heap_;
    ThreadCache cache_{0};
    std::uint64_t given_back_ = 0;
};

TEST_F(HeapTest, is_empty_at_first) {
    make(4);
    EXPECT_EQ(usage().blocks, 0U);
    EXPECT_EQ(usage().unit_bytes, 0U);
    EXPECT_EQ(usage().limit_bytes, 4 * area_bytes);
    EXPECT_EQ(heap_->usable_bytes(0), 0U);
    expect_sound();
}

TEST_F(HeapTest, returns_whether_a_block_is_allocated_and_kept) {
    make(4);
    for (const std::uint64_t bytes : {std::uint64_t{20}, std::uint64_t{100'000}}) {
        const Offset block = heap_->allocate(cache_, bytes);
        ASSERT_NE(block, no_block);
        EXPECT_FALSE(heap_->is_kept(block)) << "its caller may be killed";
        heap_->keep(cache_);
        EXPECT_TRUE(heap_->is_kept(block));
        EXPECT_EQ(heap_->free(cache_, block), Freed::done);
        EXPECT_FALSE(heap_->is_kept(block));
    }
}

TEST_F(HeapTest, blocks_of_all_sizes_lie_apart) {
    make(64);
    Blocks blocks;
    for (std::uint64_t bytes = 0; bytes < 3 * area_bytes; bytes += bytes / 3 + 1) {
        const Offset block = heap_->allocate(cache_, bytes);
        ASSERT_NE(block, no_block) << bytes;
        EXPECT_EQ(block % granule_bytes, 0U);
        EXPECT_GE(heap_->usable_bytes(block), bytes);
        ASSERT_TRUE(blocks.add(block, heap_->usable_bytes(block), heap_->limit_bytes())) << bytes;
    }
    EXPECT_EQ(usage().blocks, blocks.all().size());
    expect_sound();
    for (const auto& each : blocks.all()) EXPECT_EQ(heap_->free(cache_, each.first), Freed::done);
    heap_->let_go(cache_);
    EXPECT_EQ(usage().unit_bytes, 0U);
    expect_sound();
}

TEST_F(HeapTest, blocks_are_aligned_as_asked_for) {
    make(256);
    Blocks blocks;
    for (std::uint64_t alignment = 16; alignment <= 4 * area_bytes; alignment *= 2) {
        for (const std::uint64_t bytes : {1ULL, 24ULL, 100ULL, 5000ULL, 40000ULL, 1500000ULL}) {
            const Offset block = heap_->allocate(cache_, bytes, alignment);
            ASSERT_NE(block, no_block) << bytes << " at " << alignment;
            EXPECT_EQ(block % alignment, 0U);
            ASSERT_TRUE(blocks.add(block, heap_->usable_bytes(block), heap_->limit_bytes()));
            ASSERT_GE(heap_->usable_bytes(block), bytes);
        }
    }
    for (const auto& each : blocks.all()) EXPECT_EQ(heap_->free(cache_, each.first), Freed::done);
    expect_sound();
}

TEST_F(HeapTest, every_bad_free_is_refused_and_changes_nothing) {
    make(8);
    const Offset small = heap_->allocate(cache_, 100);
    const Offset large = heap_->allocate(cache_, 100'000);
    const Usage before = usage();
    EXPECT_EQ(heap_->free(cache_, small + 1), Freed::not_a_block);
    EXPECT_EQ(heap_->free(cache_, small + 16), Freed::not_a_block);
    EXPECT_EQ(heap_->free(cache_, large + 16), Freed::not_a_block);
    EXPECT_EQ(heap_->free(cache_, large + unit_bytes), Freed::not_a_block);
    EXPECT_EQ(heap_->free(cache_, heap_->limit_bytes()), Freed::outside);
    EXPECT_EQ(heap_->free(cache_, no_block), Freed::outside);
    EXPECT_EQ(heap_->free(cache_, 7 * area_bytes), Freed::not_allocated);
    // A place in the same span at which a block could begin, but none was allocated.
    EXPECT_EQ(heap_->free(cache_, small + size_classes[class_of(100)].block_bytes),
              Freed::not_allocated);
    EXPECT_EQ(usage().blocks, before.blocks);
    EXPECT_EQ(usage().block_bytes, before.block_bytes);
    for (const Offset block : {small, large}) {
        EXPECT_EQ(heap_->free(cache_, block), Freed::done);
        EXPECT_EQ(heap_->free(cache_, block), Freed::not_allocated);
        EXPECT_EQ(heap_->usable_bytes(block), 0U);
    }
    expect_sound();
}

TEST_F(HeapTest, a_full_heap_says_so_and_serves_again_after_frees) {
    make(4);
    std::vector<Offset> blocks;
    for (;;) {
        const Offset block = heap_->allocate(cache_, 1000);
        if (block == no_block) break;
        blocks.push_back(block);
    }
    EXPECT_GT(blocks.size() * 1000, heap_->limit_bytes() * 85 / 100);
    EXPECT_EQ(heap_->allocate(cache_, 16), no_block);
    EXPECT_EQ(heap_->allocate(cache_, heap_->limit_bytes()), no_block);
    EXPECT_EQ(heap_->free(cache_, blocks[blocks.size() / 2]), Freed::done);
    EXPECT_EQ(heap_->allocate(cache_, 1000), blocks[blocks.size() / 2]);
    for (const Offset block : blocks) EXPECT_EQ(heap_->free(cache_, block), Freed::done);
    EXPECT_NE(heap_->allocate(cache_, heap_->limit_bytes()), no_block);
    expect_sound();
}

TEST_F(HeapTest, one_block_may_be_the_whole_heap) {
    make(70);
    const Offset whole = heap_->allocate(cache_, heap_->limit_bytes());
    EXPECT_EQ(whole, 0U);
    EXPECT_EQ(heap_->usable_bytes(whole), heap_->limit_bytes());
    EXPECT_EQ(heap_->allocate(cache_, 1), no_block);
    EXPECT_EQ(heap_->allocate(cache_, heap_->limit_bytes() + 1), no_block);
    EXPECT_EQ(heap_->allocate(cache_, ~0ULL), no_block);
    EXPECT_EQ(heap_->free(cache_, whole), Freed::done);
    expect_sound();
}

// Each class with an allocated block has a span, and a MiB has room for few. The figures are those
// of acp_malloc(3).
TEST_F(HeapTest, a_small_heap_has_room_for_blocks_of_many_sizes) {
    struct Expected {
        std::uint32_t areas;
        std::uint64_t most_bytes;
        std::uint64_t percent;
    };

    for (const Expected& expected :
         {Expected{1, 1'024, 60}, Expected{1, 32'768, 50}, Expected{4, 1'024, 85},
          Expected{4, 32'768, 70}, Expected{16, 32'768, 80}}) {
        acp::test::Random random(expected.areas * expected.most_bytes);
        for (int round = 0; round < 20; ++round) {
            make(expected.areas);
            ThreadCache cache{1};
            std::uint64_t bytes = 0;
            while (true) {
                const std::uint64_t next = 1 + random.below(expected.most_bytes);
                if (heap_->allocate(cache, next) == no_block) break;
                bytes += next;
            }
            EXPECT_GE(bytes * 100, heap_->limit_bytes() * expected.percent)
                << expected.areas << " MiB, blocks of at most " << expected.most_bytes;
            expect_sound();
        }
    }
}

TEST_F(HeapTest, memory_of_whole_areas_is_given_back) {
    make(64);
    const Offset block = heap_->allocate(cache_, 40 * area_bytes);
    EXPECT_EQ(usage().backed_bytes, 40 * area_bytes);
    EXPECT_EQ(heap_->free(cache_, block), Freed::done);
    EXPECT_GE(given_back_, 30 * area_bytes);
    EXPECT_EQ(usage().backed_bytes, 40 * area_bytes - given_back_);
    given_back_ = 0;
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(heap_->free(cache_, heap_->allocate(cache_, area_bytes)), Freed::done);
    }
    EXPECT_EQ(given_back_, 0U);  // a few areas are kept for the next block
    expect_sound();
}

// Other caches free blocks while this cache holds their span, and after it has released it.
TEST_F(HeapTest, a_cache_frees_what_another_allocated) {
    make(16);
    ThreadCache other(1);
    std::vector<Offset> blocks;
    for (int i = 0; i < 20'000; ++i) blocks.push_back(heap_->allocate(cache_, 64));
    for (std::size_t i = 0; i < blocks.size(); i += 2) {
        EXPECT_EQ(heap_->free(other, blocks[i]), Freed::done);
    }
    const std::uint64_t units = usage().unit_bytes;
    for (int i = 0; i < 9'000; ++i) ASSERT_NE(heap_->allocate(cache_, 64), no_block);
    EXPECT_EQ(usage().unit_bytes, units);  // the freed ones were found again
    heap_->let_go(cache_);
    for (int i = 0; i < 900; ++i) ASSERT_NE(heap_->allocate(other, 64), no_block);
    EXPECT_EQ(usage().unit_bytes, units);
    expect_sound();
}

TEST_F(HeapTest, agrees_with_a_model_over_a_million_operations) {
    make(64);
    test::Random random(7);
    std::array<ThreadCache, 3> caches_here{ThreadCache{0}, ThreadCache{1}, ThreadCache{2}};
    Blocks blocks;
    std::vector<Offset> order;
    std::uint64_t bytes_live = 0;
    for (int i = 0; i < 1'000'000; ++i) {
        ThreadCache& cache = caches_here[random.below(3)];
        const bool is_growing = bytes_live < heap_->limit_bytes() / 2 && random.below(100) < 55;
        if (is_growing || order.empty()) {
            const std::uint64_t bytes =
                random.below(200) == 0 ? random.below(500'000) : random.below(2'000);
            const Offset block = heap_->allocate(cache, bytes);
            ASSERT_NE(block, no_block);
            const std::uint64_t usable = heap_->usable_bytes(block);
            ASSERT_GE(usable, bytes);
            ASSERT_TRUE(blocks.add(block, usable, heap_->limit_bytes()));
            order.push_back(block);
            bytes_live += usable;
        } else {
            const std::size_t which = random.below(order.size());
            const Offset block = std::exchange(order[which], order.back());
            order.pop_back();
            bytes_live -= blocks.all()[block];
            blocks.remove(block);
            ASSERT_EQ(heap_->free(cache, block), Freed::done);
        }
        if (i % 100'000 == 0) {
            EXPECT_EQ(usage().blocks, order.size());
            EXPECT_EQ(usage().block_bytes, bytes_live);
            expect_sound();
        }
    }
    for (const Offset block : order) ASSERT_EQ(heap_->free(cache_, block), Freed::done);
    for (ThreadCache& cache : caches_here) heap_->let_go(cache);
    EXPECT_EQ(usage().unit_bytes, 0U);
    expect_sound();
}

// A program that allocates and frees at random sizes with a heap that is 70 % full.
class HeapWaste : public HeapTest, public testing::WithParamInterface<std::uint32_t> {};

TEST_P(HeapWaste, is_little_after_many_random_operations) {
    make(GetParam());
    test::Random random(11);
    std::vector<std::pair<Offset, std::uint64_t>> live;
    std::uint64_t asked = 0;
    const std::uint64_t wanted = heap_->limit_bytes() * 7 / 10;
    for (int i = 0; i < 4'000'000; ++i) {
        if (asked < wanted) {
            const std::uint64_t bytes = 1 + random.below(32'768) / (1 + random.below(64));
            const Offset block = heap_->allocate(cache_, bytes);
            ASSERT_NE(block, no_block) << asked;
            live.emplace_back(block, bytes);
            asked += bytes;
        } else {
            const std::size_t which = random.below(live.size());
            const auto [block, bytes] = std::exchange(live[which], live.back());
            live.pop_back();
            ASSERT_EQ(heap_->free(cache_, block), Freed::done);
            asked -= bytes;
        }
    }
    const auto used = static_cast<double>(usage().unit_bytes);
    const double waste = (used - static_cast<double>(asked)) / static_cast<double>(asked);
    RecordProperty("waste_percent", static_cast<int>(waste * 100));
    EXPECT_LE(waste, 0.15);
    expect_sound();
}

INSTANTIATE_TEST_SUITE_P(Areas, HeapWaste, testing::Values(128, 512));

TEST_F(HeapTest, smashed_words_are_found) {
    make(8);
    std::vector<Offset> blocks;
    for (int i = 0; i < 5'000; ++i) blocks.push_back(heap_->allocate(cache_, 200));
    blocks.push_back(heap_->allocate(cache_, 3 * area_bytes));
    expect_sound();
    test::Random random(3);
    const Control<>& control = heap_->control();
    int found = 0;
    constexpr int tries = 400;
    for (int i = 0; i < tries; ++i) {
        const Offset block = blocks[random.below(blocks.size())];
        auto& word = control.unit(static_cast<std::uint32_t>(block >> unit_shift));
        const std::uint64_t before = word.load(std::memory_order_relaxed);
        const std::uint64_t junk = random.next() | 1;
        if (junk == before) continue;
        word.store(junk, std::memory_order_relaxed);
        found += findings_of(control).empty() ? 0 : 1;
        (void)heap_->usable_bytes(block);  // neither reads outside
        word.store(before, std::memory_order_relaxed);
    }
    EXPECT_GE(found, tries * 99 / 100);
    expect_sound();
}

// As if the process that makes or frees the block were stopped.
TEST_F(HeapTest, a_run_that_is_being_made_or_freed_is_not_damaged) {
    make(4);
    const Offset block = heap_->allocate(cache_, 5 * unit_bytes);
    ASSERT_NE(block, no_block);
    const Control<>& control = heap_->control();
    auto& head = control.unit(static_cast<std::uint32_t>(block >> unit_shift));
    const std::uint64_t before = head.load(std::memory_order_relaxed);
    for (const UnitState state : {UnitState::opening, UnitState::freeing}) {
        head.store(UnitWord{state, no_size_class, 0, 1, 5}.packed(), std::memory_order_relaxed);
        EXPECT_TRUE(findings_of(control).empty()) << findings_of(control).front();
        EXPECT_EQ(usage().unit_bytes, 5 * unit_bytes);
        head.store(UnitWord{state, no_size_class, 0, 1, 5'000}.packed(), std::memory_order_relaxed);
        EXPECT_EQ(findings_of(control).size(), 5U) << "longer than the heap, and four parts";
    }
    head.store(before, std::memory_order_relaxed);
    expect_sound();
}

// Visits the heap in pieces, which end in spans and in the middle of long blocks.
TEST_F(HeapTest, the_pieces_of_a_walk_find_what_a_whole_walk_finds) {
    make(1'000);
    std::vector<Offset> blocks;
    for (std::uint64_t i = 0; i < 5'000; ++i)
        blocks.push_back(heap_->allocate(cache_, 1 + i % 7 * 4'000));
    blocks.push_back(heap_->allocate(cache_, 300 * area_bytes + 5));
    blocks.push_back(heap_->allocate(cache_, 200 * area_bytes));
    const Control<>& control = heap_->control();
    const auto walk = [&](std::uint32_t& pieces) {
        Usage sum;
        for (HeapPlace place; place.unit < control.shape().units(); ++pieces) {
            HeapPlace checked = place;
            const UnitFinding finding = finding_in_piece(control, checked);
            EXPECT_EQ(finding.unit, HeapPlace::no_head) << finding.what;
            sum += usage_of_piece(control, place);
            EXPECT_EQ(checked.unit, place.unit);
            EXPECT_EQ(checked.head, place.head);
        }
        return sum;
    };
    std::uint32_t pieces = 0;
    const Usage sum = walk(pieces);
    const Usage whole = usage();
    EXPECT_EQ(sum.blocks, whole.blocks);
    EXPECT_EQ(sum.block_bytes, whole.block_bytes);
    EXPECT_EQ(sum.unit_bytes, whole.unit_bytes);
    EXPECT_EQ(sum.limit_bytes, whole.limit_bytes);
    EXPECT_EQ(sum.backed_bytes, whole.backed_bytes);
    EXPECT_GE(pieces, 500 * area_units / piece_words_most);
}

// A block that a walk was visiting is freed, and another one is allocated there.
TEST_F(HeapTest, a_walk_continues_where_a_long_block_was) {
    make(200);
    const Offset block = heap_->allocate(cache_, 150 * area_bytes);
    const Control<>& control = heap_->control();
    HeapPlace place;
    (void)usage_of_piece(control, place);
    ASSERT_EQ(place.head, block >> unit_shift);
    ASSERT_EQ(heap_->free(cache_, block), Freed::done);
    const auto expect_nothing = [&] {
        for (HeapPlace rest = place; rest.unit < control.shape().units();) {
            const UnitFinding finding = finding_in_piece(control, rest);
            EXPECT_EQ(finding.unit, HeapPlace::no_head) << finding.what;
        }
    };
    expect_nothing();
    ASSERT_EQ(heap_->allocate(cache_, 10 * area_bytes), block);
    ASSERT_NE(heap_->allocate(cache_, 180 * area_bytes), no_block);
    expect_nothing();
}

TEST_F(HeapTest, any_place_is_one_where_a_walk_continues) {
    make(8);
    for (int i = 0; i < 100; ++i) ASSERT_NE(heap_->allocate(cache_, 20'000), no_block);
    const Control<>& control = heap_->control();
    for (const std::uint32_t head : {0U, 5U, control.shape().units(), ~0U, ~0U - 1}) {
        for (const std::uint32_t unit : {0U, 5U, 511U, control.shape().units(), ~0U}) {
            HeapPlace place{unit, head};
            (void)usage_of_piece(control, place);
            EXPECT_GE(place.unit, std::min(unit, control.shape().units()));
        }
    }
}

TEST_F(HeapTest, the_memory_of_freed_blocks_is_given_back_later) {
    make(100);
    heap_->give_back_later();
    const Offset one = heap_->allocate(cache_, 30 * area_bytes);
    const Offset other = heap_->allocate(cache_, 40 * area_bytes);
    ASSERT_NE(other, no_block);
    EXPECT_FALSE(heap_->has_to_give_back());
    ASSERT_EQ(heap_->free(cache_, one), Freed::done);
    ASSERT_EQ(heap_->free(cache_, other), Freed::done);
    EXPECT_EQ(given_back_, 0U);
    EXPECT_EQ(usage().unit_bytes, 0U) << "their units are free at once";
    std::uint64_t before = 0;
    while (heap_->has_to_give_back()) {
        heap_->idle_memory().give_back_one(cache_, 0);
        ASSERT_EQ(given_back_, before + area_bytes);
        before = given_back_;
    }
    EXPECT_EQ(usage().backed_bytes, 70 * area_bytes - given_back_);
    EXPECT_GE(given_back_, 60 * area_bytes);
    heap_->idle_memory().give_back_one(cache_, 0);
    EXPECT_EQ(given_back_, before) << "what is kept stays";
    EXPECT_NE(heap_->allocate(cache_, 100 * area_bytes), no_block);
}

TEST_F(HeapTest, no_memory_is_given_back_while_a_thread_looks_for_room) {
    make(100);
    heap_->give_back_later();
    const Offset block = heap_->allocate(cache_, 90 * area_bytes);
    ASSERT_EQ(heap_->free(cache_, block), Freed::done);
    EXPECT_TRUE(heap_->idle_memory().hold(500));
    heap_->idle_memory().give_back_one(cache_, 499);
    EXPECT_EQ(given_back_, 0U);
    heap_->idle_memory().give_back_one(cache_, 500);
    EXPECT_EQ(given_back_, area_bytes);
    heap_->control().is_giving_back().store(
        1, std::memory_order_relaxed);  // a call gives an area back
    EXPECT_FALSE(heap_->idle_memory().hold(600));
    EXPECT_TRUE(heap_->idle_memory().is_giving_back());
}

// The test leaves the count of processes that were killed while they counted idle areas.
TEST_F(HeapTest, a_wrong_count_of_idle_areas_is_corrected) {
    make(100);
    heap_->give_back_later();
    heap_->control().idle_areas().store(50, std::memory_order_relaxed);
    ASSERT_TRUE(heap_->has_to_give_back());
    heap_->idle_memory().give_back_one(cache_, 0);
    EXPECT_FALSE(heap_->has_to_give_back());
    EXPECT_EQ(given_back_, 0U);
}

}  // namespace
}  // namespace acp::heap
