// SPDX-License-Identifier: BSD-3-Clause
// A compiled plan as one member carries it out: which bytes it copies to the outbox when a round
// starts, which parcels it issues to other nodes, and which bytes it takes from which sender. The
// compiler makes it, Rounds carries it out. Values.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "exchange/send_order.hpp"
#include "sync/bell.hpp"

#include "execution/member_block.hpp"
#include "execution/pattern.hpp"

namespace acp::execution {

// A message that is copied to the outbox at the start of a round.
struct PackedMessage {
    const char* source = nullptr;
    ByParity<char*> to{};
    std::uint64_t bytes = 0;
    BlockPointer block;  // layout of the bytes at the source; nullptr: contiguous
};

// One copy to another node, and the word that is written behind it.
struct RoutedParcel {
    std::uint32_t process = 0;
    bool is_in_place = false;  // sent from the program's buffer, not from the outbox
    std::uint32_t rail = 0;    // encoded as the colour of `to`
    std::uint64_t bytes = 0;
    ByParity<GlobalAddress> from{};
    ByParity<const char*> memory{};  // pointers to `from`
    ByParity<GlobalAddress> to{};
    ByParity<GlobalAddress> arrived{};
};

// A member that the caller sends to.
struct OutgoingRoute {
    std::uint32_t rank = 0;
    OutgoingLine* line = nullptr;  // lies in the caller's block
    // The receiver reads the program's buffer: the round ends only after it has consumed the round.
    bool is_read_in_place = false;
};

struct TakenMessage {
    ByParity<char*> from{};
    char* target = nullptr;
    std::uint64_t bytes = 0;
    // whole cache lines of the outbox of a sender on this node, read by this member only
    bool is_in_lines = false;
    BlockPointer block;  // layout at the target; nullptr: contiguous
};

// A member that the caller receives from.
struct IncomingRoute {
    std::uint32_t rank = 0;
    std::uint32_t process = 0;
    const RoundWord* started = nullptr;       // sender on this node: its word; else nullptr
    ByParity<RoundWord>* consumed = nullptr;  // sender on this node: its words; else nullptr
    ByParity<GlobalAddress> consumed_address{};
    // Sender on another node: the first of the caller's words; else nullptr.
    const ByParity<RoundWord>* arrived = nullptr;
    std::uint32_t parcels = 0;  // words that arrive in each round
    std::vector<TakenMessage> messages;
    std::uint64_t taken = 0;         // the last round that the caller took
    std::uint32_t parcels_seen = 0;  // parcels of the next round that have arrived
};

// The messages that one partner sends to another in each round, for diagnostics.
struct PartnerFlow {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    std::uint64_t in_place = 0;  // messages that are read or sent in place
    std::uint64_t parcels = 0;   // 0 within a node
};

// A member on the other side of some message.
struct Partner {
    std::uint32_t rank = 0;
    std::uint32_t process = 0;
    GlobalAddress block = 0;
    BlockHead* head = nullptr;     // partner on this node: its block; else nullptr
    sync::Bell<>* bell = nullptr;  // partner on this node other than the caller; else nullptr
    PartnerFlow sent, received;
};

// How a plan uses the networks between the nodes.
struct RailUse {
    unsigned rails = 1;
    // Engines of each node of the network that was given, from which the rails of parcels follow;
    // 0: no network was given.
    std::uint32_t engines = 0;
};

struct PlanRoutes {
    std::uint64_t number = 0;  // number in the team, for diagnostics
    BlockHead* head = nullptr;
    std::vector<std::uint32_t> processes;  // process index of each team rank
    std::vector<Partner> partners;
    std::vector<OutgoingRoute> outgoing;
    std::vector<PackedMessage> packed;
    std::vector<RoutedParcel> parcels;  // order: as they are sent
    std::vector<IncomingRoute> incoming;
    std::vector<GlobalAddress> blocks;  // blocks in the caller's heap
    std::uint64_t heap_bytes = 0;       // total size of `blocks`
    RailUse rails;
};

}  // namespace acp::execution
