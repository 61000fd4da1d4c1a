// SPDX-License-Identifier: BSD-3-Clause
// Operations on hash tables where the heap has no room for another bucket.
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <string>

#include "unit/allocator/table_operations_fixture.hpp"

namespace acp::allocator::test {
namespace {

// The table's only chain is full, and the heap too.
class FullHeapTest : public TableOperationsTest {
protected:
    FullHeapTest() {
        EXPECT_EQ(run<MakeTable>(Message().add(TableToMake{1, 0, 0, id})), Code::ok);
        table_ = told<std::uint64_t>();
        for (std::uint32_t i = 0; i < table::Bucket<std::atomic>::slots_max; ++i) {
            EXPECT_EQ(put(table_, std::to_string(i), "", PutMode::insert), Effect::done);
        }
        words_.put.mode = PutMode::insert;
        words_.block.address = allocate(block_bytes);
        const std::uint64_t start = owner_.space.claimed_address(0, node::heap_blocks);
        std::memcpy(node_.claimed(0, node::heap_blocks) + (words_.block.address - start) +
                        Record::head_bytes,
                    key_.data(), key_.size());
    }

    std::uint64_t allocate(std::uint64_t bytes) {
        EXPECT_EQ(run<AllocateBlocks>(Message().add(std::uint64_t{alignment_least}).add(bytes)),
                  Code::ok);
        return told<std::uint64_t>();
    }

    void fill_heap() {
        for (std::uint64_t bytes = heap::area_bytes / 2; bytes >= alignment_least; bytes /= 2) {
            while (allocate(bytes) != 0) {
            }
        }
    }

    Effect put_block() {
        EXPECT_EQ(run<PutBlock>(Message().add(request_of(table_, key_, 0)).add(words_)), Code::ok);
        return told<EntryResult>().effect;
    }

    using Record = table::EntryRecord<std::atomic>;
    const std::string key_ = "key";
    const std::uint64_t block_bytes = Record::head_bytes + key_.size();
    std::uint64_t table_ = 0;
    BlockWords words_{};
};

TEST_F(FullHeapTest, a_block_for_which_there_is_no_slot_is_freed_once) {
    fill_heap();
    EXPECT_EQ(put_block(), Effect::no_room);
    EXPECT_EQ(find(table_, key_).effect, Effect::absent);
    EXPECT_EQ(allocate(block_bytes), words_.block.address) << "it is free";
    EXPECT_EQ(allocate(block_bytes), 0U) << "once";
}

TEST_F(FullHeapTest, a_block_that_finds_a_slot_at_the_second_try_is_the_tables) {
    const std::uint64_t other = make();
    ASSERT_EQ(put(other, "long", std::string(40, 'v'), PutMode::insert), Effect::done);
    fill_heap();
    // The erased record is as long as a bucket.
    ASSERT_EQ(erase(other, "long"), Effect::done);
    EXPECT_EQ(put_block(), Effect::done);
    EXPECT_EQ(find(table_, key_).record, words_.block.address);
    EXPECT_EQ(allocate(block_bytes), 0U) << "the entry's record was freed";
}

// The table grows, and most of its entries are in its last bucket, which has not been migrated.
TEST_F(FullHeapTest, an_entry_that_cannot_be_cleared_without_room_is_reported_and_cleared_later) {
    const std::uint64_t other = make();
    // Records that are as long as a bucket.
    constexpr int records = 8;
    for (int i = 0; i < records; ++i) {
        ASSERT_EQ(put(other, std::to_string(i), std::string(40, 'v'), PutMode::insert),
                  Effect::done);
    }
    const std::uint64_t table = make(4);
    const std::uint64_t start = owner_.space.claimed_address(0, node::heap_blocks);
    const auto& head = *reinterpret_cast<const table::Head<std::atomic>*>(
        node_.claimed(0, node::heap_blocks) + (table - start));
    const auto is_growing = [&head] {
        return table::Root::unpacked(head.root.load(std::memory_order_relaxed)).is_growing();
    };
    constexpr std::uint64_t in_last = 20;
    for (std::uint64_t entries = 0; !is_growing(); ++entries) {
        const EntryRequest request{
            {table, id}, (entries < in_last ? 3U : 2U) | entries << 24, 1, 0};
        ASSERT_EQ(run<PutEntry>(Message().add(request).add(PutWords()).add_text("k")), Code::ok);
        ASSERT_EQ(told<EntryResult>().effect, Effect::done);
    }
    fill_heap();
    ClearResult cleared;
    TableToClear request{{table, id}, {}};
    const auto clear = [&] {
        do {
            ASSERT_EQ(run<ClearTable>(Message().add(request)), Code::ok);
            cleared = told<ClearResult>();
            request.after = cleared.after;
        } while (cleared.has_more != 0 && cleared.has_room != 0);
    };
    const auto left = [&] {
        EXPECT_EQ(run<CountEntries>(Message().add(TableName{table, id})), Code::ok);
        return told<std::uint64_t>();
    };
    clear();
    EXPECT_EQ(cleared.has_room, 0U);
    EXPECT_EQ(left(), in_last);
    for (int i = 0; i < records; ++i) ASSERT_EQ(erase(other, std::to_string(i)), Effect::done);
    clear();
    EXPECT_EQ(cleared.has_room, 1U);
    EXPECT_EQ(left(), 0U);
}

}  // namespace
}  // namespace acp::allocator::test
