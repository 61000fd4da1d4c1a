// SPDX-License-Identifier: BSD-3-Clause
// Counters of the forwarder in its process's slot, for reports: commands of this process that other
// processes ran, and commands that this process ran for others. The driver is the only writer of
// these counters; every process of the node may read them.
#pragma once

#include <cstdint>

#include "node/control.hpp"

namespace acp::mailbox {

class ForwarderCounters {
public:
    //   slot  the slot of this process; must outlive this
    explicit ForwarderCounters(node::Slot& slot) noexcept : slot_(slot) {}

    // Call when another process has run a command of this one.
    void note_forwarded(std::uint64_t bytes) noexcept {
        add(slot_.mailbox_commands, 1);
        add(slot_.mailbox_bytes, bytes);
    }

    // Call when a command of another process completed here.
    void note_served_command() noexcept { add(slot_.served_commands, 1); }

    // Call when this process has moved bytes of another process's command.
    void note_served_bytes(std::uint64_t bytes) noexcept { add(slot_.served_bytes, bytes); }

private:
    static void add(node::SharedU64& counter, std::uint64_t amount) noexcept {
        // relaxed, both: the counters are for reports only, and this thread is the only writer
        counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
    }

    node::Slot& slot_;
};

}  // namespace acp::mailbox
