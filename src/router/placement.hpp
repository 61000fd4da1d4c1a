// SPDX-License-Identifier: BSD-3-Clause
// How the router reaches the memory of its own node: the gateway implements it over local/, the simulator over
// arrays. Each call settles at once, or is taken and settles later through Router::on_settled, or finds no room
// now. Addresses come from the network: every one is checked here (segment, bounds, generation, alignment).
// Knows no frame. One thread. Called from inside the router: may call on_settled (of earlier tickets), nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "memory/command.hpp"

namespace acp::router {

using memory::GlobalAddress;
using Ticket = std::uint64_t;

enum class SettlementState : std::uint8_t {
    settled,  // done, or failed: see code
    taken,    // on_settled(ticket, code, value) comes later
    refused  // no room for this process now: ask again later; Router::on_place_room() may tell when
};

// Which address of a command a failure is about; none: it is not known, or neither.
enum class BlamedAddress : std::uint8_t { none, target, source };

struct Settlement {
    SettlementState progress = SettlementState::settled;
    base::Code code = base::Code::ok;
    BlamedAddress blamed = BlamedAddress::none;  // of a command that failed; run() alone says it
};

class Placement {
public:
    Placement() = default;
    virtual ~Placement() = default;
    Placement(const Placement&) = delete;
    Placement& operator=(const Placement&) = delete;

    // Writes bytes to memory of this node. When taken, they have been copied.
    virtual Settlement put(GlobalAddress target,
                           std::span<const std::byte> bytes,
                           Ticket ticket) = 0;

    // Reads memory of this node into `into` during the call, or refuses, nothing done: what cannot be read at once
    // is then asked of get(). Memory that is mapped here should be read here: it saves a copy.
    virtual Settlement get_now(GlobalAddress /*source*/, std::span<std::byte> /*into*/) {
        return {SettlementState::refused, base::Code::ok};
    }

    // Where the bytes of memory of this node can be read as long as the router lives, whatever becomes of what is
    // registered there; nullptr: nowhere, or not without more ado. It saves a copy of long pieces.
    [[nodiscard]] virtual const std::byte* find_lasting(GlobalAddress /*source*/,
                                                        std::uint64_t /*bytes*/) {
        return nullptr;
    }

    // Reads memory of this node into `into`, which stays valid until it settles.
    virtual Settlement get(GlobalAddress source, std::span<std::byte> into, Ticket ticket) = 0;

    // Runs a command whose ends are both here, or an atomic whose word (source) is here and whose old value is
    // wanted back (command.target is not written then).   old  written when settled at once with ok
    virtual Settlement run(const memory::Command& command,
                           bool is_value_wanted,
                           std::uint64_t& old,
                           Ticket ticket) = 0;

    // A numbered operation on memory of a process of this node. It is settled, or refused (ask again later), never taken.
    //   result  room for a result; result_bytes  written when settled with ok, <= result.size()
    virtual Settlement invoke(std::uint32_t operation,
                              std::uint32_t process,
                              std::span<const std::byte> arguments,
                              std::span<std::byte> result,
                              std::uint32_t& result_bytes) = 0;

    // The longest result that an operation may have: for so much room is made in a datagram before it runs.
    [[nodiscard]] virtual std::uint32_t result_bytes_max(std::uint32_t /*operation*/) const {
        return memory::invoke_bytes_max;
    }

    // Ends what was collected to be done together. Called at the end of a batch of frames, and of a turn.
    virtual void flush() = 0;
};

using memory::invoke_bytes_max;

}  // namespace acp::router
