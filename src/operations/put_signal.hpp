// SPDX-License-Identifier: BSD-3-Clause
// The two typed operations (local/typed_operation.hpp) that write bytes and then change a word, both in memory of one process, in one round trip. One adds to the
// word: a short acp_put_signal to another node. The other sets it and wakes the threads of that process that wait: so one end of a
// channel reaches the other one on another node. Both addresses are checked before anything is written. Any thread.
// Tests: tests/unit/operations/put_signal_test.cpp, tests/conformance/put_signal_test.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "local/typed_operation.hpp"

namespace acp::operations {

// The input of both; the bytes to write follow.
struct PutSignal {
    std::uint64_t target = 0;  // address of the bytes, of live memory also where there are none
    std::uint64_t signal = 0;  // address of the word, a multiple of 8
    std::uint64_t value = 0;   // the addend, or the new value of the word
};

// The most bytes that go this way, so that the arguments fit into any datagram.
inline constexpr std::uint64_t put_signal_bytes_max = memory::invoke_bytes_max - sizeof(PutSignal);

// The base of both. Codes of a run: alignment (of the word), and those of OperationContext::find.
struct SignalOperation
    : local::
          OperationTypes<local::AddressedMemory, PutSignal, local::Nothing, put_signal_bytes_max> {
    // run() checks both addresses before it writes.
    static base::Code check(const Call& /*call*/, const local::OwnerShape& /*shape*/) noexcept {
        return base::Code::ok;
    }

    static std::string places_of(const Input& input, std::size_t tail_bytes);
};

struct AddSignal : SignalOperation {
    static constexpr local::OperationName name{"put_signal.add", "acp_put_signal"};
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

struct SetSignal : SignalOperation {
    static constexpr local::OperationName name{"put_signal.set", "a message of a channel"};
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

inline constexpr std::uint32_t put_signal_add_number = local::operation_number<AddSignal>;
inline constexpr std::uint32_t put_signal_set_number = local::operation_number<SetSignal>;

inline constexpr const auto& put_signal_operations = local::rows_of<AddSignal, SetSignal>;

}  // namespace acp::operations
