// SPDX-License-Identifier: BSD-3-Clause
// How commands end. The end of a command that was run here for another process is sent to that process; a command of this
// process ends here, an atomic only after its old value was stored. Knows where the parts keep commands and waiting messages,
// not how the work is done. The driver only.
// Tests: tests/unit/local/forwarder_ends_test.cpp.
#pragma once

#include <cstdint>
#include <span>

#include "local/forwarder_commands.hpp"
#include "local/forwarder_counters.hpp"
#include "local/forwarder_memory.hpp"
#include "local/forwarder_queues.hpp"

namespace acp::local {

class ForwarderEnds {
public:
    //   the arguments must outlive this
    ForwarderEnds(ForwarderMemory& memory,
                  ForwarderQueues& queues,
                  ForwarderCommands& commands,
                  ForwarderCounters& counters) noexcept
        : memory_(memory), queues_(queues), commands_(commands), counters_(counters) {}

    // Tells a command's initiator how the command ended. Takes one item at most (forwarder_queues.hpp).
    //   origin  slot of the initiator, which may be this process
    void report(std::uint32_t origin, std::uint64_t token, const AccessVerdict& verdict);

    // Takes the result of a command of this process. Does nothing if the command has ended already, by a death or by the
    // failure of an earlier piece. Takes one item at most.
    void on_end(std::uint64_t token, const AccessVerdict& verdict);

    // Takes the bytes that a get of this process without a target address asked for, and ends the get.
    //   origin  slot that the message names as the initiator
    void on_fetched(std::uint32_t origin, std::uint64_t token, std::span<const char> bytes);

    // The last step of an atomic: stores its old value at the target, if it has one; the target may have vanished meanwhile.
    // Nothing else is accessed afterwards, so a Naming around this call may be overwritten by it. Takes one item at most.
    //   index  a command that runs here, or that another process has run
    void store_old_value(std::uint32_t index, std::uint64_t old);

private:
    ForwarderMemory& memory_;
    ForwarderQueues& queues_;
    ForwarderCommands& commands_;
    ForwarderCounters& counters_;
};

}  // namespace acp::local
