// SPDX-License-Identifier: BSD-3-Clause
// Starts commands of this process: runs them here where both ends are reached, else decides who runs them and sends the
// first message. The owner of the source is asked, or the owner of the target when the source is reached here. Also what
// a process without global addresses asks for (try_send()). The driver only.
// Tests: tests/unit/local/forwarder_test.cpp, forwarder_gateway_test.cpp, over every port.
#pragma once

#include <cstdint>
#include <span>

#include "local/forwarder_commands.hpp"
#include "local/forwarder_copies.hpp"
#include "local/forwarder_ends.hpp"
#include "local/forwarder_memory.hpp"
#include "local/forwarder_queues.hpp"

namespace acp::local {

class ForwarderStarter {
public:
    //   all must outlive this
    ForwarderStarter(ForwarderMemory& memory,
                     ForwarderQueues& queues,
                     ForwarderCommands& commands,
                     ForwarderEnds& ends,
                     ForwarderCopies& copies) noexcept
        : memory_(memory), queues_(queues), commands_(commands), ends_(ends), copies_(copies) {}

    // Starts commands that are ready, messages_per_turn_max at most, while there are parcels. Returns how many.
    std::uint32_t start_ready() { return commands_.is_any_ready() ? start_some() : 0; }

    // Sends the one message that a command needs whose other end has no global address. False when there is no room for
    // its receiver, or no memory: nothing was taken. Else it was sent, or has ended.
    //   command  a copy with a source alone or a target alone; bytes <= datagram_bytes
    //   bytes    go to the target
    //   into     where the bytes of the source go; nullptr: there is a target
    [[nodiscard]] bool try_send(std::uint64_t user_token,
                                const memory::Command& command,
                                std::span<const char> bytes,
                                char* into);

private:
    std::uint32_t start_some();
    void start(std::uint32_t index);
    void start_copy(std::uint32_t index, const Place& target, const Place& source);
    void start_atomic(std::uint32_t index, const Place& target, const Place& source);
    bool enlist(std::uint32_t index, std::uint32_t receiver, std::uint32_t placer);
    [[nodiscard]] MessageHead head_of(std::uint32_t index) const;

    ForwarderMemory& memory_;
    ForwarderQueues& queues_;
    ForwarderCommands& commands_;
    ForwarderEnds& ends_;
    ForwarderCopies& copies_;
};

}  // namespace acp::local
