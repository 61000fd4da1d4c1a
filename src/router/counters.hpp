// SPDX-License-Identifier: BSD-3-Clause
// What a router counts: a named counter for every reason to refuse a frame, and what it did. Since the router was
// made. Written by the router's thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace acp::router {

// Why a frame is refused. Its sender is then severed: it is not of this protocol, and what it lost would be
// lost in silence otherwise (WIRE-104).
enum class Fault : std::uint8_t {
    none,
    short_frame,    // the datagram ends inside the frame
    unknown_type,   // no frame has this type
    bad_reserved,   // a field that must be zero is not
    bad_process,    // a process index the job does not have
    bad_node,       // a node the job does not have
    bad_count,      // a count of zero, or more than there can be
    bad_code,       // no such code, or ok where a failure must be
    bad_operation,  // no such operation, or not of this width
    bad_length,     // more bytes than the whole has, or none where some must be
    misdirected,    // about memory or a process of another node
    forged,         // from a node that cannot say this
    overrun,        // more bytes of a copy than it has
    contradiction,  // of a copy, but with another total
    bad_meeting     // of a meeting or round that cannot be now, or with values that do not fit it
};

inline constexpr std::size_t fault_count = 15;

// "short_frame", ...; static text.
[[nodiscard]] std::string_view name_of(Fault fault) noexcept;

struct RouterCounters {
    std::array<std::uint64_t, fault_count> faults{};  // by Fault; [none] stays 0

    // Initiator's side.
    std::uint64_t commands = 0;
    std::uint64_t completions = 0;
    std::uint64_t late_ends = 0;      // of a command that is not outstanding: ignored
    std::uint64_t stranger_ends = 0;  // from a node the command does not involve: ignored
    std::uint64_t resends = 0;        // commands and pieces sent again because they were refused

    // Source's side.
    std::uint64_t puts_sent = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t runs = 0;              // commands and operations run here for others
    std::uint64_t commands_refused = 0;  // no room to keep them: REFUSED

    // Target's side.
    std::uint64_t puts = 0;
    std::uint64_t bytes_placed = 0;
    std::uint64_t late_puts = 0;     // of a get that has ended: not placed
    std::uint64_t puts_kept = 0;     // no room at the process: kept here
    std::uint64_t puts_refused = 0;  // nor here: REFUSED
    std::uint64_t forgotten = 0;     // copies given up half placed
    std::uint64_t bad_tickets = 0;   // on_settled for what is not under way

    // Both.
    std::uint64_t ends_overflows = 0;  // nodes severed because they take no ends
    std::uint64_t news = 0;            // deaths heard of
    std::uint64_t no_memory = 0;       // room at the endpoint that was refused for want of memory
};

}  // namespace acp::router
