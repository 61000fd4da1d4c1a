// SPDX-License-Identifier: BSD-3-Clause
// Runs commands that need another process of the node. The initiator forwards the command to the owner of the source, or to the
// owner of the target when the source is mapped there and the target is not mapped at the source's owner. The owner moves the
// bytes, in pieces if they must go on to a third process. The process that placed the last byte tells the initiator. As in
// paper 000 the same protocol runs over every port. A Forwarder knows no handle and no order: a command is named by a token. It
// owns the parts and connects them; calls run one way:
//
//   poll() -> ForwarderStarter      starts own commands: runs them here, or sends a message to the process that runs them
//          -> ForwarderServer       handles messages: commands of others, bytes for this process, ends of own commands
//   both, and poll() -> ForwarderCopies   sends copies whose source is reached here, and messages that waited for room
//   all three -> ForwarderEnds      reports how a command ended to its initiator, or takes such a report
//             -> ForwarderCommands  keeps own commands until their one end
//             -> ForwarderQueues    keeps what waits for room, by receiver, and who is dead
//             -> ForwarderMemory    makes the accesses, protected by the driver's hazard line
//
// All calls by one thread at a time (the driver), except those that the port itself allows from others. No call blocks.
// Bounded: commands_in_flight_max are sent to one process; further ones queue here (forwarder_types.hpp).
// Tests: tests/unit/local/forwarder_test.cpp (N forwarders in one process, every port), forwarder_gateway_test.cpp,
// forwarder_traffic_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "local/forwarder_types.hpp"
#include "local/hazards.hpp"
#include "local/port.hpp"
#include "local/space.hpp"
#include "memory/command.hpp"

namespace acp::local {

class Forwarder {
public:
    // Called for each move of bytes in this process, for the trace: the command (operation, place, bytes), and its initiator.
    using Observer = std::function<void(const memory::Command&, std::uint32_t origin_slot)>;

    //   space, hazards, port  must outlive this
    //   epoch                 messages of another epoch are dropped; any_epoch: no message is dropped for its epoch
    Forwarder(Space& space, Hazards& hazards, Port& port, std::uint32_t epoch);
    ~Forwarder();
    Forwarder(const Forwarder&) = delete;
    Forwarder& operator=(const Forwarder&) = delete;

    // Takes a command over. Its end appears in ended() after some later poll(). The source or target may be this process's own
    // memory; the command then runs here, in a poll. False: memory allocation failed, and the command was not taken.
    [[nodiscard]] bool submit(std::uint64_t token, const memory::Command& command) noexcept;

    // The next three calls are for a process without global addresses of its own: the node's gateway. They end like commands,
    // in ended().

    // Writes bytes to memory of another process.   bytes.size()  1 .. the port's datagram_bytes; copied
    // Returns false, and takes nothing, when there is no room for that process, or no memory, now.
    bool try_put(std::uint64_t token, GlobalAddress target, std::span<const char> bytes);

    // Reads memory of another process.   into  1 .. the port's datagram_bytes; must stay valid until the call has ended
    bool try_get(std::uint64_t token, GlobalAddress source, std::span<char> into);

    // Runs an atomic whose old value is returned with its end (ForwardedEnd::value); the command's target is ignored.
    [[nodiscard]] bool submit_for_value(std::uint64_t token,
                                        const memory::Command& command) noexcept;

    // One round: receives messages, runs what they ask for, sends what fits. Returns the number of things done; 0 when nothing
    // could be done now.
    std::uint32_t poll();

    // The ends since the last forget_ended(). Valid until the next call of anything else.
    [[nodiscard]] std::span<ForwardedEnd> ended() noexcept;
    void forget_ended() noexcept;

    // Whether a poll could do something even if no message arrives. Work that waits for room does not count until there is
    // room; the process that makes the room rings this process's bell (port.hpp).
    [[nodiscard]] bool has_work() const noexcept;

    // Whether anything is queued here, whether or not there is room for it.
    [[nodiscard]] bool has_backlog() const noexcept;

    // Ends every command that needs the process of a dead slot with Code::peer, and forgets the requests of that process.
    void on_death(std::uint32_t dead_slot);

    // Commands submitted and not yet ended.
    [[nodiscard]] std::uint64_t outstanding() const noexcept;

    void set_observer(Observer observer);

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace acp::local
