// SPDX-License-Identifier: BSD-3-Clause
// The data that the two ends of a channel or segmented buffer exchange before they can communicate.
#pragma once

#include <atomic>
#include <cstdint>

#include "memory/ga_layout.hpp"

namespace acp::message {

using memory::GlobalAddress;

// The introduction of an end. The partner writes its own introduction to `letter`. The comments
// below are for channels. For a segmented buffer, `ring` is the address of the destination's
// segments, `record_bytes` the length of a segment and `key` the number of segments
// (segbuf_end.cpp).
struct Introduction {
    GlobalAddress letter = 0;  // address of a Letter in the heap of the end's rank
    // Receiver: the memory of the ring, in its heap. Sender: the ring's credits, if the receiver is
    // on another node.
    GlobalAddress ring = 0;
    std::uint64_t record_bytes = 0;  // receiver: see RingShape
    std::uint64_t key = 0;           // receiver: the first key under which the ring was opened
};

// The introduction slot: where the partner's introduction arrives.
struct Letter {
    Introduction from;
    std::atomic<std::uint64_t> has_come{0};  // 1: `from` is valid; written last
};

static_assert(sizeof(Letter) == 40);

}  // namespace acp::message
