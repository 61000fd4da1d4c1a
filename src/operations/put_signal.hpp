// SPDX-License-Identifier: BSD-3-Clause
// The numbered operation behind a short acp_put_signal to another node: writes bytes and then adds to a word, both memory of
// one process, in one round trip. Looks at both before it writes anything. Any thread.
// Tests: tests/unit/operations/put_signal_test.cpp, tests/conformance/put_signal_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "local/numbered_operation.hpp"

namespace acp::operations {

inline constexpr std::uint32_t put_signal_number = 1;

// What its arguments begin with; the bytes to write follow.
struct PutSignal {
    std::uint64_t target = 0;  // where the bytes go
    std::uint64_t signal = 0;  // the word, at a multiple of 8
    std::uint64_t value = 0;   // that is added to it
};

// So many bytes at most go this way: the arguments fit any datagram.
inline constexpr std::uint64_t put_signal_bytes_max = memory::invoke_bytes_max - sizeof(PutSignal);

// Errors: argument (the arguments are none of these), alignment (of the word), and those of OperationContext::find.
local::NumberedOperation::Ran put_signal(local::OperationContext& context,
                                         std::span<const std::byte> arguments,
                                         std::span<std::byte> result) noexcept;

}  // namespace acp::operations
