// SPDX-License-Identifier: BSD-3-Clause
// How much memory a node of a job takes, part by part, before anything is made: the arithmetic behind
// "acpinfo --memory". Reserved is address space and the most a part can ever take; at start is what is in
// memory once every rank has joined and before anything was sent; in use, once all have talked to all by shared
// memory and over the network for long. Knows no machine. Pure; any thread.
// Tests: tests/unit/node/footprint_test.cpp holds it to what a segment really takes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "node/control.hpp"

namespace acp::node {

struct FootprintPart {
    std::string_view name;         // "starter memory"
    std::string_view growth;       // what makes it larger than at start; "" when nothing does
    std::uint64_t reserved_bytes;  // of the whole node
    std::uint64_t start_bytes;     // of the whole node; <= used_bytes
    std::uint64_t used_bytes;      // of the whole node; <= reserved_bytes
};

// The parts of the node segment in the order of SegmentLayout; the reserved bytes add up to its total.
//   shape  as Segment::create takes it
[[nodiscard]] std::vector<FootprintPart> footprint_of(const Shape& shape);

}  // namespace acp::node
