// SPDX-License-Identifier: BSD-3-Clause
// A container of any kind that was never used is destroyed when its maker dies; one that was used
// stays.
#include "allocator/unused_containers.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <ostream>
#include <thread>

#include "node/death.hpp"

#include "unit/local/test_owner.hpp"

namespace acp::allocator::test {
namespace {

constexpr std::uint64_t heap_bytes = 8 * heap::area_bytes;
constexpr std::uint64_t id = 0x1234;
constexpr std::uint32_t maker = 1;

enum class Kind : std::uint8_t { table, directory, list, vector, deque };

void PrintTo(Kind kind, std::ostream* out) {
    *out << std::array<const char*, 5>{"table", "directory", "list", "vector",
                                       "deque"}[static_cast<std::size_t>(kind)];
}

sequence::SequenceKind sequence_kind(Kind kind) {
    return kind == Kind::vector ? sequence::SequenceKind::vector : sequence::SequenceKind::deque;
}

// Makes a container in a call of one thread.
table::BlockNumber make(NodeHeap& heap, Kind kind, std::uint64_t lent_to, bool is_kept = true) {
    if (kind == Kind::list) {
        NodeLists lists(heap, 0);
        const table::BlockNumber made = lists->make(lent_to);
        if (is_kept) lists->keep();
        return made;
    }
    if (kind == Kind::vector || kind == Kind::deque) {
        NodeSequences sequences(heap, 0);
        const table::BlockNumber made = sequences->make(sequence_kind(kind), 10, 100, lent_to);
        if (is_kept) sequences->keep();
        return made;
    }
    NodeTables tables(heap, 0);
    const table::BlockNumber made =
        kind == Kind::table
            ? tables->make({4, true, false, id, lent_to})
            : tables->make_directory(200, lent_to, [](table::BlockNumber, char*) {});
    if (is_kept) tables->keep();
    return made;
}

// Uses the container, perhaps for the first time. Returns whether it exists.
bool use(NodeHeap& heap, Kind kind, table::BlockNumber container) {
    if (kind == Kind::list) return NodeLists(heap, 0)->is_list(container);
    if (kind == Kind::vector || kind == Kind::deque)
        return NodeSequences(heap, 0)->is_one(container, sequence_kind(kind));
    NodeTables tables(heap, 0);
    return kind == Kind::table ? tables->is_table(container, id) : tables->is_directory(container);
}

bool destroy(NodeHeap& heap, Kind kind, table::BlockNumber container) {
    if (kind == Kind::list) {
        return NodeLists(heap, 0)->destroy(container, ~std::uint64_t{0}, [](std::uint64_t) {}) ==
               list::ListEffect::done;
    }
    if (kind == Kind::vector || kind == Kind::deque)
        return NodeSequences(heap, 0).destroy(container, sequence_kind(kind));
    NodeTables tables(heap, 0);
    return kind == Kind::table ? tables.destroy(container, id)
                               : tables.destroy_directory(container);
}

class UnusedContainersTest : public testing::TestWithParam<Kind> {
protected:
    std::uint64_t blocks() { return heap_.usage(0).blocks; }

    void let_maker_die() { node::mark_dead(node_, maker, 9); }

    node::Segment node_ = local::test::make_node(2, 2, heap_bytes);
    local::test::Owner survivor_{node_, 0};
    local::test::Owner maker_{node_, maker};
    NodeHeap heap_{survivor_.segment, 0, survivor_.hazards};
    NodeHeap of_maker_{maker_.segment, 0, maker_.hazards};
};

TEST_P(UnusedContainersTest, goes_with_the_process_that_made_it) {
    const table::BlockNumber made = make(of_maker_, GetParam(), maker);
    EXPECT_NE(blocks(), 0U) << "the maker lives";
    let_maker_die();
    EXPECT_EQ(blocks(), 0U);
    EXPECT_FALSE(use(heap_, GetParam(), made));
}

TEST_P(UnusedContainersTest, stays_when_anybody_has_used_it) {
    const table::BlockNumber made = make(of_maker_, GetParam(), maker);
    const std::uint64_t before = blocks();
    EXPECT_TRUE(use(heap_, GetParam(), made));
    let_maker_die();
    EXPECT_EQ(blocks(), before);
    EXPECT_TRUE(use(heap_, GetParam(), made));
    EXPECT_TRUE(destroy(heap_, GetParam(), made));
    EXPECT_FALSE(destroy(heap_, GetParam(), made));
    EXPECT_EQ(blocks(), 0U);
}

TEST_P(UnusedContainersTest,
       is_freed_once_where_the_process_was_killed_before_the_end_of_the_call) {
    (void)make(of_maker_, GetParam(), maker, false);
    let_maker_die();
    EXPECT_EQ(blocks(), 0U);
    // Recovery has also removed their loans, so there is room for loans of new containers, which
    // stay.
    const std::uint32_t most = heap_words_of(node_.shape()).loans();
    for (std::uint32_t i = 0; i < most; ++i) {
        const table::BlockNumber made = make(heap_, GetParam(), 0);
        ASSERT_NE(made, 0U);
    }
    const std::uint64_t before = blocks();
    EXPECT_EQ(blocks(), before);
}

// The gateway makes a container for a process that has died.
TEST_P(UnusedContainersTest, is_destroyed_when_a_process_that_lives_has_made_it) {
    let_maker_die();
    const table::BlockNumber made = make(heap_, GetParam(), maker, false);
    {
        NodeHeap another(maker_.segment, 0, survivor_.hazards);
        EXPECT_NE(another.usage(1).blocks, 0U) << "it is being made";
    }
    NodeTables(heap_, 0)->keep();
    NodeLists(heap_, 0)->keep();
    NodeSequences(heap_, 0)->keep();
    EXPECT_EQ(blocks(), 0U);
    EXPECT_FALSE(use(heap_, GetParam(), made));
}

TEST_P(UnusedContainersTest, is_in_use_from_the_start_where_there_is_no_room_for_the_loan) {
    const std::uint32_t most = heap_words_of(node_.shape()).loans();
    for (std::uint32_t i = 0; i < most; ++i) ASSERT_NE(make(of_maker_, GetParam(), maker), 0U);
    const std::uint64_t before = blocks();
    const table::BlockNumber last = make(of_maker_, GetParam(), maker);
    const std::uint64_t of_one = blocks() - before;
    let_maker_die();
    EXPECT_EQ(blocks(), of_one);
    EXPECT_TRUE(destroy(heap_, GetParam(), last));
    EXPECT_EQ(blocks(), 0U);
}

TEST_P(UnusedContainersTest, many_that_were_used_need_no_loan) {
    const std::uint32_t more = heap_words_of(node_.shape()).loans() + 10;
    for (std::uint32_t i = 0; i < more; ++i) {
        const table::BlockNumber made = make(of_maker_, GetParam(), maker);
        ASSERT_TRUE(use(of_maker_, GetParam(), made));
    }
    const std::uint64_t before = blocks();
    (void)make(of_maker_, GetParam(), maker);
    let_maker_die();
    EXPECT_EQ(blocks(), before);
}

// Both threads find it, whichever is first; after its use each also writes the mark of a used
// directory.
TEST_P(UnusedContainersTest, is_there_for_all_that_use_it_first_at_once) {
    for (int round = 0; round < 300 && !HasFailure(); ++round) {
        const table::BlockNumber made = make(of_maker_, GetParam(), maker);
        auto& mark = *reinterpret_cast<std::atomic<std::uint64_t>*>(
            node_.claimed(0, node::heap_blocks) + table::offset_of(made) +
            offsetof(table::DirectoryStart<std::atomic>, mark));
        std::atomic<int> started{0};
        const auto use_it = [&](NodeHeap& heap) {
            started.fetch_add(1);
            while (started.load() < 2) std::this_thread::yield();
            EXPECT_TRUE(use(heap, GetParam(), made)) << "round " << round;
            std::uint64_t first = table::DirectoryStart<std::atomic>::mark_in_first_use;
            (void)mark.compare_exchange_strong(
                first, table::DirectoryStart<std::atomic>::mark_of_directories);
        };
        std::thread other([&] { use_it(of_maker_); });
        use_it(heap_);
        other.join();
        EXPECT_TRUE(destroy(heap_, GetParam(), made));
    }
    EXPECT_EQ(blocks(), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    kinds,
    UnusedContainersTest,
    testing::Values(Kind::table, Kind::directory, Kind::list, Kind::vector, Kind::deque));

}  // namespace
}  // namespace acp::allocator::test
