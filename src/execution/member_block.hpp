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

}  // namespace acp::execution
