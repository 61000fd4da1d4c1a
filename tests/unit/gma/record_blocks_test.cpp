// SPDX-License-Identifier: BSD-3-Clause
// Records in blocks: order, places, and that memory is used again.
#include "gma/record_blocks.hpp"

#include <deque>
#include <gtest/gtest.h>
#include <set>
#include <utility>

#include "base/random.hpp"

#include "support/refuse_memory.hpp"

namespace acp::gma {
namespace {

using Blocks = RecordBlocks<std::uint64_t>;

TEST(RecordBlocks, holds_what_a_queue_holds_and_where_it_was_put) {
    constexpr std::uint64_t seed = 20'261'121;
    base::Random random(seed);
    Blocks blocks;
    std::deque<std::pair<std::uint64_t, std::uint64_t*>> model;
    std::uint64_t next = 0;
    for (int round = 0; round < 3000; ++round) {
        const std::uint64_t pushed = random.below(round % 50 == 0 ? 5000 : 200);
        for (std::uint64_t i = 0; i < pushed; ++i) {
            std::uint64_t& place = blocks.push_back();
            place = ++next;
            model.emplace_back(next, &place);
        }
        const std::uint64_t popped = random.below(model.size() + 1);
        blocks.pop_front(popped);
        model.erase(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(popped));
        ASSERT_EQ(blocks.size(), model.size()) << "seed " << seed << " round " << round;
        ASSERT_EQ(blocks.is_empty(), model.empty());
        for (std::uint64_t i = 0; i < model.size(); i += 1 + random.below(40)) {
            ASSERT_EQ(blocks[i], model[i].first) << "seed " << seed << " round " << round;
            ASSERT_EQ(&blocks[i], model[i].second);
        }
    }
}

TEST(RecordBlocks, uses_little_memory_where_little_is_in_use) {
    Blocks blocks;
    std::set<std::uint64_t*> places;
    for (std::uint64_t i = 0; i < 100 * Blocks::per_block; ++i) {
        places.insert(&blocks.push_back());
        blocks.pop_front(1);
    }
    EXPECT_EQ(places.size(), Blocks::per_block);
}

TEST(RecordBlocks, has_room_for_two_in_an_empty_queue_once_two_blocks_are_kept) {
    Blocks blocks;
    ASSERT_TRUE(blocks.keep_two_blocks());
    const acp::test::Refusal refusal(1, acp::test::all_from_there);
    EXPECT_TRUE(blocks.keep_two_blocks());
    for (std::uint64_t i = 0; i < 3 * Blocks::per_block; ++i) {
        ASSERT_TRUE(blocks.make_room(2)) << i;
        blocks.push_back() = i;
        if (i % 2 == 0) blocks.push_back() = i;  // pairs begin at each place of a block
        blocks.pop_front(blocks.size());
    }
}

TEST(RecordBlocks, makes_room_for_two_wherever_a_block_ends) {
    Blocks blocks;
    for (std::uint64_t i = 0; i < 20 * Blocks::per_block; ++i) {
        ASSERT_TRUE(blocks.make_room(2));
        blocks.push_back() = i;
        ASSERT_TRUE(blocks.make_room(2));
        if (i % 3 == 0) blocks.pop_front(1);
        ASSERT_EQ(blocks[blocks.size() - 1], i);
    }
    ASSERT_EQ(blocks[0], 20 * Blocks::per_block - blocks.size());
}

TEST(RecordBlocks, takes_many_away_at_once_over_the_ends_of_blocks) {
    Blocks blocks;
    for (const std::uint64_t count : {Blocks::per_block - 1, Blocks::per_block,
                                      Blocks::per_block + 1, 10 * Blocks::per_block}) {
        for (std::uint64_t i = 0; i < count; ++i) blocks.push_back() = i;
        blocks.pop_front(count - 1);
        ASSERT_EQ(blocks.size(), 1U);
        EXPECT_EQ(blocks[0], count - 1);
        blocks.pop_front(1);
        EXPECT_TRUE(blocks.is_empty());
    }
}

}  // namespace
}  // namespace acp::gma
