// SPDX-License-Identifier: BSD-3-Clause
// The secret that the ranks' own gateways share, on its way from the agent to its ranks: derived from the job's key,
// so that no rank ever holds that, in a memory file that the ranks inherit. Its number lies in the node segment, never
// the secret. Any thread. Tests: tests/unit/gateway/own_key_test.cpp.
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

// In the agent: derives the secret and keeps it in a new memory file, to be inherited under its number, which is
// published in the segment.   Errors: system, limit, unsupported (no cipher library).
base::Result<os::FileDescriptor> keep_own_key(const node::Segment& segment,
                                              std::span<const std::byte> job_key,
                                              crypto::CipherWish cipher);

// Whether this process has inherited the file, or the segment's ranks need none.
[[nodiscard]] bool has_inherited_own_key(const node::Segment& segment);

// In a rank: reads it. Programs that the rank starts do not inherit the file.
//   given  the file, where this process has got it from the agent; -1: it has inherited it under its number
// Errors: state (the file was closed, or was never there).
base::Status read_own_key(const node::Segment& segment,
                          std::span<std::byte, own_key_bytes> into,
                          int given = -1);

}  // namespace acp::gateway
