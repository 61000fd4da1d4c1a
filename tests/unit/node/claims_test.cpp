// SPDX-License-Identifier: BSD-3-Clause
// The table of claims, and where its ranges lie in a segment.
#include "node/claims.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

#include "node/segment.hpp"

namespace acp::node {
namespace {

Shape three_processes() {
    Shape shape;
    shape.procs = shape.local_procs = shape.machine_procs = 3;
    shape.starter_bytes = 100;
    shape.datagram_bytes = 1408;
    return shape;
}

TEST(Claims, lie_one_after_the_other_each_as_it_is_to_be_aligned) {
    const Shape shape = three_processes();
    std::uint64_t end = 0;
    for (std::uint32_t i = 0; i < claimed_ranges.size(); ++i) {
        const auto claim = static_cast<Claim>(i);
        const std::uint64_t alignment = claimed_ranges[i].alignment;
        EXPECT_GE(claim_offset(claim, shape), end);
        EXPECT_LT(claim_offset(claim, shape), end + alignment);
        EXPECT_EQ(claim_offset(claim, shape) % alignment, 0U);
        EXPECT_EQ(alignment % claim_alignment, 0U);
        end = claim_offset(claim, shape) + claim_bytes(claim, shape);
    }
    EXPECT_EQ(end, claimed_bytes(shape));
}

TEST(Claims, of_the_gateway_come_first) {
    bool is_gateways = true;
    for (const ClaimedRange& range : claimed_ranges) {
        EXPECT_TRUE(is_gateways || !range.has_gateway_one) << range.name;
        is_gateways = range.has_gateway_one;
    }
    EXPECT_LE(gateway_claimed_bytes(three_processes()), claimed_bytes(three_processes()));
}

TEST(Claims, have_names_of_their_own) {
    std::set<std::string_view> names;
    for (const ClaimedRange& range : claimed_ranges) EXPECT_TRUE(names.insert(range.name).second);
    EXPECT_FALSE(names.contains(""));
}

TEST(Claims, are_zero_at_first_and_apart_for_each_process_of_a_node) {
    const Shape shape = three_processes();
    auto made = Segment::create(shape);
    ASSERT_TRUE(made.is_ok()) << made.failure().message();
    const Segment segment = std::move(made).value();
    const auto is_all = [&](std::uint32_t slot, char value) {
        return std::all_of(segment.claimed(slot), segment.claimed(slot) + claimed_bytes(shape),
                           [value](char byte) { return byte == value; });
    };
    for (std::uint32_t slot = 0; slot < 3; ++slot) EXPECT_TRUE(is_all(slot, 0));
    std::fill_n(segment.claimed(1), claimed_bytes(shape), 'x');
    EXPECT_TRUE(is_all(0, 0));
    EXPECT_TRUE(is_all(1, 'x'));
    EXPECT_TRUE(is_all(2, 0));
    EXPECT_EQ(segment.starter(0)[0], 0);
    EXPECT_EQ(segment.claimed(2, Claim::fetched_words),
              segment.claimed(2) + claim_offset(Claim::fetched_words, shape));
}

}  // namespace
}  // namespace acp::node
