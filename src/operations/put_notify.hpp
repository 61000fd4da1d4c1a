// SPDX-License-Identifier: BSD-3-Clause
// The numbered operation by which one end of a channel reaches the other one on another node: writes bytes and then a word, both in
// memory of one process, and wakes the threads of that process that wait. Checks both addresses before it writes anything. Any thread.
// Tests: tests/unit/operations/put_notify_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "local/numbered_operation.hpp"

namespace acp::operations {

inline constexpr std::uint32_t put_notify_number = 60;

// The first bytes of its arguments; the bytes to write follow.
struct PutNotify {
    std::uint64_t target = 0;  // address of the bytes; of no meaning where there are none
    std::uint64_t word = 0;    // address of the word, a multiple of 8
    std::uint64_t value = 0;   // stored there, with release
};

// The most bytes of one operation.
inline constexpr std::uint64_t put_notify_bytes_max = memory::invoke_bytes_max - sizeof(PutNotify);

// Errors: argument (malformed arguments), alignment (of the word), and those of OperationContext::find.
local::NumberedOperation::Ran put_notify(local::OperationContext& context,
                                         std::span<const std::byte> arguments,
                                         std::span<std::byte> result) noexcept;

// "the target is 64 bytes at global address 0x..., the word 8 bytes at global address 0x..."
std::string put_notify_places(std::span<const std::byte> arguments);

}  // namespace acp::operations
