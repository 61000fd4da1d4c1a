// SPDX-License-Identifier: BSD-3-Clause
// The secret that the ranks' own gateways share. The agent derives it from the job's key, so that
// no rank ever holds that key, and puts it into a memory file that the ranks inherit. The node
// segment holds the file's descriptor number, never the secret. Any thread. Tests:
// tests/unit/gateway/own_key_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "crypto/choose.hpp"
#include "node/segment.hpp"
#include "os/file_descriptor.hpp"

namespace acp::gateway {

inline constexpr std::size_t own_key_bytes = 32;

// Called by the agent: derives the secret and keeps it in a new memory file. The ranks inherit the
// file under its descriptor number, which this call publishes in the segment.   Errors: system,
// limit, unsupported (no cipher library).
base::Result<os::FileDescriptor> keep_own_key(const node::Segment& segment,
                                              std::span<const std::byte> job_key,
                                              base::Security security,
                                              crypto::CipherWish cipher);

// Whether this process has inherited the file, or the segment's ranks need none.
[[nodiscard]] bool has_inherited_own_key(const node::Segment& segment);

// Called by a rank: reads the secret. Programs that the rank starts do not inherit the file.
//   given  the descriptor that the agent has sent to this process; -1: it has inherited the file
//          under its number
// Errors: state (the file was closed, or was never there).
base::Status read_own_key(const node::Segment& segment,
                          std::span<std::byte, own_key_bytes> into,
                          int given = -1);

}  // namespace acp::gateway
