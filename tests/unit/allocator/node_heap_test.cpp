// SPDX-License-Identifier: BSD-3-Clause
// The heap of a process in the node segment: unfinished work of dead processes is completed, and a
// cleared heap is empty.
#include "allocator/node_heap.hpp"

#include <gtest/gtest.h>
#include <vector>

#include "node/death.hpp"

#include "unit/local/test_owner.hpp"

namespace acp::allocator::test {
namespace {

constexpr std::uint64_t heap_bytes = 4 * heap::area_bytes;

TEST(NodeHeapTest, takes_back_what_a_process_that_is_gone_held) {
    for (const bool has_left : {false, true}) {
        const node::Segment node = local::test::make_node(2, 2, heap_bytes);
        local::test::Owner survivor(node, 0);
        local::test::Owner gone(node, 1);
        NodeHeap of_gone(gone.segment, 0, gone.hazards);
        // The state that a process leaves that is killed in a call: its cache at work, with spans
        // of all sizes.
        heap::Offset kept = heap::no_block;
        for (std::uint64_t bytes = 16; bytes <= 32'768; bytes *= 2) {
            kept = of_gone.allocate(0, bytes, alignment_least);
        }
        ASSERT_NE(kept, heap::no_block);
        const node::Shape shape = node.shape();
        const heap::Control<> control(node.claimed(0, heap_words), heap_words_of(shape).shape());
        control.cache(heap::caches_of(1).first).is_at_work.store(1);
        NodeHeap heap(survivor.segment, 0, survivor.hazards);
        const std::uint64_t before = heap::usage_of(control).unit_bytes;
        EXPECT_EQ(heap.usage(0).unit_bytes, before) << "it lives";
        if (has_left) {
            node.slot(1).state.store(static_cast<std::uint32_t>(node::SlotState::left));
        } else {
            node::mark_dead(node, 1, 9);
        }
        EXPECT_EQ(heap.usage(0).blocks, 12U) << "blocks stay";
        EXPECT_EQ(heap.free(0, kept), heap::Freed::done);
        EXPECT_LT(heap.usage(0).unit_bytes, before);
    }
}

// A survivor that checks the cache while another process has it must check again later, since that
// process may be killed before it has finished.
TEST(NodeHeapTest, a_cache_that_a_dead_process_had_taken_over_is_freed) {
    const node::Segment node = local::test::make_node(4, 4, heap_bytes);
    local::test::Owner survivor(node, 2);
    const heap::CachePlaces places(node.claimed(0, heap_words) +
                                   heap_words_of(node.shape()).caches_at());
    const heap::CacheNumber idle = heap::caches_of(0).first;
    const heap::CacheNumber dead = heap::caches_of(1).first;
    const heap::CacheNumber other = heap::caches_of(3).first;
    ASSERT_NE(places.take_over(idle, dead), nullptr);
    node::mark_dead(node, 1, 9);
    const heap::CacheTaker of_dead = places.taker_of(idle);
    ASSERT_NE(places.take_over(idle, other, of_dead), nullptr);
    NodeHeap heap(survivor.segment, 0, survivor.hazards);
    (void)heap.usage(0);
    EXPECT_EQ(places.taker_of(idle).number, other + 1U) << "it lives";
    places.let_go(idle, of_dead);
    (void)heap.usage(0);
    EXPECT_EQ(places.taker_of(idle).number, 0U);
}

// The second process dies too.
TEST(NodeHeapTest, a_cache_that_two_dead_processes_had_taken_over_is_freed) {
    const node::Segment node = local::test::make_node(4, 4, heap_bytes);
    local::test::Owner survivor(node, 2);
    const heap::CachePlaces places(node.claimed(0, heap_words) +
                                   heap_words_of(node.shape()).caches_at());
    const heap::CacheNumber idle = heap::caches_of(0).first;
    ASSERT_NE(places.take_over(idle, heap::caches_of(1).first), nullptr);
    ASSERT_NE(places.take_over(idle, heap::caches_of(3).first, places.taker_of(idle)), nullptr);
    node::mark_dead(node, 1, 9);
    node::mark_dead(node, 3, 9);
    NodeHeap heap(survivor.segment, 0, survivor.hazards);
    (void)heap.usage(0);
    EXPECT_EQ(places.taker_of(idle).number, 0U);
}

TEST(NodeHeapTest, a_reused_block_has_no_trace_of_its_last_free) {
    const node::Segment node = local::test::make_node(1, 1, heap_bytes);
    local::test::Owner owner(node, 0);
    NodeHeap heap(owner.segment, 0, owner.hazards);
    for (const std::uint64_t bytes :
         {std::uint64_t{1}, std::uint64_t{900}, std::uint64_t{70'000}}) {
        const heap::Offset block = heap.allocate(0, bytes, alignment_least);
        auto* const words =
            reinterpret_cast<std::uint64_t*>(node.claimed(0, node::heap_blocks) + block);
        heap.note_signed(block);
        words[0] = words[1] = ~std::uint64_t{0};
        ASSERT_EQ(heap.free(0, block), heap::Freed::done);
        ASSERT_EQ(heap.allocate(0, bytes, alignment_least), block);
        EXPECT_EQ(words[0], 0U);
        EXPECT_EQ(words[1], 0U);
        EXPECT_EQ(heap.free(0, block), heap::Freed::done);
    }
}

TEST(NodeHeapTest, a_separate_block_is_freed_as_such_and_a_part_by_its_container_alone) {
    const node::Segment node = local::test::make_node(1, 1, heap_bytes);
    local::test::Owner owner(node, 0);
    NodeHeap heap(owner.segment, 0, owner.hazards);
    for (const std::uint64_t bytes :
         {std::uint64_t{1}, std::uint64_t{900}, std::uint64_t{70'000}}) {
        const heap::Offset block = heap.allocate(0, bytes, alignment_least, BlockOwner::separate);
        ASSERT_NE(block, heap::no_block);
        EXPECT_EQ(heap.free(0, block), heap::Freed::of_container);
        EXPECT_EQ(heap.usable_bytes(block), 0U);
        EXPECT_EQ(heap.free(0, block, BlockOwner::separate), heap::Freed::done);
        EXPECT_EQ(heap.free(0, block), heap::Freed::not_allocated) << "it is nobody's";
        ASSERT_EQ(heap.allocate(0, std::max<std::uint64_t>(bytes, 32), alignment_least), block);
        EXPECT_GE(heap.usable_bytes(block), bytes);
        heap.own(block);
        EXPECT_EQ(heap.free(0, block), heap::Freed::of_container) << "it was given away";
        EXPECT_EQ(heap.free(0, block, BlockOwner::separate), heap::Freed::of_container);
    }
}

// Calls at once, on a heap of one process.
class AtOnceTest : public testing::Test {
protected:
    static constexpr std::uint32_t thread = 3;

    [[nodiscard]] heap::Offset allocate(BlockOwner owner = BlockOwner::program) {
        return heap_.allocate(thread, 64, alignment_least, owner);
    }

    const node::Segment node_ = local::test::make_node(1, 1, heap_bytes);
    local::test::Owner owner_{node_, 0};
    NodeHeap heap_{owner_.segment, 0, owner_.hazards};
    const heap::Control<> control_{node_.claimed(0, heap_words),
                                   heap_words_of(node_.shape()).shape()};
    const heap::CachePlaces places_{node_.claimed(0, heap_words) +
                                    heap_words_of(node_.shape()).caches_at()};
    const heap::CacheNumber own_ = heap::caches_of(0).first + thread;
};

TEST_F(AtOnceTest, allocates_from_the_span_that_the_cache_holds) {
    EXPECT_EQ(heap_.allocate_at_once(thread, 64), heap::no_block) << "the cache holds none";
    const heap::Offset first = allocate();
    const heap::Offset second = heap_.allocate_at_once(thread, 64);
    ASSERT_NE(second, heap::no_block);
    EXPECT_NE(second, first);
    EXPECT_EQ(heap_.usable_bytes(second), 64U);
    EXPECT_EQ(heap_.usage(thread).blocks, 2U);
    EXPECT_EQ(control_.cache(own_).pending.load(), 0U) << "the block is kept";
    EXPECT_EQ(control_.cache(own_).is_at_work.load(), 0U);
    EXPECT_EQ(heap_.allocate_at_once(thread, 100'000), heap::no_block) << "a large block";
    EXPECT_TRUE(heap_.free_at_once(thread, second));
    EXPECT_EQ(heap_.usage(thread).blocks, 1U);
    EXPECT_EQ(heap_.allocate_at_once(thread, 64), second);
}

TEST_F(AtOnceTest, gives_the_blocks_of_a_span_and_no_more) {
    std::uint64_t blocks = 1;
    const heap::Offset first = allocate();
    for (; heap_.allocate_at_once(thread, 64) != heap::no_block; ++blocks) {
    }
    EXPECT_EQ(blocks, control_.size(heap::class_of(64)).blocks);
    EXPECT_EQ(heap_.usage(thread).blocks, blocks);
    EXPECT_NE(heap_.usable_bytes(first), 0U);
}

TEST_F(AtOnceTest, leaves_bad_frees_to_the_call_that_says_why) {
    const heap::Offset block = allocate();
    EXPECT_FALSE(heap_.free_at_once(thread, block + heap::granule_bytes));
    EXPECT_FALSE(heap_.free_at_once(thread, heap_bytes));
    EXPECT_FALSE(heap_.free_at_once(thread, heap::no_block));
    EXPECT_TRUE(heap_.free_at_once(thread, block));
    EXPECT_FALSE(heap_.free_at_once(thread, block)) << "twice";
    EXPECT_EQ(heap_.free(thread, block), heap::Freed::not_allocated);
    EXPECT_EQ(heap_.usage(thread).blocks, 0U);
}

TEST_F(AtOnceTest, does_nothing_with_a_cache_that_a_call_or_another_thread_has) {
    const heap::Offset block = allocate();
    const auto expect_nothing = [&](std::uint32_t by) {
        EXPECT_EQ(heap_.allocate_at_once(by, 64), heap::no_block);
        EXPECT_FALSE(heap_.free_at_once(by, block));
    };
    expect_nothing(heap::threads_with_cache);
    {
        const NodeHeap::Lease interrupted(heap_, thread);
        expect_nothing(thread);
    }
    ASSERT_NE(places_.take_over(own_, own_ + 1), nullptr);
    expect_nothing(thread);
    places_.let_go(own_);
    EXPECT_NE(heap_.allocate_at_once(thread, 64), heap::no_block);
    EXPECT_TRUE(heap_.free_at_once(thread, block));
}

TEST_F(AtOnceTest, frees_no_part_of_a_container_and_wipes_what_one_has_signed) {
    const heap::Offset part = allocate(BlockOwner::container);
    EXPECT_FALSE(heap_.free_at_once(thread, part));
    EXPECT_EQ(heap_.free(thread, part), heap::Freed::of_container);
    const heap::Offset block = allocate();
    auto* const words =
        reinterpret_cast<std::uint64_t*>(node_.claimed(0, node::heap_blocks) + block);
    heap_.note_signed(block);
    words[0] = words[1] = ~std::uint64_t{0};
    ASSERT_EQ(heap_.free(thread, block), heap::Freed::done);
    ASSERT_EQ(heap_.allocate_at_once(thread, 64), block);
    EXPECT_EQ(words[0], 0U);
    EXPECT_EQ(words[1], 0U);
}

// The last block of a span that no cache holds makes units of it.
TEST_F(AtOnceTest, frees_blocks_of_spans_that_no_cache_holds) {
    std::vector<heap::Offset> blocks;
    for (int i = 0; i < 3'000; ++i) blocks.push_back(allocate());
    const std::uint64_t before = heap_.usage(thread).unit_bytes;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        EXPECT_TRUE(heap_.free_at_once(thread, blocks[i * 7 % blocks.size()]));
    }
    const heap::Usage usage = heap_.usage(thread);
    EXPECT_EQ(usage.blocks, 0U);
    EXPECT_LE(usage.unit_bytes * 4, before);
    for (heap::HeapPlace place; !heap_.is_end(place);)
        EXPECT_EQ(heap_.finding_in_piece(thread, place).unit, heap::HeapPlace::no_head);
}

TEST(NodeHeapTest, is_empty_when_it_was_cleared) {
    const node::Segment node = local::test::make_node(1, 1, heap_bytes);
    local::test::Owner owner(node, 0);
    NodeHeap heap(owner.segment, 0, owner.hazards);
    for (int i = 0; i < 100; ++i) EXPECT_NE(heap.allocate(0, 3'000, 64), heap::no_block);
    const std::uint64_t resident = local::test::resident_bytes(node);
    NodeHeap::clear(node, 0);
    EXPECT_LT(local::test::resident_bytes(node), resident);
    EXPECT_EQ(heap.usage(0).unit_bytes, 0U);
    EXPECT_NE(heap.allocate(0, heap_bytes, alignment_least), heap::no_block);
}

}  // namespace
}  // namespace acp::allocator::test
