// SPDX-License-Identifier: BSD-3-Clause
// The command queue's record of one command from its admission to its end: 64 bytes, so that a
// command is one cache line. Read and written under the queue's lock.
#pragma once

#include <cstdint>

#include "memory/command.hpp"

namespace acp::gma {

// Commands in a row that another waits for.
struct AwaitedRun {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
};

struct alignas(64) QueuedCommand {
    enum class State : std::uint8_t { waiting, ready, finished };

    memory::Command command;
    State state = State::waiting;
    bool is_followed = false;  // the next number waits for exactly this one (CONT)
    bool is_half = false;  // and a failure of this one is the next one's (CommandQueue::admit_pair)
    // it waits, and its carrier has it already (RemoteCarrier::collect_ahead)
    bool is_ahead = false;
    std::uint8_t mark = 0;   // set by the carrier that put it into a list
    std::uint64_t next = 0;  // in the list it is in

    // Sets the state after admission; the caller writes `command`, and a list mark and next.
    void open(State in) noexcept {
        state = in;
        is_followed = false;
        is_half = false;
        is_ahead = false;
    }
};

static_assert(sizeof(QueuedCommand) == 64);

}  // namespace acp::gma
