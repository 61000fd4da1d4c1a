// SPDX-License-Identifier: BSD-3-Clause
// Hash tables in the node segment: used by threads of several processes at once, and recovered with
// the heap.
#include "allocator/node_tables.hpp"

#include <gtest/gtest.h>
#include <string>

#include "node/death.hpp"

#include "allocator/node_lists.hpp"
#include "support/hash.hpp"
#include "unit/local/test_owner.hpp"

namespace acp::allocator::test {
namespace {

constexpr std::uint64_t heap_bytes = 16 * heap::area_bytes;

table::EntryKey key_of(const std::string& text) {
    return {text.data(), static_cast<std::uint32_t>(text.size()), acp::test::hash_of(text)};
}

table::EntryValue value_of(const std::string& text) {
    return {text.data(), static_cast<std::uint32_t>(text.size())};
}

class NodeTablesTest : public testing::Test {
protected:
    table::BlockNumber make(std::uint64_t slots) {
        NodeTables tables(heap_, 0);
        const table::BlockNumber table = tables->make({slots, true});
        tables->keep();
        return table;
    }

    [[nodiscard]] static std::string find(NodeHeap& heap,
                                          table::BlockNumber table,
                                          const std::string& key) {
        std::string found = "(none)";
        NodeTables tables(heap, 0);
        (void)tables->find(
            table, key_of(key),
            [&](const char* value, std::uint32_t bytes, const table::RecordName& /*record*/) {
                found.assign(value, bytes);
            });
        return found;
    }

    node::Segment node_ = local::test::make_node(2, 2, heap_bytes);
    local::test::Owner one_{node_, 0};
    local::test::Owner other_{node_, 1};
    NodeHeap heap_{one_.segment, 0, one_.hazards};
    NodeHeap of_other_{other_.segment, 0, other_.hazards};
};

TEST_F(NodeTablesTest, are_the_same_for_all_processes_of_a_node) {
    const table::BlockNumber table = make(2);
    for (int i = 0; i < 2'000; ++i) {
        const std::string key = std::to_string(i);
        NodeTables tables(i % 2 == 0 ? heap_ : of_other_, static_cast<std::uint32_t>(i % 3));
        ASSERT_EQ(tables->insert(table, key_of(key), value_of("value of " + key)),
                  table::Effect::done);
    }
    EXPECT_EQ(find(heap_, table, "77"), "value of 77");
    EXPECT_EQ(find(of_other_, table, "88"), "value of 88");
    NodeTables(of_other_, 0).destroy(table, 0);
    EXPECT_EQ(heap_.usage(0).blocks, 0U);
}

// Retires fewer records than a batch: they wait to be reclaimed, and the thread that retired them
// may sleep for ever.
void replace_often(NodeHeap& heap, table::BlockNumber table, int count) {
    for (int i = 0; i < count; ++i) {
        const std::string key = std::to_string(i);
        NodeTables tables(heap, 0);
        ASSERT_EQ(tables->insert(table, key_of(key), value_of("of the other")),
                  table::Effect::done);
        ASSERT_EQ(tables->assign(table, key_of(key), value_of("replaced")), table::Effect::done);
    }
}

TEST_F(NodeTablesTest, a_query_of_the_usage_reclaims_retired_records_of_all_threads) {
    const table::BlockNumber table = make(64);
    replace_often(of_other_, table, 100);
    EXPECT_EQ(heap_.usage(1).blocks, 101U);
    EXPECT_TRUE(NodeTables(heap_, 0).destroy(table, 0));
    EXPECT_EQ(heap_.usage(0).blocks, 0U);
}

TEST_F(NodeTablesTest, what_a_thread_in_a_call_took_out_of_tables_is_left_to_it) {
    const table::BlockNumber table = make(64);
    replace_often(of_other_, table, 100);
    {
        const NodeHeap::Lease at_work(of_other_, 0);
        EXPECT_EQ(heap_.usage(0).blocks, 201U);
    }
    EXPECT_EQ(heap_.usage(0).blocks, 101U);
}

TEST_F(NodeTablesTest, a_heap_that_is_full_of_what_sleepers_took_out_of_tables_has_room) {
    const table::BlockNumber table = make(64);
    const std::string value(40'000, 'v');
    {
        NodeTables tables(of_other_, 0);
        for (int i = 0; i < 6; ++i) {
            const std::string key = std::to_string(i);
            ASSERT_EQ(tables->insert(table, key_of(key), value_of(value)), table::Effect::done);
            ASSERT_EQ(tables->erase(table, key_of(key)), table::Effect::done);
        }
    }
    EXPECT_NE(heap_.allocate(0, heap_bytes - 2 * heap::area_bytes, alignment_least),
              heap::no_block);
    std::uint64_t more = 0;
    while (heap_.allocate(0, 300'000, alignment_least) != heap::no_block) ++more;
    EXPECT_EQ(more, 5U) << "of two MiB, one of which has the table";
}

// Makes a list, and takes elements out of it, which wait to be reclaimed.
void take_often(NodeHeap& heap, int count) {
    NodeLists lists(heap, 0);
    const table::BlockNumber list = lists->make();
    lists->keep();
    for (int i = 0; i < count; ++i) {
        list::Position at;
        list::SharedLists<>::Taken taken;
        ASSERT_EQ(lists->push_front(list, {{"bytes", 5}, false}, at), list::ListEffect::done);
        ASSERT_EQ(lists->take_first(list, taken), list::ListEffect::done);
        (void)lists->settle(taken);
    }
}

// Two dead processes: the second one was killed when it had begun to recover the first, which a
// survivor had already recovered.
TEST_F(NodeTablesTest, a_process_killed_in_a_recovery_that_others_finished_leaks_nothing) {
    const node::Segment node = local::test::make_node(3, 3, heap_bytes);
    local::test::Owner survivor(node, 0);
    local::test::Owner killed(node, 2);
    NodeHeap heap(survivor.segment, 0, survivor.hazards);
    NodeHeap of_killed(killed.segment, 0, killed.hazards);
    table::BlockNumber table = 0;
    {
        NodeTables own(heap, 0);
        table = own->make({64, true});
        own->keep();
    }
    replace_often(of_killed, table, 10);
    // Publishes the blocks that it frees.
    NodeTables(of_killed, 0)->reclaim();
    take_often(of_killed, 10);
    node::mark_dead(node, 1, 9);
    (void)heap.recover(NodeHeap::Lease(heap, 2).cache());
    heap.participants()[heap::caches_of(1).first].recoverer.store(heap::caches_of(2).first + 1U);
    node::mark_dead(node, 2, 9);
    EXPECT_EQ(heap.usage(1).blocks, 12U) << "table, entries and list";
}

// The victim took over the cache of a sleeping process, and was killed before it had done anything
// there.
TEST_F(NodeTablesTest, a_cache_returns_to_its_thread_when_its_taker_is_dead) {
    const table::BlockNumber table = make(64);
    replace_often(heap_, table, 100);
    const heap::CachePlaces places(node_.claimed(0, heap_words) +
                                   heap_words_of(node_.shape()).caches_at());
    const heap::CacheNumber own = heap::caches_of(0).first;
    ASSERT_NE(places.take_over(own, heap::caches_of(1).first), nullptr);
    EXPECT_EQ(heap_.usage(0).blocks, 201U) << "it lives, and has them";
    node::mark_dead(node_, 1, 9);
    EXPECT_EQ(heap_.usage(0).blocks, 101U);
    EXPECT_EQ(places.taker_of(own).number, 0U);
    EXPECT_EQ(NodeHeap::Lease(heap_, 0).cache().number(), own);
}

TEST_F(NodeTablesTest, what_a_process_that_is_gone_held_is_freed) {
    const table::BlockNumber table = make(64);
    replace_often(of_other_, table, 100);
    NodeHeap::Lease at_work(of_other_, 0);
    EXPECT_EQ(heap_.usage(0).blocks, 201U);
    // The state that a process leaves that is killed in a call: a block that it has just made, and
    // a hazard word that names a record.
    const auto users = heap_.participants();
    auto& gone = users[heap::caches_of(1).first];
    {
        HeapBlocks blocks(of_other_, at_work.cache());
        ASSERT_NE(blocks.allocate(gone.block_made, 4'000, 16), 0U);
    }
    gone.hazard[0].store(5, std::memory_order_relaxed);
    EXPECT_EQ(heap_.usage(0).blocks, 202U) << "it lives";
    node::mark_dead(node_, 1, 9);
    EXPECT_EQ(heap_.usage(0).blocks, 101U) << "what waited is freed too";
    EXPECT_TRUE(gone.is_unused());
    EXPECT_EQ(find(heap_, table, "42"), "replaced");
    NodeTables(heap_, 0).destroy(table, 0);
    EXPECT_EQ(heap_.usage(0).blocks, 0U);
}

// A thread that is stopped in a call names one of the elements that a dead process has retired.
TEST_F(NodeTablesTest,
       a_full_heap_has_room_in_what_a_dead_process_retired_though_one_block_is_named) {
    const std::string bytes(40'000, 'b');
    const NodeHeap::Lease at_work(of_other_, 0);  // so that no other thread reclaims it
    {
        ListBlocks blocks(of_other_, at_work.cache());
        list::SharedLists<> lists(blocks, of_other_.list_participants(), at_work.cache().number());
        const table::BlockNumber list = lists.make();
        lists.keep();
        for (int i = 0; i < 5; ++i) {
            list::Position at;
            list::SharedLists<>::Taken taken;
            ASSERT_EQ(lists.push_front(list, {{bytes.data(), bytes.size()}, false}, at),
                      list::ListEffect::done);
            ASSERT_EQ(lists.take_first(list, taken), list::ListEffect::done);
            (void)lists.settle(taken);
        }
    }
    while (heap_.allocate(0, bytes.size(), alignment_least) != heap::no_block) {
    }
    const auto users = heap_.list_participants();
    auto& stopped = users[heap::caches_of(0).first + 1];
    const std::uint64_t named = users[at_work.cache().number()].retired.load();
    ASSERT_NE(named, 0U);
    stopped.lists[0].store(named, std::memory_order_relaxed);
    stopped.names.store(1, std::memory_order_relaxed);
    node::mark_dead(node_, 1, 9);
    EXPECT_NE(heap_.allocate(0, bytes.size(), alignment_least), heap::no_block);
    EXPECT_EQ(users[at_work.cache().number()].retired.load(), named) << "it is named";
    stopped.names.store(0, std::memory_order_relaxed);
    (void)heap_.usage(0);
    EXPECT_TRUE(users[at_work.cache().number()].is_unused());
}

}  // namespace
}  // namespace acp::allocator::test
