// SPDX-License-Identifier: BSD-3-Clause
// Waits of the thread that uses a context: for a message, and for room for one. Both sleep on the
// bell of the process, which senders ring after a message, and receivers after a credit or a free
// lease (docs/waiting.md). Tests: tests/unit/pm/waits_test.cpp.
#pragma once

#include <cstdint>

#include "base/status.hpp"

#include "pm/context.hpp"

namespace acp::pm {

// Waits until there is a message to receive, or a gone process to report. False: neither within the
// time.
//   timeout_ns  < 0: for ever
[[nodiscard]] bool wait_for_message(Context& context, std::int64_t timeout_ns);

enum class RoomWait : std::uint8_t {
    room,     // reserved
    never,    // `why` has the error
    message,  // no room, but there is a message or a gone process
    timeout
};

struct RoomFound {
    RoomWait outcome = RoomWait::timeout;
    char* room = nullptr;
    base::Status why;  // of Context::why_no_room; there may be room again now
};

// Waits until there is room for a message to a process, and reserves it.
//   bytes       <= message_bytes_max
//   timeout_ns  < 0: for ever
[[nodiscard]] RoomFound wait_for_room(Context& context,
                                      std::uint32_t process,
                                      std::uint64_t bytes,
                                      std::int64_t timeout_ns);

}  // namespace acp::pm
