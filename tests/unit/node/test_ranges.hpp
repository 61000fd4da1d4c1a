// SPDX-License-Identifier: BSD-3-Clause
// Ranges that tests of this layer claim, as the layers above do. Pure; any thread.
#pragma once

#include <array>

#include "node/segment.hpp"

namespace acp::node::test {

inline constexpr ClaimedRange small_range{
    .name = "a small range", .bytes = [](const Shape&) -> std::uint64_t { return 72; }};

inline constexpr ClaimedRange pages_range{
    .name = "pages of this node alone",
    .bytes = [](const Shape& shape) -> std::uint64_t { return 100 * shape.local_procs; },
    .alignment = 4096,
    .has_address = false};

inline constexpr ClaimedRange large_range{
    .name = "a large range", .bytes = [](const Shape&) -> std::uint64_t { return 20'000; }};

// A range without an address stands between those that have one.
inline constexpr std::array<const ClaimedRange*, 3> test_ranges{&small_range, &pages_range,
                                                                &large_range};

// The shape with the places of the ranges, as Segment::create completes it.
[[nodiscard]] inline Shape with_claims(Shape shape) {
    shape.claims = Claims::of(shape, test_ranges);
    return shape;
}

}  // namespace acp::node::test
