// SPDX-License-Identifier: BSD-3-Clause
// Directories of hashed containers by their numbered operations: create, use, destroy; a directory
// is destroyed once; bad arguments are refused.
#include "allocator/directory_operations.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <span>
#include <vector>

#include "node/death.hpp"

#include "unit/local/test_owner.hpp"

namespace acp::allocator::test {
namespace {

using base::Code;

constexpr std::uint64_t heap_bytes = 8 * heap::area_bytes;
constexpr std::uint64_t id = 99;
constexpr std::uint64_t tables = 5;

class DirectoryOperationsTest : public testing::Test {
protected:
    template <typename Operation, typename Arguments>
    Code run(const Arguments& arguments) {
        const local::NumberedOperation row = local::row_of<Operation>();
        result_.assign(row.result_bytes_max, std::byte{0xee});
        local::OperationContext context(owner_.space, owner_.hazards, *owner_.hazards.own_line(),
                                        0);
        return local::run_operation(row, context, std::as_bytes(std::span(&arguments, 1)), result_)
            .code;
    }

    std::uint64_t make(std::uint64_t maker) {
        DirectoryToMake request;
        request.head.id = id;
        request.head.kind = 2;
        request.head.bodies[0].slots = 7;
        request.head.bodies[0].tables = tables;
        request.maker = maker;
        EXPECT_EQ(run<MakeDirectory>(request), Code::ok);
        std::uint64_t address = 0;
        std::memcpy(&address, result_.data(), sizeof address);
        return address;
    }

    MadeTableList make_list(const TableListToMake& request) {
        EXPECT_EQ(run<MakeTableList>(request), Code::ok);
        MadeTableList made;
        std::memcpy(&made, result_.data(), sizeof made);
        return made;
    }

    [[nodiscard]] char* memory_of(std::uint64_t address) const {
        return node_.claimed(0, node::heap_blocks) +
               (address - owner_.space.claimed_address(0, node::heap_blocks));
    }

    [[nodiscard]] DirectoryHead head_at(std::uint64_t address) const {
        DirectoryHead head;
        std::memcpy(&head, memory_of(address), sizeof head);
        return head;
    }

    std::uint64_t blocks() { return NodeHeap(node_, 0, owner_.hazards).usage(0).blocks; }

    node::Segment node_ = local::test::make_node(2, 2, heap_bytes);
    local::test::Owner owner_{node_, 0};
    std::vector<std::byte> result_;
};

TEST_F(DirectoryOperationsTest, a_directory_has_room_for_its_tables_behind_it) {
    const std::uint64_t made = make(NodeHeap::nobody);
    const DirectoryHead head = head_at(made);
    EXPECT_EQ(head.id, id);
    EXPECT_EQ(head.kind, 2U);
    EXPECT_EQ(head.bodies[0].slots, 7U);
    EXPECT_EQ(head.bodies[0].tables, tables);
    const std::vector<char> nothing(tables * sizeof(std::uint64_t));
    std::uint64_t list = made + sizeof head;
    for (const DirectoryBody& body : head.bodies) {
        EXPECT_EQ(body.room, tables);
        EXPECT_EQ(body.list, list);
        EXPECT_EQ(std::memcmp(memory_of(body.list), nothing.data(), nothing.size()), 0);
        list += nothing.size();
    }
    EXPECT_EQ(blocks(), 1U);
    EXPECT_EQ(run<DestroyDirectory>(DirectoryName{made, id}), Code::ok);
    EXPECT_EQ(run<DestroyDirectory>(DirectoryName{made, id}), Code::stale);
    EXPECT_EQ(run<UseDirectory>(DirectoryName{made, id}), Code::stale);
    EXPECT_EQ(blocks(), 0U);
}

TEST_F(DirectoryOperationsTest, lists_that_lie_apart_are_made_once_and_freed_with_it) {
    const std::uint64_t made = make(NodeHeap::nobody);
    for (const std::uint32_t which : {0U, 1U}) {
        const MadeTableList list = make_list({{made, id}, which, 100});
        EXPECT_GE(list.room, 100U);
        const MadeTableList again = make_list({{made, id}, which, 100});
        EXPECT_EQ(again.list, list.list);
        EXPECT_EQ(again.room, list.room);
    }
    EXPECT_EQ(blocks(), 3U);
    EXPECT_EQ(run<MakeTableList>(TableListToMake{{made, id}, 2, 100}), Code::argument);
    EXPECT_EQ(run<MakeTableList>(TableListToMake{{made, id + 1}, 0, 100}), Code::stale);
    EXPECT_EQ(run<DestroyDirectory>(DirectoryName{made, id}), Code::ok);
    EXPECT_EQ(blocks(), 0U);
}

TEST_F(DirectoryOperationsTest, one_that_is_used_stays_when_its_maker_dies) {
    const std::uint64_t used = make(1);
    const std::uint64_t unused = make(1);
    EXPECT_EQ(run<UseDirectory>(DirectoryName{used, id}), Code::ok);
    EXPECT_EQ(run<UseDirectory>(DirectoryName{used, id}), Code::ok);
    node::mark_dead(node_, 1, 9);
    EXPECT_EQ(blocks(), 1U);
    EXPECT_EQ(run<UseDirectory>(DirectoryName{unused, id}), Code::stale);
    EXPECT_EQ(run<DestroyDirectory>(DirectoryName{used, id}), Code::ok);
    EXPECT_EQ(blocks(), 0U);
}

TEST_F(DirectoryOperationsTest, what_is_no_directory_of_this_identity_is_refused) {
    const std::uint64_t made = make(NodeHeap::nobody);
    const auto expect_refused = [&](const auto& run_it) {
        EXPECT_EQ(run_it(DirectoryName{made, id + 1}), Code::stale);
        EXPECT_EQ(run_it(DirectoryName{made + 64, id}), Code::stale);
        EXPECT_EQ(run_it(DirectoryName{made + 1, id}), Code::stale);
        EXPECT_EQ(run_it(DirectoryName{0, id}), Code::stale);
        EXPECT_EQ(run_it(std::uint64_t{made}), Code::argument);
    };
    expect_refused([&](const auto& arguments) { return run<UseDirectory>(arguments); });
    expect_refused([&](const auto& arguments) { return run<DestroyDirectory>(arguments); });
    DirectoryToMake request;
    request.head.bodies[0].tables = tables_max + 1;
    EXPECT_EQ(run<MakeDirectory>(request), Code::argument);
    EXPECT_EQ(run<MakeDirectory>(std::uint64_t{0}), Code::argument);
    request.head.bodies[0].tables = tables_max;  // more than the heap has room for
    EXPECT_EQ(run<MakeDirectory>(request), Code::ok);
    EXPECT_EQ(std::count(result_.begin(), result_.end(), std::byte{0}), 8);
}

}  // namespace
}  // namespace acp::allocator::test
