// SPDX-License-Identifier: BSD-3-Clause
// Places ranges one after the other.
#include "node/claims.hpp"

#include "base/assert.hpp"
#include "node/segment.hpp"

namespace acp::node {

Claims Claims::of(const Shape& shape, ClaimedRanges ranges) {
    Claims claims;
    claims.add(heap_blocks, shape);
    for (const ClaimedRange* range : ranges) {
        if (range->has_address) claims.add(*range, shape);
    }
    claims.addressed_end_ = claims.end_;
    for (const ClaimedRange* range : ranges) {
        if (!range->has_address) claims.add(*range, shape);
    }
    return claims;
}

void Claims::add(const ClaimedRange& range, const Shape& shape) {
    ACP_ASSERT(count_ < count_max && find(range).number == 0);
    const std::uint64_t start = (end_ + range.alignment - 1) / range.alignment * range.alignment;
    places_[count_] = {start, range.bytes(shape), range.number(), 0};
    end_ = start + places_[count_].bytes;
    ++count_;
}

}  // namespace acp::node
