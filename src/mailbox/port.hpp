// SPDX-License-Identifier: BSD-3-Clause
// A port sends and receives messages between the processes of one node: a fixed head and a payload
// of at most datagram_bytes. Messages of one sender to one receiver arrive in the order sent, each
// once; a message whose sender dies arrives whole or not at all. There are four kinds: mpsc (one
// inbox per process; cells belong to their sender), pairs (a ring per ordered pair, all polled),
// bitmap (the same rings, with a bit per sender) and udp (plain datagrams over loopback). A port
// knows no command. One thread of the process at a time uses it (the forwarder's driver), except
// for has_mail(), wake_service() and sleep_service().
// Tests: tests/unit/mailbox/port_test.cpp for every kind, port_memory_test.cpp, port_udp_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/status.hpp"
#include "node/segment.hpp"

namespace acp::mailbox {

enum class MessageKind : std::uint8_t {
    command = 1,  // a request to the receiver to run a command on its memory
    data = 2,     // bytes of a copy, to be written to the receiver's memory
    end = 3       // reports to the receiver that its command has completed or failed
};

// The fixed part of a message. Fields that a kind does not use have any value.
struct MessageHead {
    MessageKind kind = MessageKind::command;
    std::uint8_t operation = 0;  // memory::Operation
    std::uint8_t width = 0;      // atomic: width of its word
    std::uint8_t code = 0;       // end: base::Code
    std::uint16_t origin = 0;    // slot of the command's initiator
    std::uint8_t is_last = 0;    // data: the copy's last piece
    // end: the address that caused the failure (Blame in forwarder_types.hpp), < 4
    std::uint8_t blame = 0;
    std::uint64_t token = 0;   // the initiator's name for the command
    std::uint64_t target = 0;  // data: address of this piece
    std::uint64_t source = 0;
    std::uint64_t bytes = 0;    // command: size of the copy
    std::uint64_t operand = 0;  // end of an atomic: the old value
    std::uint64_t expected = 0;
    std::uint32_t payload_bytes = 0;
    std::uint32_t epoch = 0;  // epoch of the job: messages of another epoch are dropped
};

static_assert(sizeof(MessageHead) == 64);

class Port {
public:
    // Called for each message; the payload is valid during the call only.
    using Handler = std::function<void(
        std::uint32_t sender, const MessageHead&, std::span<const char> payload)>;

    Port() = default;
    virtual ~Port() = default;
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;

    // Copies a message into the port. False when there is no room for this receiver, or no memory,
    // now: nothing was sent; try again later. Never blocks, throws nothing. payload.size() <=
    // datagram_bytes()
    virtual bool send(std::uint32_t receiver,
                      const MessageHead& head,
                      std::span<const char> payload) = 0;

    // Whether send() to this receiver would find room now. After a send() that found none, the
    // process that makes room rings this process's bell (udp: its answer arrives as mail), so a
    // thread calls this once more before it sleeps.
    [[nodiscard]] virtual bool has_room(std::uint32_t receiver) const = 0;

    // Calls the handler for at most max_messages messages that have arrived, each once, also when
    // the handler throws. Returns how many. Never blocks, allocates no memory.
    //   max_messages  0: handles no message, only the acknowledgements that make room for sending
    virtual std::uint32_t receive(const Handler& handler, std::uint32_t max_messages) = 0;

    // Whether receive() would find a message (udp: may be true without one). Any thread.
    [[nodiscard]] virtual bool has_mail() const = 0;

    // Drops the messages sent to a dead process that it has not received, and frees their room.
    virtual void forget(std::uint32_t dead_slot) = 0;

    // Wakes the service thread of this process from sleep_service(). Any thread; cheap when it is
    // awake.
    virtual void wake_service() = 0;

    // Called by the service thread: sleeps until mail arrives, wake_service() is called, a process
    // dies, or the timeout passes (< 0: no timeout). Calls is_idle() after it has announced the
    // sleep; false ends the call. is_idle() must check has_mail() unless another thread receives:
    // mail that arrived before the sleep ends the sleep of udp only.
    virtual void sleep_service(const std::function<bool()>& is_idle, std::int64_t timeout_ns) = 0;

    [[nodiscard]] virtual std::uint32_t datagram_bytes() const = 0;

    // Makes the port of a process, of the kind that the segment's shape names (udp when intranode
    // is udp). Errors: system, memory.
    static base::Result<std::unique_ptr<Port>> open(const node::Segment& segment,
                                                    std::uint32_t slot);
};

}  // namespace acp::mailbox
