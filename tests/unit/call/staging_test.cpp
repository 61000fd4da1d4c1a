// SPDX-License-Identifier: BSD-3-Clause
// The staging circle: pieces never overlap, and an empty circle has room for a piece of its length.
#include "call/staging.hpp"

#include <deque>
#include <gtest/gtest.h>

#include "support/random.hpp"

namespace acp::call {
namespace {

TEST(CallStaging, reserves_and_frees_in_order) {
    Staging staging(256);
    EXPECT_TRUE(staging.is_empty());
    const auto first = staging.reserve(1);
    const auto second = staging.reserve(128);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->offset, 0U);
    EXPECT_EQ(second->offset, 64U);
    EXPECT_FALSE(staging.reserve(65).has_value());
    EXPECT_EQ(staging.reserve(64)->offset, 192U);
    EXPECT_FALSE(staging.reserve(1).has_value());
    staging.release(second->end);
    EXPECT_EQ(staging.reserve(192)->offset, 0U);
}

TEST(CallStaging, puts_a_piece_that_does_not_fit_before_the_end_at_the_start) {
    Staging staging(256);
    const auto first = staging.reserve(128);
    const auto second = staging.reserve(64);
    staging.release(first->end);
    const auto third = staging.reserve(128);
    ASSERT_TRUE(third.has_value());
    EXPECT_EQ(third->offset, 0U);
    EXPECT_FALSE(staging.reserve(1).has_value()) << "the 64 bytes before the end belong to it";
    staging.release(second->end);
    EXPECT_TRUE(staging.reserve(64).has_value());
}

TEST(CallStaging, has_room_for_all_of_its_bytes_whenever_it_is_empty) {
    Staging staging(256);
    for (const std::uint64_t bytes : {64U, 128U, 192U, 64U}) {
        const auto piece = staging.reserve(bytes);
        ASSERT_TRUE(piece.has_value());
        staging.release(piece->end);
        const auto all = staging.reserve(256);
        ASSERT_TRUE(all.has_value());
        EXPECT_EQ(all->offset, 0U);
        staging.release(all->end);
    }
    EXPECT_FALSE(staging.reserve(257).has_value());
    EXPECT_FALSE(staging.reserve(~std::uint64_t{0}).has_value());
}

TEST(CallStaging, frees_all_pieces_at_once) {
    Staging staging(128);
    ASSERT_TRUE(staging.reserve(64) && staging.reserve(64));
    staging.clear();
    EXPECT_TRUE(staging.is_empty());
    EXPECT_TRUE(staging.reserve(128).has_value());
}

TEST(CallStaging, keeps_no_room_for_nothing) {
    Staging staging(64);
    const auto all = staging.reserve(64);
    const auto nothing = staging.reserve(0);
    ASSERT_TRUE(all && nothing);
    staging.release(all->end);
    EXPECT_TRUE(staging.is_empty());
    staging.release(nothing->end);
    EXPECT_TRUE(staging.reserve(64).has_value());
}

TEST(CallStaging, never_overlaps_pieces_in_use) {
    const std::uint64_t seed = test::fresh_seed();
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::Random random(seed);

    struct Used {
        std::uint64_t offset, bytes, end;
    };

    Staging staging(1024);
    std::deque<Used> used;
    for (int step = 0; step < 20'000; ++step) {
        const std::uint64_t bytes = 1 + random.below(400);
        if (const auto piece = staging.reserve(bytes)) {
            ASSERT_LE(piece->offset + bytes, staging.bytes());
            for (const Used& other : used) {
                ASSERT_TRUE(piece->offset + bytes <= other.offset ||
                            other.offset + other.bytes <= piece->offset);
            }
            used.push_back({piece->offset, bytes, piece->end});
        }
        if (!used.empty() && random.below(2) == 0) {
            staging.release(used.front().end);
            used.pop_front();
        }
    }
}

}  // namespace
}  // namespace acp::call
