// SPDX-License-Identifier: BSD-3-Clause
// Runs commands that need another process of the node. The initiator forwards the command to the
// owner of the source, or to the owner of the target when the source is mapped there and the target
// is not mapped at the source's owner. The owner moves the bytes, in pieces if it must send them to
// a third process. The process that placed the last byte reports the completion to the initiator.
// Every port carries the same protocol, that of paper 000. A Forwarder knows no handle and no
// order: a command is named by a token. It owns the parts and connects them; calls run one way:
//
//   poll() -> ForwarderStarter      starts own commands: runs them here, or sends a message to the
//                                   process that runs them
//          -> ForwarderServer       handles messages: commands of others, bytes for this process,
//                                   completions of own commands
//   both, and poll() -> ForwarderCopies   sends copies whose source is reached here, and messages
//                                         that waited for room
//   all three -> ForwarderEnds      reports a completion to another initiator, or handles one of
//                                   an own command
//             -> ForwarderCommands  keeps own commands until their one completion
//             -> ForwarderQueues    keeps what waits for room, by receiver, and the dead slots
//             -> ForwarderDevices   has the engines of this process's devices copy, step by step
//             -> ForwarderMemory    makes the accesses, protected by the driver's hazard line
//
// All calls by one thread at a time (the driver), except those that the port itself allows from
// others. No call blocks. At most commands_in_flight_max commands are in flight to one process;
// further ones wait here (forwarder_types.hpp).
// Tests: tests/unit/mailbox/forwarder_test.cpp (N forwarders in one process, every port),
// forwarder_gateway_test.cpp, forwarder_traffic_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "local/hazards.hpp"
#include "local/space.hpp"
#include "mailbox/device_host.hpp"
#include "mailbox/forwarder_types.hpp"
#include "mailbox/port.hpp"
#include "memory/command.hpp"

namespace acp::mailbox {

class Forwarder {
public:
    // Called for each move of bytes in this process, for the trace: the command (operation, place,
    // bytes), and its initiator.
    using Observer = std::function<void(const memory::Command&, std::uint32_t origin_slot)>;

    //   space, hazards, port  must outlive this
    //   epoch                 messages of another epoch are dropped; any_epoch: no message is
    //                         dropped for its epoch
    Forwarder(local::Space& space, local::Hazards& hazards, Port& port, std::uint32_t epoch);
    ~Forwarder();
    Forwarder(const Forwarder&) = delete;
    Forwarder& operator=(const Forwarder&) = delete;

    // Submits a command. A later poll() adds its completion to ended(). If both ends are memory
    // that this process reaches, a poll runs the command here. False: memory allocation failed, and
    // the command was not taken.
    [[nodiscard]] bool submit(std::uint64_t token, const memory::Command& command) noexcept;

    // The next three calls are for a process without global addresses of its own: the node's
    // gateway. Their completions appear in ended() like those of commands.

    // Writes bytes to memory of another process.
    //   bytes.size()  1 .. the port's datagram_bytes; copied
    // Returns false, and takes nothing, when there is no room for that process, or no memory, now.
    bool try_put(std::uint64_t token, memory::GlobalAddress target, std::span<const char> bytes);

    // Reads memory of another process.
    //   into  1 .. the port's datagram_bytes; must stay valid until the completion
    bool try_get(std::uint64_t token, memory::GlobalAddress source, std::span<char> into);

    // Runs an atomic whose completion carries the old value (ForwardedEnd::value); the command's
    // target is ignored.
    [[nodiscard]] bool submit_for_value(std::uint64_t token,
                                        const memory::Command& command) noexcept;

    // One round: starts commands, receives messages and handles them, sends waiting messages and
    // pieces for which there is room. Returns the number of steps made; 0: no progress is possible
    // now.
    std::uint32_t poll();

    // The completions since the last forget_ended(). Valid until the next call of another function.
    [[nodiscard]] std::span<ForwardedEnd> ended() noexcept;
    void forget_ended() noexcept;

    // Whether a poll could make progress even if no message arrives. Work that waits for room does
    // not count until there is room; the process that makes the room rings this process's bell
    // (port.hpp).
    [[nodiscard]] bool has_work() const noexcept;

    // Whether commands, messages or copies are queued here, with or without room for them.
    [[nodiscard]] bool has_backlog() const noexcept;

    // Fails every command that needs the process of a dead slot with Code::peer, and drops the
    // requests of that process.
    void on_death(std::uint32_t dead_slot);

    // Commands submitted and not yet completed.
    [[nodiscard]] std::uint64_t outstanding() const noexcept;

    // Takes the devices of this process, on whose memory it runs the commands of all processes. Call
    // it before the first poll.   host  must outlive this.   Throws std::bad_alloc.
    void open_devices(DeviceHost& host);

    void set_observer(Observer observer);

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace acp::mailbox
