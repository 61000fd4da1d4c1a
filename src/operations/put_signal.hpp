// SPDX-License-Identifier: BSD-3-Clause
// The numbered operation behind a short acp_put_signal to another node: writes bytes and then adds to a word, both in memory of
// one process, in one round trip. Checks both addresses before it writes anything. Any thread.
// Tests: tests/unit/operations/put_signal_test.cpp, tests/conformance/put_signal_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "local/numbered_operation.hpp"

namespace acp::operations {

inline constexpr std::uint32_t put_signal_number = 1;

// The first bytes of its arguments; the bytes to write follow.
struct PutSignal {
    std::uint64_t target = 0;  // address of the bytes
    std::uint64_t signal = 0;  // address of the word, a multiple of 8
    std::uint64_t value = 0;   // added to the word
};

// The most bytes that go this way, so that the arguments fit into any datagram.
inline constexpr std::uint64_t put_signal_bytes_max = memory::invoke_bytes_max - sizeof(PutSignal);

// Errors: argument (malformed arguments), alignment (of the word), and those of OperationContext::find.
local::NumberedOperation::Ran put_signal(local::OperationContext& context,
                                         std::span<const std::byte> arguments,
                                         std::span<std::byte> result) noexcept;

// "the target is 64 bytes at global address 0x..., the signal 8 bytes at global address 0x..."
std::string put_signal_places(std::span<const std::byte> arguments);

}  // namespace acp::operations
