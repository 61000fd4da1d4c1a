// SPDX-License-Identifier: BSD-3-Clause
// How commands end: what is run here for another process is told to it by a message; what was run for this process ends
// here, an atomic after its old value was stored. Knows where the parts keep commands and messages that wait, not how
// work is done. The driver only.
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
    //   all must outlive this
    ForwarderEnds(ForwarderMemory& memory,
                  ForwarderQueues& queues,
                  ForwarderCommands& commands,
                  ForwarderCounters& counters) noexcept
        : memory_(memory), queues_(queues), commands_(commands), counters_(counters) {}

    // Tells a command's initiator how it came out. Takes one parcel at most (forwarder_queues.hpp).
    //   origin  slot of the initiator, which may be this process
    void report(std::uint32_t origin, std::uint64_t token, const AccessVerdict& verdict);

    // How a command of this process came out. Nothing happens when it has ended already, by a death or by the failure of
    // an earlier piece. Takes one parcel at most.
    void on_end(std::uint64_t token, const AccessVerdict& verdict);

    // The bytes that a get of this process without a target address asked for. They end it.
    //   origin  as the message says
    void on_fetched(std::uint32_t origin, std::uint64_t token, std::span<const char> bytes);

    // The last part of an atomic: its old value goes to the target, if it has one, which may have vanished meanwhile.
    // Nothing else is accessed afterwards, so the names of an access around this call need not be kept. Takes one parcel
    // at most.   index  of a command that runs here, or that another process has run
    void store_old_value(std::uint32_t index, std::uint64_t old);

private:
    ForwarderMemory& memory_;
    ForwarderQueues& queues_;
    ForwarderCommands& commands_;
    ForwarderCounters& counters_;
};

}  // namespace acp::local
