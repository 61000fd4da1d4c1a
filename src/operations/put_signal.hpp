// SPDX-License-Identifier: BSD-3-Clause
// The two numbered operations that write bytes and then change a word, both in memory of one process, in one round trip. One adds to the
// word: a short acp_put_signal to another node. The other sets it and wakes the threads of that process that wait: so one end of a
// channel reaches the other one on another node. Both addresses are checked before anything is written. Any thread.
// Tests: tests/unit/operations/put_signal_test.cpp, tests/conformance/put_signal_test.cpp.
#pragma once

#include <cstdint>
#include <span>

#include "local/numbered_operation.hpp"

namespace acp::operations {

inline constexpr std::uint32_t put_signal_add_number = 1;
inline constexpr std::uint32_t put_signal_set_number = 60;

// The first bytes of the arguments of either; the bytes to write follow.
struct PutSignal {
    std::uint64_t target = 0;  // address of the bytes, of live memory also where there are none
    std::uint64_t signal = 0;  // address of the word, a multiple of 8
    std::uint64_t value = 0;   // the addend, or the new value of the word
};

// The most bytes that go this way, so that the arguments fit into any datagram.
inline constexpr std::uint64_t put_signal_bytes_max = memory::invoke_bytes_max - sizeof(PutSignal);

// The rows of both. Errors of a run: argument (malformed arguments), alignment (of the word), and those of OperationContext::find.
[[nodiscard]] std::span<const local::NumberedOperation> put_signal_operations() noexcept;

}  // namespace acp::operations
