// SPDX-License-Identifier: BSD-3-Clause
// Where claimed ranges lie in a segment.
#include "node/claims.hpp"

#include <algorithm>
#include <gtest/gtest.h>

#include "node/segment.hpp"

#include "unit/node/test_ranges.hpp"

namespace acp::node {
namespace {

using test::large_range;
using test::pages_range;
using test::small_range;
using test::test_ranges;

Shape three_processes() {
    Shape shape;
    shape.procs = shape.local_procs = shape.machine_procs = 3;
    shape.starter_bytes = 100;
    shape.datagram_bytes = 1408;
    shape.heap_bytes = 4096 * 3;
    return shape;
}

TEST(Claims, lie_behind_the_heap_those_with_an_address_first_each_as_it_is_to_be_aligned) {
    const Claims claims = Claims::of(three_processes(), test_ranges);
    EXPECT_EQ(claims.offset(heap_blocks), 0U);
    EXPECT_EQ(claims.bytes(heap_blocks), 4096U * 3);
    EXPECT_EQ(claims.offset(small_range), 4096U * 3);
    EXPECT_EQ(claims.bytes(small_range), 72U);
    EXPECT_EQ(claims.offset(large_range), 4096U * 3 + 128);
    EXPECT_EQ(claims.addressed_end(), 4096U * 3 + 128 + 20'000);
    EXPECT_EQ(claims.offset(pages_range), 4096U * 8);
    EXPECT_EQ(claims.bytes(pages_range), 300U);
    EXPECT_EQ(claims.end(), 4096U * 8 + 300);
}

TEST(Claims, of_an_unknown_range_are_empty) {
    const Claims claims = Claims::of(three_processes(), {});
    EXPECT_EQ(claims.bytes(small_range), 0U);
    EXPECT_EQ(claims.end(), 4096U * 3);
    EXPECT_EQ(claims.addressed_end(), claims.end());
}

TEST(ClaimsDeathTest, of_two_ranges_with_one_name_end_the_process) {
    static constexpr ClaimedRange twin{.name = small_range.name,
                                       .bytes = [](const Shape&) -> std::uint64_t { return 1; }};
    static constexpr std::array<const ClaimedRange*, 2> twins{&small_range, &twin};
    EXPECT_DEATH((void)Claims::of(three_processes(), twins), "find\\(range\\)");
}

TEST(Claims, are_zero_at_first_and_apart_for_each_process_of_a_node) {
    auto made = Segment::create(three_processes(), test_ranges);
    ASSERT_TRUE(made.is_ok()) << made.failure().message();
    const Segment segment = std::move(made).value();
    const std::uint64_t bytes = segment.shape().claims.end();
    const auto is_all = [&](std::uint32_t slot, char value) {
        return std::all_of(segment.claimed(slot), segment.claimed(slot) + bytes,
                           [value](char byte) { return byte == value; });
    };
    for (std::uint32_t slot = 0; slot < 3; ++slot) EXPECT_TRUE(is_all(slot, 0));
    std::fill_n(segment.claimed(1), bytes, 'x');
    EXPECT_TRUE(is_all(0, 0));
    EXPECT_TRUE(is_all(1, 'x'));
    EXPECT_TRUE(is_all(2, 0));
    EXPECT_EQ(segment.starter(0)[0], 0);
    EXPECT_EQ(segment.claimed(2, small_range), segment.claimed(2) + 4096 * 3);
}

TEST(Claims, tell_whether_another_build_made_the_segment) {
    auto made = Segment::create(three_processes(), test_ranges);
    ASSERT_TRUE(made.is_ok()) << made.failure().message();
    EXPECT_TRUE(made.value().check_ranges(test_ranges).is_ok());
    EXPECT_EQ(made.value().check_ranges({}).code(), base::Code::mismatch);
}

}  // namespace
}  // namespace acp::node
