// SPDX-License-Identifier: BSD-3-Clause
// What the two ends of a channel or a segmented buffer tell each other before they can speak.
#pragma once

#include <atomic>
#include <cstdint>

#include "memory/ga_layout.hpp"

namespace acp::message {

using memory::GlobalAddress;

// Of an end. The other one writes its own to `letter`. Said of channels; of a segmented buffer, `ring` is where the destination's segments lie,
// `record_bytes` the length of a segment and `key` how many there are (segbuf_end.cpp).
struct Introduction {
    GlobalAddress letter = 0;  // of a Letter in the heap of the end's rank
    GlobalAddress ring =
        0;  // receiver: memory of the ring, in its heap. Sender: where the ring's credits lie if it is on another node
    std::uint64_t record_bytes = 0;  // receiver: of the ring's shape
    std::uint64_t key = 0;           // receiver: under which the ring was opened first
};

// Where an introduction arrives.
struct Letter {
    Introduction from;
    std::atomic<std::uint64_t> has_come{0};  // 1: it has; written last
};

static_assert(sizeof(Letter) == 40);

}  // namespace acp::message
