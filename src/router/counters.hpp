// SPDX-License-Identifier: BSD-3-Clause
// The counters of a router: commands, frames and bytes, and one counter for each reason to refuse a
// frame. They count from the router's construction and are written by the router's thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace acp::router {

// Why a frame is refused. The router severs its sender, because it violates the protocol, and
// because the contents of the frame would otherwise be lost silently (WIRE-104).
enum class Fault : std::uint8_t {
    none,
    short_frame,    // the datagram ends inside the frame
    unknown_type,   // no frame has this type
    bad_reserved,   // a field that must be zero is not
    bad_process,    // a process index the job does not have
    bad_node,       // a node the job does not have
    bad_count,      // a count of zero, or more than there can be
    bad_code,       // an unknown code, or ok where a failure is reported
    bad_operation,  // an unknown operation, or not of this width
    bad_length,     // more bytes than the whole copy, or none where there must be some
    misdirected,    // about memory or a process of another node
    forged,         // from a node that may not send this frame about this command
    overrun,        // more bytes of a copy arrived than it has
    contradiction,  // a piece of a copy with another total than the first
    // about a meeting or round that cannot be in progress, or with wrong values
    bad_meeting
};

inline constexpr std::size_t fault_count = 15;

// The name of a fault ("short_frame"), a static text.
[[nodiscard]] std::string_view name_of(Fault fault) noexcept;

struct RouterCounters {
    std::array<std::uint64_t, fault_count> faults{};  // indexed by Fault; [none] stays 0

    // At the initiator's node.
    std::uint64_t commands = 0;
    std::uint64_t completions = 0;
    std::uint64_t late_ends = 0;      // ENDs of commands that are not outstanding: ignored
    std::uint64_t stranger_ends = 0;  // reports of nodes that the command does not involve: ignored
    std::uint64_t resends = 0;        // commands and pieces sent again after a refusal

    // At the source's node.
    std::uint64_t puts_sent = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t runs = 0;              // commands and operations run for other nodes
    std::uint64_t commands_refused = 0;  // answered by REFUSED for lack of room

    // At the target's node.
    std::uint64_t puts = 0;
    std::uint64_t bytes_placed = 0;
    // pieces of a get that has completed, and work of initiators that are dead or severed: not
    // begun
    std::uint64_t late_puts = 0;
    std::uint64_t puts_kept = 0;     // kept by the router because placement had no room
    std::uint64_t puts_refused = 0;  // answered by REFUSED: the router had no room to keep them
    std::uint64_t forgotten = 0;     // copies dropped when only a part was placed
    std::uint64_t bad_tickets = 0;   // calls of on_settled() with an unknown ticket

    // On all nodes.
    // nodes severed because too many short frames waited for room to them
    std::uint64_t ends_overflows = 0;
    std::uint64_t news = 0;       // losses noted: deaths of processes, severed nodes
    std::uint64_t no_memory = 0;  // reservations that the endpoint refused for lack of memory
};

}  // namespace acp::router
