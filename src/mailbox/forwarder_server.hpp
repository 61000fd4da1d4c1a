// SPDX-License-Identifier: BSD-3-Clause
// Handles received messages: commands of other processes on memory of this one, bytes for it, and
// ends of own commands. Runs and answers what can be run at once; a copy of many pieces goes to
// ForwarderCopies. The driver only.
// Tests: tests/unit/mailbox/forwarder_test.cpp, forwarder_gateway_test.cpp, over every port.
#pragma once

#include <cstdint>
#include <span>

#include "mailbox/forwarder_copies.hpp"
#include "mailbox/forwarder_counters.hpp"
#include "mailbox/forwarder_ends.hpp"
#include "mailbox/forwarder_memory.hpp"
#include "mailbox/forwarder_queues.hpp"

namespace acp::mailbox {

class ForwarderServer {
public:
    //   the arguments must outlive this
    ForwarderServer(ForwarderMemory& memory,
                    ForwarderQueues& queues,
                    ForwarderEnds& ends,
                    ForwarderCopies& copies,
                    ForwarderDevices& devices,
                    ForwarderCounters& counters) noexcept
        : memory_(memory),
          queues_(queues),
          ends_(ends),
          copies_(copies),
          devices_(devices),
          counters_(counters) {}

    // Handles a message, or drops it if it is of another epoch or its origin is dead. Takes one
    // item at most (forwarder_queues.hpp); the caller must have made room for it.
    void on_message(const MessageHead& head, std::span<const char> payload);

private:
    void serve(const MessageHead& head);
    void serve_copy(const MessageHead& head);
    void serve_fetch(const MessageHead& head);
    void serve_atomic(const MessageHead& head);
    void run_copy(const MessageHead& head, const local::Place& target, const local::Place& source);
    void place_data(const MessageHead& head, std::span<const char> payload);

    ForwarderMemory& memory_;
    ForwarderQueues& queues_;
    ForwarderEnds& ends_;
    ForwarderCopies& copies_;
    ForwarderDevices& devices_;
    ForwarderCounters& counters_;
};

}  // namespace acp::mailbox
