// SPDX-License-Identifier: BSD-3-Clause
// The operations on lists as bytes, which may come from another node: valid arguments have their
// effect, malformed ones are refused and change nothing.
#include "allocator/list_operations.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "allocator/heap_operations.hpp"
#include "unit/local/test_owner.hpp"

namespace acp::allocator::test {
namespace {

using base::Code;
using list::ListEffect;
using list::Position;

template <typename Operation>
constexpr std::uint32_t number_of = local::operation_number<Operation>;

constexpr std::uint64_t list_heap_bytes = 4 * heap::area_bytes;

// Assembles the arguments of an operation.
class ListMessage {
public:
    template <typename Value>
    ListMessage& add(const Value& value) {
        const auto* bytes = reinterpret_cast<const std::byte*>(&value);
        bytes_.insert(bytes_.end(), bytes, bytes + sizeof value);
        return *this;
    }

    ListMessage& add_text(const std::string& text) {
        const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
        bytes_.insert(bytes_.end(), bytes, bytes + text.size());
        return *this;
    }

    [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

private:
    std::vector<std::byte> bytes_;
};

class ListOperationsTest : public testing::Test {
protected:
    static const local::NumberedOperation& row_of(std::uint32_t wanted) {
        for (const local::NumberedOperation& row : list_operations) {
            if (row.number == wanted) return row;
        }
        ADD_FAILURE() << wanted;
        return list_operations.front();
    }

    Code run(std::uint32_t number, const ListMessage& message, std::uint32_t process = 0) {
        const local::NumberedOperation& row = row_of(number);
        result_.assign(row.result_bytes_max, std::byte{0xee});
        EXPECT_LE(message.bytes().size(), std::max<std::size_t>(row.argument_bytes_max, 1'024));
        local::OperationContext context(owner_.space, owner_.hazards, *owner_.hazards.own_line(),
                                        process);
        const auto ran = local::run_operation(row, context, message.bytes(), result_);
        result_.resize(ran.result_bytes);
        return ran.code;
    }

    template <typename Value>
    [[nodiscard]] Value told(std::size_t offset = 0) const {
        Value value{};
        EXPECT_GE(result_.size(), offset + sizeof value);
        if (result_.size() >= offset + sizeof value)
            std::memcpy(&value, result_.data() + offset, sizeof value);
        return value;
    }

    [[nodiscard]] std::string text_behind(std::size_t offset) const {
        if (result_.size() < offset) return "(nothing)";
        return {reinterpret_cast<const char*>(result_.data()) + offset, result_.size() - offset};
    }

    std::uint64_t make() {
        EXPECT_EQ(run(number_of<MakeList>, ListMessage().add(NodeHeap::nobody)), Code::ok);
        return told<std::uint64_t>();
    }

    Position push(std::uint64_t list, const std::string& text) {
        EXPECT_EQ(run(number_of<InsertElement>,
                      ListMessage().add(ListInsert{list, {}, 0, 0}).add_text(text)),
                  Code::ok);
        EXPECT_EQ(told<ListPlaced>().effect, ListEffect::done);
        return told<ListPlaced>().at;
    }

    // Adds an element whose bytes lie in the heap of a process of the node.
    void push_apart(std::uint64_t list, std::uint32_t process, const std::string& text) {
        NodeHeap heap(node_, process, owner_.hazards);
        const heap::Offset block =
            heap.allocate(0, text.size(), alignment_least, BlockOwner::separate);
        std::memcpy(node_.claimed(process, node::heap_blocks) + block, text.data(), text.size());
        const list::ApartPayload apart{apart_address(process, list::number_of(block)), text.size()};
        EXPECT_EQ(
            run(number_of<InsertElement>, ListMessage().add(ListInsert{list, {}, 0, 1}).add(apart)),
            Code::ok);
    }

    std::string take(std::uint64_t list, TakeWhich which, std::uint32_t room = 900) {
        EXPECT_EQ(run(number_of<TakeElement>, ListMessage().add(ListTake{list, {}, which, room})),
                  Code::ok);
        if (told<ListTaken>().effect == ListEffect::end) return "(empty)";
        return text_behind(sizeof(ListTaken));
    }

    std::uint64_t size(std::uint64_t list) {
        EXPECT_EQ(run(number_of<CountElements>, ListMessage().add(list)), Code::ok);
        return told<std::uint64_t>();
    }

    node::Segment node_ = local::test::make_node(2, 2, list_heap_bytes);
    local::test::Owner owner_{node_, 0};
    std::vector<std::byte> result_;
};

TEST_F(ListOperationsTest, insert_take_move_and_read) {
    const std::uint64_t list = make();
    const std::uint64_t other = make();
    const Position b = push(list, "b");
    EXPECT_EQ(
        run(number_of<InsertElement>, ListMessage().add(ListInsert{list, b, 0, 0}).add_text("a")),
        Code::ok);
    EXPECT_EQ(run(number_of<InsertElement>,
                  ListMessage().add(ListInsert{list, b, 1, 0}).add_text("front")),
              Code::ok);
    EXPECT_EQ(size(list), 3U);
    EXPECT_EQ(run(number_of<MoveElement>, ListMessage().add(ListMove{other, {}, list, b})),
              Code::ok);
    const ListPlaced moved = told<ListPlaced>();
    EXPECT_EQ(moved.effect, ListEffect::done);
    EXPECT_EQ(run(number_of<ReadElement>, ListMessage().add(ListReading{other, moved.at, 100})),
              Code::ok);
    EXPECT_EQ(told<ListRead>().bytes, 1U);
    EXPECT_EQ(text_behind(sizeof(ListRead)), "b");
    EXPECT_EQ(run(number_of<ReadElement>, ListMessage().add(ListReading{list, b, 100})), Code::ok);
    EXPECT_EQ(told<ListRead>().effect, ListEffect::stale);
    EXPECT_EQ(take(list, TakeWhich::first), "front");
    EXPECT_EQ(take(list, TakeWhich::last), "a");
    EXPECT_EQ(take(list, TakeWhich::last), "(empty)");
    EXPECT_EQ(take(other, TakeWhich::first, 0), "");
    EXPECT_EQ(run(number_of<DestroyList>, ListMessage().add(list)), Code::ok);
    EXPECT_EQ(run(number_of<DestroyList>, ListMessage().add(list)), Code::stale);
}

TEST_F(ListOperationsTest, steps_lead_around_the_list_by_its_end) {
    const std::uint64_t list = make();
    const std::vector<Position> all{push(list, "a"), push(list, "b")};
    const auto step = [&](const Position& from, std::uint64_t is_backward) {
        EXPECT_EQ(
            run(number_of<FindNeighbour>, ListMessage().add(ListStep{list, from, is_backward})),
            Code::ok);
        EXPECT_EQ(told<ListPlaced>().effect, ListEffect::done);
        return told<ListPlaced>().at;
    };
    EXPECT_EQ(step({}, 0).node, all[0].node);
    EXPECT_EQ(step(all[0], 0).node, all[1].node);
    const Position end = step(all[1], 0);
    EXPECT_EQ(end.node, step(all[0], 1).node);
    EXPECT_EQ(step(end, 1).node, all[1].node);
    EXPECT_EQ(take(list, TakeWhich::last), "b");
    EXPECT_EQ(run(number_of<FindNeighbour>, ListMessage().add(ListStep{list, all[1], 0})),
              Code::ok);
    EXPECT_EQ(told<ListPlaced>().effect, ListEffect::stale);
}

TEST_F(ListOperationsTest, ranges_return_as_many_elements_as_fit) {
    const std::uint64_t list = make();
    for (int i = 0; i < 100; ++i) push(list, "element " + std::to_string(100 + i));
    Position from;
    std::uint64_t met = 0;
    for (int calls = 0; calls < 100; ++calls) {
        EXPECT_EQ(run(number_of<ReadRange>, ListMessage().add(ListRange{list, from, 0, 64, 9, 0})),
                  Code::ok);
        const auto head = told<ListRangeHead>();
        ASSERT_TRUE(head.count > 0 || head.is_end != 0);
        for (std::uint32_t i = 0; i < head.count; ++i, ++met) {
            const std::size_t offset = sizeof head + i * (sizeof(ListRecord) + 16);
            const auto record = told<ListRecord>(offset);
            EXPECT_EQ(record.bytes, 11U);
            EXPECT_EQ(text_behind(offset + sizeof record).substr(0, 9), "element 1");
            from = record.at;
        }
        if (head.is_end != 0) break;
    }
    EXPECT_EQ(met, 100U);
    EXPECT_EQ(run(number_of<ReadRange>, ListMessage().add(ListRange{list, {}, 1, 1, 0, 0})),
              Code::ok);
    EXPECT_EQ(told<ListRangeHead>().count, 1U);
    EXPECT_EQ(told<ListRecord>(sizeof(ListRangeHead)).at.mark, from.mark) << "the last one";
}

TEST_F(ListOperationsTest, bytes_that_lie_apart_go_with_the_element) {
    const std::uint64_t list = make();
    NodeHeap second(node_, 1, owner_.hazards);
    push_apart(list, 1, "of the other process");
    push_apart(list, 1, std::string(2'000, 'x'));
    EXPECT_EQ(second.usage(0).blocks, 2U);
    EXPECT_EQ(take(list, TakeWhich::first), "of the other process");
    EXPECT_EQ(second.usage(0).blocks, 1U);
    push_apart(list, 1, std::string(2'000, 'x'));
    for (const std::uint64_t room : {std::uint64_t{2'000}, std::uint64_t{1} << 32}) {
        EXPECT_EQ(run(number_of<TakeElement>,
                      ListMessage().add(ListTake{list, {}, TakeWhich::first, room})),
                  Code::ok);
        const ListTaken too_long = told<ListTaken>();
        EXPECT_EQ(too_long.bytes, 2'000U);
        EXPECT_EQ(process_of_apart(too_long.apart), 1U);
        EXPECT_EQ(
            second.free(0, list::offset_of(block_of_apart(too_long.apart)), BlockOwner::separate),
            heap::Freed::done)
            << "the caller reads it and frees it";
    }
    EXPECT_EQ(second.usage(0).blocks, 0U);
    push_apart(list, 0, std::string(2'000, 'y'));
    EXPECT_EQ(
        run(number_of<TakeElement>, ListMessage().add(ListTake{list, {}, TakeWhich::last, 0})),
        Code::ok);
    EXPECT_EQ(told<ListTaken>().apart, 0U) << "nobody wants the bytes";
}

TEST_F(ListOperationsTest, groups_of_elements_are_ordered_erased_and_cleared) {
    const std::uint64_t list = make();
    std::vector<Position> all;
    for (int i = 0; i < 5; ++i) all.push_back(push(list, std::to_string(i)));
    EXPECT_EQ(
        run(number_of<GatherElements>, ListMessage()
                                           .add(list)
                                           .add(ListMember{list, all[3]})
                                           .add(ListMember{list, all[0]})
                                           .add(ListMember{list, {all[1].node, all[2].mark}})),
        Code::ok);
    EXPECT_EQ(told<std::uint64_t>(), 2U);
    EXPECT_EQ(
        run(number_of<EraseElements>, ListMessage().add(list).add(all[1]).add(all[1]).add(all[2])),
        Code::ok);
    EXPECT_EQ(told<ListErased>().erased, 2U);
    EXPECT_EQ(take(list, TakeWhich::first), "4");
    EXPECT_EQ(take(list, TakeWhich::first), "3");
    push(list, "more");
    EXPECT_EQ(run(number_of<ClearList>, ListMessage().add(ListClear{list, 1})), Code::ok);
    EXPECT_EQ(told<ListErased>().erased, 1U);
    EXPECT_EQ(size(list), 1U);
    EXPECT_EQ(run(number_of<ClearList>, ListMessage().add(ListClear{list, list_members_max})),
              Code::ok);
    EXPECT_EQ(told<ListErased>().erased, 1U);
}

TEST_F(ListOperationsTest, malformed_arguments_are_refused) {
    const std::uint64_t list = make();
    const Position element = push(list, "a");
    EXPECT_EQ(run(number_of<MakeList>, ListMessage()), Code::argument);
    for (const local::NumberedOperation& row : list_operations) {
        if (row.number == number_of<MakeList>) continue;
        EXPECT_EQ(run(row.number, ListMessage()), Code::argument) << row.number;
        EXPECT_EQ(run(row.number, ListMessage().add(std::uint32_t{1})), Code::argument)
            << row.number;
        if (row.number == number_of<InsertElement>) continue;
        EXPECT_EQ(run(row.number, ListMessage().add_text(std::string(1'021, '\7'))), Code::argument)
            << row.number;
    }
    EXPECT_EQ(run(number_of<InsertElement>, ListMessage().add(ListInsert{list, {}, 2, 0})),
              Code::argument);
    EXPECT_EQ(run(number_of<InsertElement>, ListMessage().add(ListInsert{list, {}, 0, 2})),
              Code::argument);
    EXPECT_EQ(
        run(number_of<InsertElement>, ListMessage().add(ListInsert{list, {}, 0, 1}).add_text("no")),
        Code::argument);
    EXPECT_EQ(run(number_of<TakeElement>, ListMessage().add(ListTake{list, {}, TakeWhich{3}, 0})),
              Code::argument);
    EXPECT_EQ(run(number_of<ReadRange>, ListMessage().add(ListRange{list, {}, 2, 1, 0, 0})),
              Code::argument);
    EXPECT_EQ(run(number_of<ClearList>, ListMessage().add(ListClear{list, list_members_max + 1})),
              Code::argument);
    EXPECT_EQ(run(number_of<FindNeighbour>, ListMessage().add(ListStep{list, {}, 2})),
              Code::argument);
    // Positions from another node may have any words.
    for (const std::uint64_t node : {~std::uint64_t{0}, element.node + 1, std::uint64_t{1} << 35}) {
        const Position wrong{node, element.mark};
        EXPECT_EQ(
            run(number_of<TakeElement>, ListMessage().add(ListTake{list, wrong, TakeWhich::at, 9})),
            Code::ok);
        EXPECT_EQ(told<ListTaken>().effect, ListEffect::stale);
        EXPECT_EQ(
            run(number_of<MoveElement>, ListMessage().add(ListMove{list, wrong, list, wrong})),
            Code::ok);
        EXPECT_EQ(told<ListPlaced>().effect, ListEffect::stale);
        EXPECT_EQ(run(number_of<ReadRange>, ListMessage().add(ListRange{list, wrong, 0, 1, 0, 0})),
                  Code::ok);
        EXPECT_EQ(told<ListRangeHead>().effect, ListEffect::stale);
    }
    EXPECT_EQ(size(list), 1U);
}

// A request from another node may name any block as the bytes of an element, and erasing the
// element would free that block.
TEST_F(ListOperationsTest, bytes_that_lie_in_no_block_for_them_are_refused) {
    const std::uint64_t list = make();
    NodeHeap heap(node_, 0, owner_.hazards);
    NodeHeap other(node_, 1, owner_.hazards);
    const auto part = list::number_of(heap.allocate(0, 500, 16, BlockOwner::container));
    const auto part_there = list::number_of(other.allocate(0, 500, 16, BlockOwner::container));
    const auto separate = list::number_of(heap.allocate(0, 500, 16, BlockOwner::separate));
    const list::BlockNumber beyond = list_heap_bytes / heap::granule_bytes + 77;
    for (const auto& [address, bytes] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
             {apart_address(0, beyond), 8},
             {apart_address(1, beyond), 8},
             {apart_address(0, list::BlockNumber{1} << 35), 8},
             {apart_address(0, part), 8},
             {apart_address(1, part_there), 8},
             {apart_address(0, separate), 5'000},
             {apart_address(0, separate + 1), 8},
             {apart_address(0, 0), 8},
             {apart_address(77, separate), 8},
             {~std::uint64_t{0}, 8}}) {
        const list::ApartPayload apart{address, bytes};
        for (const std::uint64_t lent_to : {NodeHeap::nobody, std::uint64_t{0}}) {
            const ListInsert request{list, {}, 0, 1, lent_to};
            EXPECT_EQ(run(number_of<InsertElement>, ListMessage().add(request).add(apart)),
                      Code::address)
                << address;
        }
    }
    EXPECT_EQ(size(list), 0U);
}

TEST_F(ListOperationsTest, an_element_is_changed_under_the_name_of_its_own_list_alone) {
    const std::uint64_t list = make();
    const std::uint64_t other = make();
    const Position element = push(list, "a");
    push(list, "b");
    const Position others = push(other, "c");
    const list::BlockNumber number =
        list::number_of(list - owner_.space.claimed_address(0, node::heap_blocks));
    const Position head{number, list::mark::of_list(number)};
    for (const Position& wrong : {element, Position{element.node, 0}, head}) {
        EXPECT_EQ(run(number_of<EraseElements>, ListMessage().add(other).add(wrong)), Code::ok);
        EXPECT_EQ(told<ListErased>().erased, 0U);
        EXPECT_EQ(run(number_of<TakeElement>, ListMessage().add(ListTake{other, wrong, {}, 9})),
                  Code::ok);
        EXPECT_EQ(told<ListTaken>().effect, ListEffect::stale);
        EXPECT_EQ(run(number_of<InsertElement>, ListMessage().add(ListInsert{other, wrong, 0, 0})),
                  Code::ok);
        EXPECT_EQ(told<ListPlaced>().effect, ListEffect::stale);
        for (const ListMove& move :
             {ListMove{list, {}, other, wrong}, ListMove{other, {}, other, wrong},
              ListMove{other, wrong, other, others}}) {
            EXPECT_EQ(run(number_of<MoveElement>, ListMessage().add(move)), Code::ok);
            EXPECT_EQ(told<ListPlaced>().effect, ListEffect::stale);
        }
        EXPECT_EQ(
            run(number_of<GatherElements>, ListMessage().add(list).add(ListMember{other, wrong})),
            Code::ok);
        EXPECT_EQ(told<std::uint64_t>(), 0U);
    }
    EXPECT_EQ(run(number_of<ReadElement>, ListMessage().add(ListReading{other, head, 900})),
              Code::ok);
    EXPECT_EQ(told<ListRead>().effect, ListEffect::stale);
    EXPECT_EQ(run(number_of<ReadRange>, ListMessage().add(ListRange{other, element, 0, 9, 8, 0})),
              Code::ok);
    EXPECT_EQ(size(list), 2U);
    EXPECT_EQ(size(other), 1U);
    EXPECT_EQ(take(list, TakeWhich::first), "a");
    EXPECT_EQ(take(list, TakeWhich::last), "b");
    EXPECT_EQ(take(other, TakeWhich::last), "c");
}

TEST_F(ListOperationsTest, what_is_no_list_is_stale) {
    const std::uint64_t list = make();
    ASSERT_EQ(run(number_of<DestroyList>, ListMessage().add(list)), Code::ok);
    const std::uint64_t start = owner_.space.claimed_address(0, node::heap_blocks);
    for (const std::uint64_t address :
         {list, list + 16, list + 1, std::uint64_t{0}, start + list_heap_bytes - 16,
          ~std::uint64_t{0}, owner_.space.claimed_address(1, node::heap_blocks)}) {
        EXPECT_EQ(run(number_of<DestroyList>, ListMessage().add(address)), Code::stale) << address;
        EXPECT_EQ(run(number_of<InsertElement>, ListMessage().add(ListInsert{address, {}, 0, 0})),
                  Code::stale);
        EXPECT_EQ(run(number_of<TakeElement>,
                      ListMessage().add(ListTake{address, {}, TakeWhich::first, 0})),
                  Code::stale);
        EXPECT_EQ(
            run(number_of<MoveElement>, ListMessage().add(ListMove{address, {}, address, {}})),
            Code::stale);
        EXPECT_EQ(run(number_of<ReadRange>, ListMessage().add(ListRange{address, {}, 0, 1, 0, 0})),
                  Code::stale);
        EXPECT_EQ(run(number_of<FindNeighbour>, ListMessage().add(ListStep{address, {}, 0})),
                  Code::stale);
        EXPECT_EQ(run(number_of<ReadElement>, ListMessage().add(ListReading{address, {}, 0})),
                  Code::stale);
        EXPECT_EQ(run(number_of<CountElements>, ListMessage().add(address)), Code::stale);
        EXPECT_EQ(run(number_of<GatherElements>, ListMessage().add(address).add(ListMember())),
                  Code::stale);
        EXPECT_EQ(run(number_of<EraseElements>, ListMessage().add(address).add(Position())),
                  Code::stale);
        EXPECT_EQ(run(number_of<ClearList>, ListMessage().add(ListClear{address, 1})), Code::stale);
    }
}

TEST_F(ListOperationsTest, a_full_heap_is_reported_and_nothing_is_changed) {
    const std::uint64_t list = make();
    const std::string text(900, 't');
    std::uint64_t count = 0;
    while (true) {
        ASSERT_EQ(run(number_of<InsertElement>,
                      ListMessage().add(ListInsert{list, {}, 0, 0}).add_text(text)),
                  Code::ok);
        if (told<ListPlaced>().effect != ListEffect::done) break;
        ++count;
    }
    EXPECT_EQ(told<ListPlaced>().effect, ListEffect::no_room);
    EXPECT_GT(count, 1'000U);
    EXPECT_EQ(size(list), count);
    EXPECT_EQ(take(list, TakeWhich::last), text);
    // One operation destroys a bounded share of the list, so that its gateway is not delayed for
    // long.
    std::uint64_t left = count - 1;
    do {
        EXPECT_EQ(size(list), left);
        ASSERT_EQ(run(number_of<DestroyList>, ListMessage().add(list)), Code::ok);
        left -= std::min<std::uint64_t>(left, list_members_max);
    } while (told<ListErased>().erased == list_members_max);
    EXPECT_EQ(left, 0U);
    EXPECT_EQ(run(number_of<DestroyList>, ListMessage().add(list)), Code::stale);
    EXPECT_EQ(NodeHeap(node_, 0, owner_.hazards).usage(0).blocks, 0U);
}

TEST_F(ListOperationsTest, say_that_there_is_no_heap) {
    const node::Segment without = local::test::make_node(1, 1);
    local::test::Owner owner(without, 0);
    const auto message = [](std::uint32_t number) {
        ListMessage made;
        switch (number) {
            case number_of<MakeList>:
                return made.add(NodeHeap::nobody);
            case number_of<InsertElement>:
                return made.add(ListInsert());
            case number_of<ReserveNode>:
                return made.add(ListReserve());
            case number_of<TakeElement>:
                return made.add(ListTake());
            case number_of<MoveElement>:
                return made.add(ListMove());
            case number_of<FindNeighbour>:
                return made.add(ListStep());
            case number_of<ReadRange>:
                return made.add(ListRange());
            case number_of<ReadElement>:
                return made.add(ListReading());
            case number_of<GatherElements>:
                return made.add(std::uint64_t{5}).add(ListMember());
            case number_of<EraseElements>:
                return made.add(std::uint64_t{5}).add(Position());
            case number_of<ClearList>:
                return made.add(ListClear());
            default:
                return made.add(std::uint64_t{5});
        }
    };
    for (const local::NumberedOperation& row : list_operations) {
        result_.resize(row.result_bytes_max);
        local::OperationContext context(owner.space, owner.hazards, *owner.hazards.own_line(), 0);
        EXPECT_EQ(local::run_operation(row, context, message(row.number).bytes(), result_).code,
                  Code::unsupported)
            << row.number;
    }
}

}  // namespace
}  // namespace acp::allocator::test
