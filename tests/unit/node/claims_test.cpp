// SPDX-License-Identifier: BSD-3-Clause
// The table of claims, and where its ranges lie in a segment.
#include "node/claims.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

#include "node/segment.hpp"

namespace acp::node {
namespace {

TEST(Claims, lie_one_after_the_other_without_a_gap) {
    std::uint64_t end = 0;
    for (std::uint32_t i = 0; i < claimed_ranges.size(); ++i) {
        EXPECT_EQ(claim_offset(static_cast<Claim>(i)), end);
        EXPECT_EQ(claim_offset(static_cast<Claim>(i)) % claim_alignment, 0U);
        end += claim_bytes(static_cast<Claim>(i));
    }
    EXPECT_EQ(end, claimed_bytes);
}

TEST(Claims, have_names_of_their_own) {
    std::set<std::string_view> names;
    for (const ClaimedRange& range : claimed_ranges) EXPECT_TRUE(names.insert(range.name).second);
    EXPECT_FALSE(names.contains(""));
}

TEST(Claims, are_zero_at_first_and_apart_for_each_process_of_a_node) {
    Shape shape;
    shape.procs = shape.local_procs = shape.machine_procs = 3;
    shape.starter_bytes = 100;
    shape.datagram_bytes = 1408;
    auto made = Segment::create(shape);
    ASSERT_TRUE(made.is_ok()) << made.failure().message();
    const Segment segment = std::move(made).value();
    const auto is_all = [&](std::uint32_t slot, char value) {
        return std::all_of(segment.claimed(slot), segment.claimed(slot) + claimed_bytes,
                           [value](char byte) { return byte == value; });
    };
    for (std::uint32_t slot = 0; slot < 3; ++slot) EXPECT_TRUE(is_all(slot, 0));
    std::fill_n(segment.claimed(1), claimed_bytes, 'x');
    EXPECT_TRUE(is_all(0, 0));
    EXPECT_TRUE(is_all(1, 'x'));
    EXPECT_TRUE(is_all(2, 0));
    EXPECT_EQ(segment.starter(0)[0], 0);
    EXPECT_EQ(segment.claimed(2, Claim::fetched_words),
              segment.claimed(2) + claim_offset(Claim::fetched_words));
}

}  // namespace
}  // namespace acp::node
