// SPDX-License-Identifier: BSD-3-Clause
// ReserveNode lends a block for a node: InsertElement links it, TakeBackBlock frees it, and so does
// the recovery of a dead process. InsertElement refuses every other block.
#include <cstdint>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <string_view>

#include "allocator/list_operations.hpp"
#include "unit/local/test_owner.hpp"

namespace acp::allocator::test {
namespace {

using base::Code;
using list::ListEffect;
using list::Position;

constexpr std::uint64_t reserved_heap_bytes = heap::area_bytes;

class ListReservationTest : public testing::Test {
protected:
    template <typename Operation>
    Code run(const typename Operation::Input& input,
             typename Operation::Output& output,
             std::string_view tail = {}) {
        local::OperationContext context(owner_.space, owner_.hazards, *owner_.hazards.own_line(),
                                        0);
        typename Operation::Owner owner(context);
        local::ResultTail none;
        local::OperationReply<typename Operation::Output> reply{output, none};
        const local::OperationCall<typename Operation::Input> call{
            input, std::as_bytes(std::span(tail.data(), tail.size()))};
        const Code checked = Operation::check(call, local::owner_shape(owner_.space, 0));
        return checked == Code::ok ? Operation::run(owner, call, reply) : checked;
    }

    std::uint64_t make() {
        MadeList made;
        EXPECT_EQ(run<MakeList>({}, made), Code::ok);
        return made.list;
    }

    ListReserved reserve(std::uint64_t list, const Position& before, std::uint64_t bytes) {
        ListReserved reserved;
        EXPECT_EQ(run<ReserveNode>({list, before, bytes, 1}, reserved), Code::ok);
        return reserved;
    }

    Code insert(std::uint64_t list,
                const Position& before,
                const LentBlock& node,
                std::string_view text) {
        return run<InsertElement>(
            {list, before, 0, 0, NodeHeap::nobody, node.address, node.process}, placed_, text);
    }

    [[nodiscard]] heap::Offset block_of(const LentBlock& block) const {
        return block.address - owner_.space.claimed_address(0, node::heap_blocks);
    }

    std::uint64_t size(std::uint64_t list) {
        ListCount count;
        EXPECT_EQ(run<CountElements>({list}, count), Code::ok);
        return count.elements;
    }

    std::uint64_t blocks() { return NodeHeap(node_, 0, owner_.hazards).usage(0).blocks; }

    node::Segment node_ = local::test::make_node(2, 2, reserved_heap_bytes);
    local::test::Owner owner_{node_, 0};
    ListPlaced placed_;
};

TEST_F(ListReservationTest, a_reserved_node_is_linked_in_a_full_heap) {
    const std::uint64_t list = make();
    const ListReserved reserved = reserve(list, {}, 500);
    ASSERT_EQ(reserved.effect, ListEffect::done);
    const std::string text(500, 't');
    while (insert(list, {}, {}, text) == Code::ok && placed_.effect == ListEffect::done) {
    }
    EXPECT_EQ(placed_.effect, ListEffect::no_room);
    EXPECT_EQ(reserve(list, {}, 500).effect, ListEffect::no_room);
    const std::uint64_t before = size(list);
    EXPECT_EQ(insert(list, {}, reserved.node, text), Code::ok);
    EXPECT_EQ(placed_.effect, ListEffect::done);
    EXPECT_EQ(size(list), before + 1);
    // The list owns the block, and the loan has ended.
    EXPECT_EQ(insert(list, {}, reserved.node, text), Code::address);
    local::Nothing nothing;
    EXPECT_EQ(run<TakeBackBlock>(reserved.node, nothing), Code::stale);
    while (size(list) != 0) {
        ListErased erased;
        ASSERT_EQ(run<ClearList>({list, list_members_max}, erased), Code::ok);
    }
    EXPECT_EQ(blocks(), 1U);  // the list
}

TEST_F(ListReservationTest, a_node_that_could_not_be_linked_stays_on_loan) {
    const std::uint64_t list = make();
    ASSERT_EQ(insert(list, {}, {}, "gone"), Code::ok);
    const Position gone = placed_.at;
    const ListReserved reserved = reserve(list, gone, 8);
    ASSERT_EQ(reserved.effect, ListEffect::done);
    ListErased erased;
    ASSERT_EQ(run<ClearList>({list, 1}, erased), Code::ok);
    EXPECT_EQ(reserve(list, gone, 8).effect, ListEffect::stale);
    EXPECT_EQ(insert(list, gone, reserved.node, "12345678"), Code::ok);
    EXPECT_EQ(placed_.effect, ListEffect::stale);
    EXPECT_TRUE(NodeHeap(node_, 0, owner_.hazards).is_lent(block_of(reserved.node)));
    EXPECT_EQ(insert(list, {}, reserved.node, "12345678"), Code::ok);
    EXPECT_EQ(placed_.effect, ListEffect::done);

    const ListReserved other = reserve(list, {}, 8);
    EXPECT_EQ(insert(list, gone, other.node, "12345678"), Code::ok);
    EXPECT_EQ(placed_.effect, ListEffect::stale);
    local::Nothing nothing;
    EXPECT_EQ(run<TakeBackBlock>(other.node, nothing), Code::ok);
    EXPECT_EQ(size(list), 1U);
    EXPECT_EQ(blocks(), 2U);  // the list and its element
}

TEST_F(ListReservationTest, a_dead_process_loses_its_reserved_node) {
    const std::uint64_t list = make();
    EXPECT_EQ(size(list), 0U);  // the list is in use
    const std::uint64_t before = blocks();
    ASSERT_EQ(reserve(list, {}, 900).effect, ListEffect::done);
    EXPECT_EQ(blocks(), before + 1);
    node_.slot(1).state.store(static_cast<std::uint32_t>(node::SlotState::left),
                              std::memory_order_release);
    EXPECT_EQ(blocks(), before);
}

TEST_F(ListReservationTest, other_blocks_are_refused_as_nodes) {
    const std::uint64_t list = make();
    const ListReserved reserved = reserve(list, {}, 8);
    ASSERT_EQ(reserved.effect, ListEffect::done);
    NodeHeap heap(node_, 0, owner_.hazards);
    const std::uint64_t start = owner_.space.claimed_address(0, node::heap_blocks);
    const std::uint64_t part = start + heap.allocate(0, 500, 16, BlockOwner::container);
    const std::uint64_t separate = start + heap.allocate(0, 500, 16, BlockOwner::separate);
    const std::uint64_t node = reserved.node.address;
    for (const std::uint64_t address :
         {part, separate, list, node, node + 16, node + 1, start + reserved_heap_bytes,
          ~std::uint64_t{0}, owner_.space.claimed_address(1, node::heap_blocks)}) {
        for (const std::uint64_t process : {NodeHeap::nobody, std::uint64_t{0}, std::uint64_t{9}})
            EXPECT_EQ(insert(list, {}, {address, process}, "12345678"), Code::address) << address;
    }
    // The block is too short; the request inserts at the front.
    EXPECT_EQ(insert(list, {}, reserved.node, std::string(500, 'l')), Code::address);
    EXPECT_EQ(run<InsertElement>({list, {}, 1, 0, NodeHeap::nobody, node, 1}, placed_, "12345678"),
              Code::argument);
    ListReserved none;
    EXPECT_EQ(run<ReserveNode>({list, {}, list_inline_max + 1, 1}, none), Code::argument);
    EXPECT_EQ(size(list), 0U);
}

}  // namespace
}  // namespace acp::allocator::test
