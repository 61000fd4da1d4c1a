// SPDX-License-Identifier: BSD-3-Clause
// What a compiled plan comes to for one member: which bytes it copies where when a round starts, what it hands to the network, and what it
// takes from whom. Made by the compiler, carried out by Rounds. Values.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "exchange/send_order.hpp"
#include "sync/bell.hpp"

#include "execution/member_block.hpp"
#include "execution/pattern.hpp"

namespace acp::execution {

// A message that is copied to the outbox.
struct PackedMessage {
    const char* source = nullptr;
    ByParity<char*> to{};
    std::uint64_t bytes = 0;
    BlockPointer block;  // how they lie at the source; nullptr: side by side
};

// What goes to another node at once, with a word behind it.
struct RoutedParcel {
    std::uint32_t process = 0;
    bool is_in_place = false;  // straight from the program's buffer
    std::uint32_t rail = 0;    // which the colour of `to` chooses
    std::uint64_t bytes = 0;
    ByParity<GlobalAddress> from{};
    ByParity<const char*> memory{};  // the same
    ByParity<GlobalAddress> to{};
    ByParity<GlobalAddress> arrived{};
};

// A member that the caller sends to.
struct OutgoingRoute {
    std::uint32_t rank = 0;
    OutgoingLine* line = nullptr;  // the caller's
    bool is_read_in_place =
        false;  // from the program's buffer: a round lasts until the receiver has it
};

struct TakenMessage {
    ByParity<char*> from{};
    char* target = nullptr;
    std::uint64_t bytes = 0;
    bool is_in_lines = false;  // of the sender's outbox, on this node, that nobody else reads
    BlockPointer block;        // how they are to lie at the target; nullptr: side by side
};

// A member that the caller receives from.
struct IncomingRoute {
    std::uint32_t rank = 0;
    std::uint32_t process = 0;
    const RoundWord* started = nullptr;       // on this node: the sender's
    ByParity<RoundWord>* consumed = nullptr;  // likewise
    ByParity<GlobalAddress> consumed_address{};
    const ByParity<RoundWord>* arrived =
        nullptr;                // from another node: the first of the caller's words
    std::uint32_t parcels = 0;  // how many
    std::vector<TakenMessage> messages;
    std::uint64_t taken = 0;         // the last round of which the caller has all
    std::uint32_t parcels_seen = 0;  // of the next one
};

// For people: what goes one way between two members in each round.
struct PartnerFlow {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    std::uint64_t in_place = 0;  // of the messages
    std::uint64_t parcels = 0;   // between nodes
};

// A member on the other side of some message.
struct Partner {
    std::uint32_t rank = 0;
    std::uint32_t process = 0;
    GlobalAddress block = 0;
    BlockHead* head = nullptr;     // on this node
    sync::Bell<>* bell = nullptr;  // likewise, and not the caller itself
    PartnerFlow sent, received;
};

// How a plan uses the networks between the nodes.
struct RailUse {
    unsigned rails = 1;
    std::uint32_t engines =
        0;  // of a node of the network that was given, by which each parcel has a rail; 0: none was
};

struct PlanRoutes {
    std::uint64_t number = 0;  // of the team, for people
    BlockHead* head = nullptr;
    std::vector<std::uint32_t> processes;  // of all members
    std::vector<Partner> partners;
    std::vector<OutgoingRoute> outgoing;
    std::vector<PackedMessage> packed;
    std::vector<RoutedParcel> parcels;  // in the order in which they go
    std::vector<IncomingRoute> incoming;
    std::vector<GlobalAddress> blocks;  // of the caller's heap
    std::uint64_t heap_bytes = 0;       // of these
    RailUse rails;
};

}  // namespace acp::execution
