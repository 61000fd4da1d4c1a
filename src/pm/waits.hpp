// SPDX-License-Identifier: BSD-3-Clause
// Waits of the thread that uses a context: for a message, and for room for one. Both sleep on the bell of the process, which senders ring with a
// message, and receivers with a credit or a lease (docs/waiting.md). Tests: tests/conformance/pm_wait_test.cpp.
#pragma once

#include <cstdint>

#include "base/status.hpp"

#include "pm/context.hpp"
#include "pm/per_peer_context.hpp"

namespace acp::pm {

// Waits until receive() has something to tell: a message, or somebody's end. false: neither has come in time.   timeout_ns  < 0: for ever
[[nodiscard]] bool wait_for_message(Context& context, std::int64_t timeout_ns);
// Nobody rings for these: they look on, and do not sleep.
[[nodiscard]] bool wait_for_message(PerPeerContext& context, std::int64_t timeout_ns);

enum class RoomWait : std::uint8_t {
    room,     // reserved
    never,    // as `why` says
    message,  // there is none, but receive() has something to tell
    timeout
};

struct RoomFound {
    RoomWait outcome = RoomWait::timeout;
    char* room = nullptr;
    base::Status why;  // Context::why_no_room, as it was; by now there may be room again
};

// Waits until there is room for a message to a process, and reserves it.
//   bytes       <= message_bytes_max
//   timeout_ns  < 0: for ever
[[nodiscard]] RoomFound wait_for_room(Context& context,
                                      std::uint32_t process,
                                      std::uint64_t bytes,
                                      std::int64_t timeout_ns);
[[nodiscard]] RoomFound wait_for_room(PerPeerContext& context,
                                      std::uint32_t process,
                                      std::uint64_t bytes,
                                      std::int64_t timeout_ns);

}  // namespace acp::pm
