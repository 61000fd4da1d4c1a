// SPDX-License-Identifier: BSD-3-Clause
// The memory of a plan in the heap of each member, which its partners read and write:
//
//   block of a member   BlockHead, an OutgoingLine for each receiver, the MessageRecords of all
//                       receivers, and two outboxes. A message is copied to an outbox if its
//                       receiver on the node cannot read it in place, or if it goes to another
//                       node and is not sent in place
//   its landing block   two words for each parcel that arrives from another node, and two landing
//                       areas for each sender of another node
//
// Rounds are counted from 1. Round r uses outbox, landing area and words number r modulo 2. Each
// round word has one writer, which stores the number of a round. Two writes to a word of another
// node, for rounds r and r + 1, may be performed in either order; the write for round r + 2 is
// issued only after round r was consumed. So every word that another node writes exists twice. A
// member that dies between two stores leaves each word either before or after a round, never
// between. Members of the node access the block in their mapping, by offset; gma accesses it by
// address.
// Tests: tests/conformance/exchange_test.cpp, also under loss.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "data/allocator.hpp"
#include "local/space.hpp"
#include "team/board.hpp"

namespace acp::execution {

using memory::GlobalAddress;
using RoundWord = std::atomic<std::uint64_t>;

// One element for even rounds, one for odd rounds.
template <typename Element>
using ByParity = std::array<Element, 2>;

// All zero at the start.
struct BlockHead {
    // Written by the owner: its messages of this and earlier rounds may be read by members of its
    // node.
    alignas(64) RoundWord started{0};
    // Written by any partner: the reason for which the plan is broken.
    team::Trouble trouble;
};

static_assert(sizeof(BlockHead) == 64 + 448);

// The words between a member and one of its receivers.
struct alignas(64) OutgoingLine {
    // Written by the receiver: it has stopped reading this round's messages.
    ByParity<RoundWord> consumed{};
    // Written by a receiver on another node before the first round: addresses of its parcel words
    // and of its landing areas.
    GlobalAddress arrived = 0;
    GlobalAddress landing = 0;
};

static_assert(sizeof(OutgoingLine) == 64);

// One message, written by its sender and fetched by the receiver.
struct MessageRecord {
    std::uint64_t bytes = 0;
    GlobalAddress target = 0;  // 0: the receiver takes its next receive from this sender
    // On one node: the address of the bytes in even and in odd rounds. Between nodes: places[0] is
    // the offset in the landing area.
    ByParity<std::uint64_t> places{};
};

static_assert(sizeof(MessageRecord) == 32);

}  // namespace acp::execution
