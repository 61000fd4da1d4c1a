// SPDX-License-Identifier: BSD-3-Clause
// Why the heaps of a job have their size, for messages of layers that do not know the node's shape.
// Any thread. Tests: tests/unit/node/heap_limit_test.cpp.
#pragma once

#include <string>

#include "node/heap_limit.hpp"
#include "node/segment.hpp"

namespace acp::allocator {

[[nodiscard]] inline std::string heap_size_text(const node::Segment& segment) {
    return node::text_of(static_cast<node::HeapBound>(segment.shape().heap_bound));
}

}  // namespace acp::allocator
