// SPDX-License-Identifier: BSD-3-Clause
// Starts commands of this process: runs them here where both ends are reached, else chooses the
// process that runs them and sends it the first message. That process is the owner of the source,
// or the owner of the target when the source is reached here. try_send() serves a process without
// global addresses. The driver only.
// Tests: tests/unit/mailbox/forwarder_test.cpp, forwarder_gateway_test.cpp, over every port.
#pragma once

#include <cstdint>
#include <span>

#include "mailbox/forwarder_commands.hpp"
#include "mailbox/forwarder_copies.hpp"
#include "mailbox/forwarder_ends.hpp"
#include "mailbox/forwarder_memory.hpp"
#include "mailbox/forwarder_queues.hpp"

namespace acp::mailbox {

class ForwarderStarter {
public:
    //   the arguments must outlive this
    ForwarderStarter(ForwarderMemory& memory,
                     ForwarderQueues& queues,
                     ForwarderCommands& commands,
                     ForwarderEnds& ends,
                     ForwarderCopies& copies) noexcept
        : memory_(memory), queues_(queues), commands_(commands), ends_(ends), copies_(copies) {}

    // Starts ready commands while there are free items, messages_per_poll_max at most. Returns how
    // many it started.
    std::uint32_t start_ready() { return commands_.is_any_ready() ? start_some() : 0; }

    // Sends the one message of a command whose other end has no global address. False when there is
    // no room for its receiver, or no memory: the command was not taken. True: the message was
    // sent, or the command has failed.
    //   command  a copy with a source alone or a target alone; bytes <= datagram_bytes
    //   bytes    the bytes to write to the target
    //   into     where the bytes of the source are written; nullptr: the command has a target
    [[nodiscard]] bool try_send(std::uint64_t user_token,
                                const memory::Command& command,
                                std::span<const char> bytes,
                                char* into);

private:
    std::uint32_t start_some();
    void start(std::uint32_t index);
    void start_copy(std::uint32_t index, const local::Place& target, const local::Place& source);
    void start_atomic(std::uint32_t index, const local::Place& target, const local::Place& source);
    [[nodiscard]] bool is_moved_there(const local::Place& target,
                                      const local::Place& source) const noexcept;
    bool enlist(std::uint32_t index, std::uint32_t receiver, std::uint32_t placer);
    [[nodiscard]] MessageHead head_of(std::uint32_t index) const;

    ForwarderMemory& memory_;
    ForwarderQueues& queues_;
    ForwarderCommands& commands_;
    ForwarderEnds& ends_;
    ForwarderCopies& copies_;
};

}  // namespace acp::mailbox
