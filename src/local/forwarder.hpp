// SPDX-License-Identifier: BSD-3-Clause
// Runs commands that need another process of the node. The initiator forwards the command to the owner of
// the source (to the owner of the target when the source is mapped there and the target is not mapped at the
// source's owner); the owner moves the bytes, in pieces when they must go on to a third process, and whoever
// placed the last byte tells the initiator. As in paper 000 the same protocol runs over every port. Knows no
// handle and no order: a command is named by a token. A Forwarder owns the parts and connects them; calls run one way:
//
//   turn() -> ForwarderStarter      own commands begin: here, or with a message to who runs them
//          -> ForwarderServer       mail: commands of others, bytes for this process, ends of own commands
//   both, and turn() -> ForwarderCopies   copies whose source is reached here, in pieces; messages that waited for room
//   all three -> ForwarderEnds      how a command ended: told to its initiator, or heard from who ran it
//             -> ForwarderCommands  own commands until their one end
//             -> ForwarderQueues    what waits for room, by receiver; who is dead
//             -> ForwarderMemory    the accesses, under the driver's hazard line
//
// All calls by one thread at a time (the driver), but for the port's own exceptions. Never blocks. Bounded:
// commands_in_flight_max to one process, the rest queue here (forwarder_types.hpp).
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
    // What is told to a trace when bytes move here: the operation, where, how many, and for whom.
    using Observer = std::function<void(const memory::Command&, std::uint32_t origin_slot)>;

    //   space, hazards, port  must outlive this
    //   epoch                 messages of another one are dropped, those of any_epoch never
    Forwarder(Space& space, Hazards& hazards, Port& port, std::uint32_t epoch);
    ~Forwarder();
    Forwarder(const Forwarder&) = delete;
    Forwarder& operator=(const Forwarder&) = delete;

    // Takes a command over. Its end appears in ended() after some later turn(). May be called for commands
    // whose source or target is this process's own: they run here, in a turn. False: there is no memory for it, and
    // nothing was taken.
    [[nodiscard]] bool submit(std::uint64_t token, const memory::Command& command) noexcept;

    // The three that follow are for a process without global addresses of its own: the node's gateway. They end like
    // commands.

    // Writes bytes to memory of another process.   bytes.size()  1 .. the port's datagram_bytes; copied
    // Returns false when there is no room for that process, or no memory, now: nothing was taken.
    bool try_put(std::uint64_t token, GlobalAddress target, std::span<const char> bytes);

    // Reads memory of another process.   into  likewise; stays valid until it has ended
    bool try_get(std::uint64_t token, GlobalAddress source, std::span<char> into);

    // An atomic whose old value comes with its end; the command's target is not looked at.
    [[nodiscard]] bool submit_for_value(std::uint64_t token,
                                        const memory::Command& command) noexcept;

    // One round: receives, runs what came, sends what fits. Returns the number of things done; 0 when
    // nothing could be done now.
    std::uint32_t turn();

    // The ends since the last forget_ended(). Valid until the next call of anything else.
    [[nodiscard]] std::span<ForwardedEnd> ended() noexcept;
    void forget_ended() noexcept;

    // Whether a turn could do something even if no mail comes. Work that waits for room does not count until
    // there is room; whoever makes it rings this process's bell (port.hpp).
    [[nodiscard]] bool has_work() const noexcept;

    // Whether anything is queued here, with room or without.
    [[nodiscard]] bool has_backlog() const noexcept;

    // Ends every command that needs the process of a dead slot with Code::peer, and forgets its requests.
    void on_death(std::uint32_t dead_slot);

    // Commands submitted and not yet ended.
    [[nodiscard]] std::uint64_t outstanding() const noexcept;

    void set_observer(Observer observer);

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace acp::local
