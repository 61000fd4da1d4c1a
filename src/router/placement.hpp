// SPDX-License-Identifier: BSD-3-Clause
// The interface by which the router accesses memory of its own node; the gateway implements it over
// local/, the simulator over arrays. Each call settles at once; or is accepted and settles later
// through Router::on_settled(); or is refused because there is no room now. Addresses come from the
// network, so implementations must check each one: segment, bounds, generation, alignment. Knows no
// frame. One thread: the router calls it, and it may call on_settled() for earlier tickets, but no
// other function of the router.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "memory/command.hpp"

namespace acp::router {

using memory::BlamedAddress;
using memory::GlobalAddress;
using Ticket = std::uint64_t;

enum class SettlementState : std::uint8_t {
    settled,   // done or failed, see `code`
    accepted,  // Router::on_settled() will follow
    // There is no room for this process now: the router tries again later, or when the
    // implementation calls Router::on_place_room().
    refused
};

struct Settlement {
    SettlementState progress = SettlementState::settled;
    base::Code code = base::Code::ok;
    BlamedAddress blamed = BlamedAddress::none;  // if a command failed; only run() sets it
};

class Placement {
public:
    Placement() = default;
    virtual ~Placement() = default;
    Placement(const Placement&) = delete;
    Placement& operator=(const Placement&) = delete;

    // Writes bytes to memory of this node. If the call is accepted, they have been copied.
    virtual Settlement put(GlobalAddress target,
                           std::span<const std::byte> bytes,
                           Ticket ticket) = 0;

    // Reads memory of this node into `into` during the call. If it refuses, it has done nothing,
    // and the router calls get() instead. Implementations should read mapped memory here, which
    // spares a copy.
    virtual Settlement get_now(GlobalAddress /*source*/, std::span<std::byte> /*into*/) {
        return {SettlementState::refused, base::Code::ok};
    }

    // A pointer by which these bytes can be read as long as the router lives, even after their
    // memory was unregistered; nullptr if there is none, or if finding it costs much. Spares
    // copying long pieces.
    [[nodiscard]] virtual const std::byte* find_lasting(GlobalAddress /*source*/,
                                                        std::uint64_t /*bytes*/) {
        return nullptr;
    }

    // Reads memory of this node into `into`, which stays valid until the call settles.
    virtual Settlement get(GlobalAddress source, std::span<std::byte> into, Ticket ticket) = 0;

    // Runs a command. Either both ends are on this node; or it is an atomic whose word (source) is
    // here and whose old value is returned in `old` (command.target is not written then).
    //   old  written if the call settles at once with ok
    virtual Settlement run(const memory::Command& command,
                           bool is_value_wanted,
                           std::uint64_t& old,
                           Ticket ticket) = 0;

    // Runs a numbered operation on memory of a process of this node. It is settled or refused,
    // never accepted for later.
    //   result        room for the result
    //   result_bytes  written if settled with ok; <= result.size()
    virtual Settlement invoke(std::uint32_t operation,
                              std::uint32_t process,
                              std::span<const std::byte> arguments,
                              std::span<std::byte> result,
                              std::uint32_t& result_bytes) = 0;

    // The longest result that an operation may have. The router reserves this much room in a
    // datagram before it runs the operation.
    [[nodiscard]] virtual std::uint32_t result_bytes_max(std::uint32_t /*operation*/) const {
        return memory::invoke_bytes_max;
    }

    // Completes the accesses that were collected into a batch. Called at the end of a batch of
    // frames, and of a poll.
    virtual void flush() = 0;
};

using memory::invoke_bytes_max;

}  // namespace acp::router
