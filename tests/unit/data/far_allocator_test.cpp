// SPDX-License-Identifier: BSD-3-Clause
// Rank 0 allocates and frees blocks in the heap of rank 2 on another node. The owner's node refuses
// operations, its answers are lost or too short, or the node is lost; the tests compare the failure
// and the bytes in use.
#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "data/ask.hpp"

#include "support/scoped_watchdog.hpp"
#include "unit/data/two_nodes.hpp"

namespace acp::data::test {
namespace {

using allocator::AllocateBlocks;
using allocator::BlockOwner;
using allocator::ClearBlock;
using allocator::FreeBlocks;
using allocator::LendBlock;
using allocator::ReplaceBlock;
using base::Code;

constexpr std::uint32_t owner = 2;
using RunStep = std::function<void()>;

class FarAllocatorTest : public testing::Test {
protected:
    [[nodiscard]] Allocator& here() { return *node_[0].allocator; }

    [[nodiscard]] std::uint64_t used() { return node_.used(owner); }

    GlobalAddress make(std::uint64_t bytes) {
        auto made = here().allocate(owner, bytes, 8);
        EXPECT_TRUE(made.is_ok()) << made.failure().message();
        return made.is_ok() ? made.value() : 0;
    }

    // Where the owner has a block.
    char* memory_of(GlobalAddress block, std::uint64_t bytes) {
        char* place = nullptr;
        EXPECT_TRUE(node_[owner].gma->space().view().find_direct(block, bytes, place));
        return place;
    }

    acp::test::ScopedWatchdog watchdog_{"unit_data: a call on another node does not end"};
    TwoNodes node_{4 << 20};
};

TEST_F(FarAllocatorTest, a_block_is_made_measured_and_freed_in_one_round_trip_each) {
    std::atomic<std::uint32_t> made{0};
    std::atomic<std::uint32_t> freed{0};
    node_.count<AllocateBlocks>(made);
    node_.count<FreeBlocks>(freed);
    const std::uint64_t before = used();
    const GlobalAddress block = make(1000);
    EXPECT_EQ(here().owner_of(block).value(), owner);
    EXPECT_GE(used(), before + 1000);
    EXPECT_GE(here().usable_bytes(block).value(), 1000U);
    EXPECT_TRUE(here().free(block).is_ok());
    EXPECT_EQ(used(), before);
    EXPECT_EQ(made, 1U);
    EXPECT_EQ(freed, 1U);
    EXPECT_EQ(here().free(block).code(), Code::stale);
    EXPECT_FALSE(here().usable_bytes(block).is_ok());
}

TEST_F(FarAllocatorTest, what_the_heap_has_no_room_for_is_refused_by_its_owner_s_name) {
    const std::uint64_t before = used();
    const auto made = here().allocate(owner, 8 << 20, 8);
    ASSERT_FALSE(made.is_ok());
    EXPECT_EQ(made.failure().code(), Code::memory);
    EXPECT_NE(made.failure().message().find("in the heap of rank 2"), std::string::npos)
        << made.failure().message();
    EXPECT_EQ(here().allocate(owner, 8, 3).failure().code(), Code::argument);
    EXPECT_EQ(here().borrow(owner, 8 << 20).failure().code(), Code::memory);
    EXPECT_EQ(used(), before);
}

TEST_F(FarAllocatorTest, many_blocks_are_made_all_or_none) {
    const std::uint64_t before = used();
    for (const std::size_t count : {std::size_t{1}, std::size_t{allocator::blocks_max},
                                    3 * std::size_t{allocator::blocks_max} + 5}) {
        std::vector<std::uint64_t> sizes(count, 24);
        std::vector<GlobalAddress> blocks(count, 1);
        ASSERT_TRUE(here().allocate_many(owner, sizes, blocks).is_ok());
        std::vector<GlobalAddress> sorted = blocks;
        std::sort(sorted.begin(), sorted.end());
        EXPECT_NE(sorted.front(), 0U);
        EXPECT_EQ(std::unique(sorted.begin(), sorted.end()), sorted.end());
        ASSERT_TRUE(here().free_many(blocks).is_ok());
        EXPECT_EQ(used(), before);
        sizes.back() = 8 << 20;
        const base::Status status = here().allocate_many(owner, sizes, blocks);
        EXPECT_EQ(status.code(), Code::memory);
        EXPECT_NE(status.message().find("block " + std::to_string(count - 1)), std::string::npos)
            << status.message();
        EXPECT_EQ(std::count(blocks.begin(), blocks.end(), 0U), static_cast<long>(count));
        EXPECT_EQ(used(), before);
    }
}

// One of several requests in flight fails: the blocks of the others are freed.
TEST_F(FarAllocatorTest, a_failure_of_one_request_frees_the_blocks_of_all_others) {
    const std::uint64_t before = used();
    const std::size_t count = 4 * std::size_t{allocator::blocks_max};
    std::vector<std::uint64_t> sizes(count, 24);
    std::vector<GlobalAddress> blocks(count, 1);
    for (std::uint32_t bad = 0; bad < 4; ++bad) {
        std::atomic<std::uint32_t> requests{0};
        node_.intercept<AllocateBlocks>([&](NodeAnswer& answer, const RunStep& run) {
            if (requests++ == bad) {
                answer.code = Code::limit;
            } else {
                run();
            }
        });
        EXPECT_EQ(here().allocate_many(owner, sizes, blocks).code(), Code::limit);
        EXPECT_EQ(requests, 4U);
        EXPECT_EQ(std::count(blocks.begin(), blocks.end(), 0U), static_cast<long>(count));
        EXPECT_EQ(used(), before) << "request " << bad;
    }
}

// The owner's node returns fewer addresses than were asked for.
TEST_F(FarAllocatorTest, an_answer_with_too_few_addresses_gives_no_block) {
    node_.intercept<AllocateBlocks>([](NodeAnswer& answer, const RunStep& run) {
        run();
        answer.bytes -= 8;  // the last address
    });
    const std::uint64_t before = used();
    EXPECT_EQ(here().allocate(owner, 24, 8).failure().code(), Code::memory);
    std::vector<std::uint64_t> sizes(10, 24);
    std::vector<GlobalAddress> blocks(10, 1);
    const std::uint64_t lost = used() - before;  // the block whose address is cut off
    EXPECT_EQ(here().allocate_many(owner, sizes, blocks).code(), Code::memory);
    EXPECT_EQ(std::count(blocks.begin(), blocks.end(), 0U), 10);
    EXPECT_EQ(used(), before + 2 * lost);
}

TEST_F(FarAllocatorTest, an_answer_without_its_output_is_a_mismatch) {
    const auto cut = [](NodeAnswer& answer, const RunStep& run) {
        run();
        answer.bytes = 1;
    };
    node_.intercept<LendBlock>(cut);
    EXPECT_EQ(here().borrow(owner, 24).failure().code(), Code::mismatch);
    node_.intercept<allocator::MeasureHeap>(cut);
    EXPECT_EQ(here().usage(owner).failure().code(), Code::mismatch);
    node_.intercept<allocator::MeasureBlock>(cut);
    EXPECT_EQ(here().usable_bytes(make(24)).failure().code(), Code::mismatch);
}

TEST_F(FarAllocatorTest, freeing_many_frees_all_that_it_can_on_every_node) {
    std::vector<std::uint64_t> before;
    for (std::uint32_t rank = 0; rank < TwoNodes::procs; ++rank) before.push_back(node_.used(rank));
    std::vector<GlobalAddress> blocks;
    for (std::uint32_t i = 0; i < 3 * allocator::blocks_max; ++i) {
        blocks.push_back(here().allocate(i % TwoNodes::procs, 40, 8).value());
        if (i % 5 == 0) blocks.push_back(0);
    }
    const GlobalAddress gone = make(40);
    ASSERT_TRUE(here().free(gone).is_ok());
    blocks.insert(blocks.begin() + 3, gone);
    EXPECT_EQ(here().free_many(blocks).code(), Code::stale);
    for (std::uint32_t rank = 0; rank < TwoNodes::procs; ++rank)
        EXPECT_EQ(node_.used(rank), before[rank]) << "rank " << rank;
}

TEST_F(FarAllocatorTest, a_block_on_loan_replaces_another_or_goes_back) {
    const std::uint64_t before = used();
    const GlobalAddress old = make(100);
    const auto lent = here().borrow(owner, 100).value();
    EXPECT_EQ(lent.process, 0U);
    EXPECT_TRUE(here().replace(old, lent).is_ok());
    EXPECT_EQ(here().free(old).code(), Code::stale);
    EXPECT_TRUE(here().free(lent.address).is_ok());
    const auto other = here().borrow(owner, 100).value();
    here().give_back(other);
    EXPECT_EQ(used(), before);
    here().give_back(other);  // does nothing
    EXPECT_EQ(used(), before);
    node_.check_heap(owner);
}

TEST_F(FarAllocatorTest, a_replacement_that_is_refused_leaves_the_old_block) {
    const GlobalAddress old = make(100);
    const auto lent = here().borrow(owner, 100).value();
    node_.refuse<ReplaceBlock>(Code::stale);
    base::Status status = here().replace(old, lent);
    EXPECT_EQ(status.code(), Code::stale);
    EXPECT_NE(status.message().find("this rank was taken for dead"), std::string::npos)
        << status.message();
    node_.refuse<ReplaceBlock>(Code::limit);
    EXPECT_EQ(here().replace(old, lent).code(), Code::limit);
    node_.intercept<ReplaceBlock>(nullptr);
    EXPECT_TRUE(here().free(old).is_ok());
    here().give_back(lent);
    node_.check_heap(owner);
}

TEST_F(FarAllocatorTest, a_clear_reaches_the_last_byte_and_no_further) {
    const std::uint64_t bytes = allocator::clear_bytes_max + 13;
    const GlobalAddress block = make(bytes + 8);
    char* const memory = memory_of(block, bytes + 8);
    for (const std::uint64_t some : {std::uint64_t{0}, std::uint64_t{1}, bytes}) {
        std::fill_n(memory, bytes + 8, '\x55');
        ASSERT_TRUE(here().clear(block, some).is_ok());
        EXPECT_EQ(std::count(memory, memory + some, '\0'), static_cast<long>(some));
        EXPECT_EQ(std::count(memory + some, memory + bytes + 8, '\x55'),
                  static_cast<long>(bytes + 8 - some));
    }
    node_.refuse<ClearBlock>(Code::limit);
    EXPECT_EQ(here().clear(block, bytes).code(), Code::limit);
}

TEST_F(FarAllocatorTest, copies_between_a_pointer_and_a_block_carry_each_byte) {
    const GlobalAddress block = make(5000);
    std::vector<char> bytes(5000);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i % 251);
    ASSERT_TRUE(put(*node_[0].gma, block, bytes.data(), bytes.size()).is_ok());
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), memory_of(block, 5000)));
    std::vector<char> back(5000);
    ASSERT_TRUE(get(*node_[0].gma, back.data(), block, back.size()).is_ok());
    EXPECT_EQ(back, bytes);
}

TEST_F(FarAllocatorTest, calls_on_a_lost_node_fail_by_name_and_free_what_others_have) {
    const GlobalAddress block = make(100);
    const GlobalAddress near = here().allocate(1, 100, 8).value();
    const auto lent = here().borrow(owner, 100).value();
    const std::uint64_t before = node_.used(1);
    node_.lose_node(1);
    EXPECT_EQ(here().allocate(owner, 8, 8).failure().code(), Code::peer);
    EXPECT_EQ(here().free(block).code(), Code::peer);
    EXPECT_EQ(here().usable_bytes(block).failure().code(), Code::peer);
    EXPECT_EQ(here().clear(block, 8).code(), Code::peer);
    EXPECT_EQ(here().usage(owner).failure().code(), Code::peer);
    EXPECT_EQ(here().check(owner).code(), Code::peer);
    EXPECT_EQ(here().replace(block, lent).code(), Code::peer);
    here().give_back(lent);  // does nothing
    const std::vector<GlobalAddress> both = {block, near};
    EXPECT_EQ(here().free_many(both).code(), Code::peer);
    EXPECT_LT(node_.used(1), before);
    std::vector<std::uint64_t> sizes(5, 8);
    std::vector<GlobalAddress> blocks(5, 1);
    EXPECT_EQ(here().allocate_many(owner, sizes, blocks).code(), Code::peer);
    EXPECT_EQ(std::count(blocks.begin(), blocks.end(), 0U), 5);
}

TEST_F(FarAllocatorTest, loans_of_a_dead_rank_are_freed_by_the_owner_s_heap) {
    const std::uint64_t before = used();
    (void)node_[1].allocator->borrow(owner, 100).value();
    EXPECT_GT(used(), before);
    node_.die(1);
    // The next allocation that finds no room at once recovers.
    std::vector<GlobalAddress> blocks;
    for (;;) {
        auto block = here().allocate(owner, 16 << 10, 8);
        if (!block.is_ok()) break;
        blocks.push_back(block.value());
    }
    EXPECT_TRUE(here().free_many(blocks).is_ok());
    EXPECT_EQ(used(), before);
    node_.check_heap(owner);
}

}  // namespace
}  // namespace acp::data::test
