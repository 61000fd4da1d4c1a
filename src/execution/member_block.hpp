// SPDX-License-Identifier: BSD-3-Clause
// What a member of a plan keeps in its heap, where its partners read and write it:
//
//   the block of a member     BlockHead, an OutgoingLine for each receiver, MessageRecords for all of them, and the outbox twice: what it sends from memory
//                             that its receivers on the node cannot read, or that goes to other nodes, is copied there first
//   its landing block         for each parcel that comes from another node a word, twice, and the landing area of each such sender, twice
//
// Rounds are counted from 1 on. Round r uses the outbox and the landing area number r modulo 2. Every word but `trouble` is the number of a round
// and is written by one member. What is said of rounds across nodes may be overtaken by what is said of the next one, but not of the one
// after that, which begins when the receiver has consumed this one: so there a word is there twice too. A member that dies at any store
// leaves a round that has come, or has not. For who has the heap mapped, by offset, and for gma, by address.
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

// For even rounds and for odd ones.
template <typename Element>
using ByParity = std::array<Element, 2>;

// All zero at the start.
struct BlockHead {
    // By the owner: what it sends in this round and those before is there to be read, on its node.
    alignas(64) RoundWord started{0};
    // By any partner: why the plan is broken.
    team::Trouble trouble;
};

static_assert(sizeof(BlockHead) == 64 + 448);

// Of a member and one that it sends to.
struct alignas(64) OutgoingLine {
    // By the receiver: it reads nothing any more of this round.
    ByParity<RoundWord> consumed{};
    // By the receiver before the first round, if it is on another node: where the words of the parcels and the landing areas are.
    GlobalAddress arrived = 0;
    GlobalAddress landing = 0;
};

static_assert(sizeof(OutgoingLine) == 64);

// One message, as its sender tells the receiver.
struct MessageRecord {
    std::uint64_t bytes = 0;
    GlobalAddress target = 0;  // 0: where the receiver wants the next message from this sender
    // On one node: the address of the bytes in even rounds and in odd ones. Between nodes the first says where in the landing area they come.
    ByParity<std::uint64_t> places{};
};

static_assert(sizeof(MessageRecord) == 32);

// Of memory of a process of this node that all have mapped: starter memory, or what lies in its heap.
[[nodiscard]] inline char* shared_pointer(const local::Space& space,
                                          std::uint32_t process,
                                          GlobalAddress address) noexcept {
    const node::Segment& segment = space.segment();
    const std::uint32_t slot = space.slot_of(process);
    const std::uint64_t in_starter = address - space.starter_address(process);
    if (in_starter < segment.shape().starter_bytes) return segment.starter(slot) + in_starter;
    return segment.claimed(slot) +
           (address - space.claimed_address(process, static_cast<node::Claim>(0)));
}

// The address of memory of the caller that all of its node have mapped; 0: it is other memory.
[[nodiscard]] inline GlobalAddress shared_address(const local::Space& space,
                                                  const char* memory,
                                                  std::uint64_t bytes) noexcept {
    const node::Segment& segment = space.segment();
    const auto in_starter = static_cast<std::uint64_t>(memory - segment.starter(space.slot()));
    if (memory::is_within(in_starter, segment.shape().starter_bytes, bytes))
        return space.starter_address(space.process()) + in_starter;
    const auto in_heap = static_cast<std::uint64_t>(
        memory - segment.claimed(space.slot(), node::Claim::heap_blocks));
    if (memory::is_within(in_heap, segment.shape().heap_bytes, bytes))
        return space.claimed_address(space.process(), node::Claim::heap_blocks) + in_heap;
    return 0;
}

}  // namespace acp::execution
