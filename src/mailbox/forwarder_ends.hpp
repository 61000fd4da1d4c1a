// SPDX-License-Identifier: BSD-3-Clause
// Completes commands. For a command that was run here for another process, sends a message to that
// process; completes a command of this process here, an atomic only after its old value was stored.
// Does not know how the work is done. The driver only.
// Tests: tests/unit/mailbox/forwarder_ends_test.cpp.
#pragma once

#include <cstdint>
#include <span>

#include "mailbox/forwarder_commands.hpp"
#include "mailbox/forwarder_counters.hpp"
#include "mailbox/forwarder_memory.hpp"
#include "mailbox/forwarder_queues.hpp"

namespace acp::mailbox {

class ForwarderEnds {
public:
    //   the arguments must outlive this
    ForwarderEnds(ForwarderMemory& memory,
                  ForwarderQueues& queues,
                  ForwarderCommands& commands,
                  ForwarderCounters& counters) noexcept
        : memory_(memory), queues_(queues), commands_(commands), counters_(counters) {}

    // Reports the completion of a command to its initiator. Takes one item at most
    // (forwarder_queues.hpp).
    //   origin  slot of the initiator, which may be this process
    void report(std::uint32_t origin, std::uint64_t token, const AccessVerdict& verdict);

    // Handles the result of a command of this process. Does nothing if the command has completed
    // before, because of a death or the failure of an earlier piece. Takes one item at most.
    void on_end(std::uint64_t token, const AccessVerdict& verdict);

    // Handles the bytes that answer a get of this process without a target address, and completes
    // the get.
    //   origin  slot that the message names as the initiator
    void on_fetched(std::uint32_t origin, std::uint64_t token, std::span<const char> bytes);

    // The last step of an atomic: stores its old value at the target, if it has one; the target may
    // have been unregistered since. May overwrite the names of a Naming around this call, because
    // no other access follows. Takes one item at most.
    //   index  a command that runs here, or that another process has run
    void store_old_value(std::uint32_t index, std::uint64_t old);

private:
    ForwarderMemory& memory_;
    ForwarderQueues& queues_;
    ForwarderCommands& commands_;
    ForwarderCounters& counters_;
};

}  // namespace acp::mailbox
