// SPDX-License-Identifier: BSD-3-Clause
// Vectors and deques in the node segment: used by threads of several processes at once, taken over
// from a stopped holder, and recovered with the heap.
#include "allocator/node_sequences.hpp"

#include <gtest/gtest.h>
#include <string>

#include "node/death.hpp"

#include "unit/local/test_owner.hpp"

namespace acp::allocator::test {
namespace {

using sequence::ContentEnd;
using sequence::SequenceEffect;
using sequence::SequenceKind;

constexpr std::uint64_t heap_bytes = 16 * heap::area_bytes;

class NodeSequencesTest : public testing::Test {
protected:
    table::BlockNumber make() {
        NodeSequences sequences(heap_, 0);
        const table::BlockNumber made = sequences->make(SequenceKind::deque, 0, 0);
        sequences->keep();
        return made;
    }

    static SequenceEffect push(NodeHeap& heap, table::BlockNumber in, const std::string& text) {
        NodeSequences sequences(heap, 0);
        std::uint64_t index = 0;
        return sequences->push(in, ContentEnd::back, text.data(), text.size(), index);
    }

    static std::string read(NodeHeap& heap, table::BlockNumber in) {
        NodeSequences sequences(heap, 0);
        std::string found(100'000, '\0');
        sequence::Portion portion;
        EXPECT_EQ(sequences->read(in, 0, found.data(), found.size(), portion),
                  SequenceEffect::done);
        found.resize(portion.bytes);
        return found;
    }

    // The state that a process leaves that is stopped for ever while it holds the sequence.
    void hold_by_other(table::BlockNumber in) {
        NodeHeap::Lease lease(of_other_, 0);
        HeapBlocks blocks(of_other_, lease.cache());
        NodeOthers others(of_other_);
        const sequence::SequenceGround<std::atomic> ground(
            blocks, others, of_other_.sequence_participants(), lease.cache().number());
        const sequence::Reservation<std::atomic> reservation(ground);
        ground.shown().head.store(in, std::memory_order_relaxed);
        sequence::ContentView view;
        ASSERT_TRUE(reservation.look(ground.head(in), view));
        ASSERT_TRUE(reservation.hold(ground.head(in), view));
    }

    node::Segment node_ = local::test::make_node(2, 2, heap_bytes);
    local::test::Owner one_{node_, 0};
    local::test::Owner other_{node_, 1};
    NodeHeap heap_{one_.segment, 0, one_.hazards};
    NodeHeap of_other_{other_.segment, 0, other_.hazards};
};

TEST_F(NodeSequencesTest, are_the_same_for_all_processes_of_a_node) {
    const table::BlockNumber in = make();
    std::string expected;
    for (int i = 0; i < 2'000; ++i) {
        const std::string text = std::to_string(i) + " ";
        ASSERT_EQ(push(i % 2 == 0 ? heap_ : of_other_, in, text), SequenceEffect::done);
        expected += text;
    }
    EXPECT_EQ(read(heap_, in), expected);
    EXPECT_EQ(read(of_other_, in), expected);
    EXPECT_TRUE(NodeSequences(of_other_, 0).destroy(in, SequenceKind::deque));
    EXPECT_EQ(heap_.usage(0).blocks, 0U);
}

TEST_F(NodeSequencesTest, one_that_does_not_move_is_taken_over_and_freed_when_it_is_gone) {
    const table::BlockNumber in = make();
    EXPECT_EQ(push(of_other_, in, "before "), SequenceEffect::done);
    hold_by_other(in);
    EXPECT_EQ(read(heap_, in), "before ");
    EXPECT_EQ(push(heap_, in, "after"), SequenceEffect::done);
    EXPECT_EQ(read(heap_, in), "before after");
    EXPECT_EQ(heap_.usage(0).blocks, 3U) << "the other one may still write into its body";
    node::mark_dead(node_, 1, 9);
    EXPECT_EQ(heap_.usage(0).blocks, 2U);
    EXPECT_TRUE(heap_.sequence_participants()[heap::caches_of(1).first].is_unused());
    EXPECT_EQ(read(heap_, in), "before after");
    EXPECT_TRUE(NodeSequences(heap_, 0).destroy(in, SequenceKind::deque));
    EXPECT_EQ(heap_.usage(0).blocks, 0U);
}

TEST_F(NodeSequencesTest, a_bound_call_takes_nothing_over_from_a_process_that_may_live) {
    const table::BlockNumber in = make();
    EXPECT_EQ(push(of_other_, in, "before"), SequenceEffect::done);
    hold_by_other(in);
    const auto push_bound = [&](bool is_bound) {
        NodeSequences sequences(heap_, 0);
        sequences.bound(1'000);
        if (!is_bound) sequences->unbound();
        std::uint64_t index = 0;
        return sequences->push(in, ContentEnd::back, ", after", 7, index);
    };
    EXPECT_EQ(push_bound(true), SequenceEffect::busy);
    EXPECT_EQ(read(heap_, in), "before");
    EXPECT_EQ(heap_.usage(0).blocks, 2U) << "no copy was made";
    EXPECT_EQ(push_bound(false), SequenceEffect::done);
    EXPECT_EQ(read(heap_, in), "before, after");
    node::mark_dead(node_, 1, 9);
    EXPECT_EQ(push_bound(true), SequenceEffect::done);
    EXPECT_TRUE(NodeSequences(heap_, 0).destroy(in, SequenceKind::deque));
    EXPECT_EQ(heap_.usage(0).blocks, 0U);
}

TEST_F(NodeSequencesTest, what_a_process_that_is_gone_held_is_not_waited_for) {
    const table::BlockNumber in = make();
    hold_by_other(in);
    node::mark_dead(node_, 1, 9);
    EXPECT_EQ(push(heap_, in, "at once"), SequenceEffect::done);
    EXPECT_EQ(heap_.usage(0).blocks, 2U) << "no copy was needed";
    EXPECT_TRUE(NodeSequences(heap_, 0).destroy(in, SequenceKind::deque));
    EXPECT_EQ(heap_.usage(0).blocks, 0U);
}

TEST_F(NodeSequencesTest, finds_room_that_a_process_that_is_gone_held) {
    const table::BlockNumber in = make();
    {
        NodeHeap::Lease lease(of_other_, 0);
        HeapBlocks blocks(of_other_, lease.cache());
        auto& gone = of_other_.sequence_participants()[lease.cache().number()];
        ASSERT_NE(blocks.allocate(gone.made, 12 * heap::area_bytes, 16), 0U);
    }
    const std::string text(8 * heap::area_bytes, 't');
    const auto push_long = [&] {
        NodeSequences sequences(heap_, 0);
        std::uint64_t index = 0;
        return sequences.with_room(
            [&] { return sequences->push(in, ContentEnd::back, text.data(), text.size(), index); });
    };
    EXPECT_EQ(push_long(), SequenceEffect::no_room);
    node::mark_dead(node_, 1, 9);
    EXPECT_EQ(push_long(), SequenceEffect::done);
    EXPECT_TRUE(NodeSequences(heap_, 0).destroy(in, SequenceKind::deque));
    EXPECT_EQ(heap_.usage(0).blocks, 0U);
}

}  // namespace
}  // namespace acp::allocator::test
