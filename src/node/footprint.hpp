// SPDX-License-Identifier: BSD-3-Clause
// How much memory a node of a job takes, part by part, before anything is made: the arithmetic
// behind "acpinfo --memory". Reserved: address space, and the most that a part can ever take. At
// start: memory in use once every rank has joined, before anything was sent. In use: after all
// ranks have exchanged data for long, by shared memory and over the network. Knows no machine.
// Pure; any thread.
// Tests: tests/unit/node/footprint_test.cpp compares it with a real segment.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "node/control.hpp"

namespace acp::node {

struct FootprintPart {
    std::string_view name;         // "starter memory"
    std::string_view growth;       // what makes it larger than at start; "": nothing does
    std::uint64_t reserved_bytes;  // the whole node's
    std::uint64_t start_bytes;     // the whole node's; <= used_bytes
    std::uint64_t used_bytes;      // the whole node's; <= reserved_bytes
};

// The parts of the node segment in the order of SegmentLayout; the reserved bytes add up to its
// total.
//   wanted, ranges  as Segment::create takes them
[[nodiscard]] std::vector<FootprintPart> footprint_of(const Shape& wanted, ClaimedRanges ranges);

}  // namespace acp::node
