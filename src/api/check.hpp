// SPDX-License-Identifier: BSD-3-Clause
// ACP_CHECK=1: mistakes of the program that otherwise pass in silence, told on stderr with the place of the call: a command
// whose source and target overlap, a handle that no call has returned. Called on the long way only, which every command
// takes then (open_inline_path); the inline path holds no instruction for it. Each place is told once. Any thread.
#pragma once

#include <cstdint>

#include "api/library.hpp"
#include "local/space.hpp"

namespace acp::api {

[[nodiscard]] inline bool is_checking() noexcept {
    return library().config.is_check_on;
}

// Whether the two ranges of a command share a byte: by their global addresses, and on this node by where they lie. A copy
// onto itself may.
void check_overlap(const local::Space& space, const memory::Command& command);

// Whether a handle is newer than any that was given out.   what  "acp_wait", "the order of acp_copy"
void check_handle(const char* what, std::int64_t given);

}  // namespace acp::api
