// SPDX-License-Identifier: BSD-3-Clause
// Writes the bytes, then the word: a thread that acquires the word's new value sees the bytes.
#include "operations/put_signal.hpp"

#include <cstring>

#include "local/direct.hpp"

namespace acp::operations {

using base::Code;

local::NumberedOperation::Ran put_signal(local::OperationContext& context,
                                         std::span<const std::byte> arguments,
                                         std::span<std::byte> /*result*/) noexcept {
    PutSignal head;
    if (arguments.size() < sizeof head) return {Code::argument, 0};
    std::memcpy(&head, arguments.data(), sizeof head);
    const std::span<const std::byte> bytes = arguments.subspan(sizeof head);
    std::byte* const target = context.find(head.target, bytes.size());
    if (target == nullptr) return {context.refusal(), 0};
    std::byte* const word = context.find(head.signal, sizeof(std::uint64_t));
    if (word == nullptr) return {context.refusal(), 0};
    if (reinterpret_cast<std::uintptr_t>(word) % sizeof(std::uint64_t) != 0) {
        return {Code::alignment, 0};
    }
    local::move_bytes(reinterpret_cast<char*>(target), reinterpret_cast<const char*>(bytes.data()),
                      bytes.size());
    (void)local::apply<std::uint64_t>(memory::Operation::add, reinterpret_cast<char*>(word),
                                      head.value, 0);
    return {};
}

std::string put_signal_places(std::span<const std::byte> arguments) {
    PutSignal head;
    if (arguments.size() < sizeof head) return "";
    std::memcpy(&head, arguments.data(), sizeof head);
    return "the target is " +
           local::Space::range_name(head.target, arguments.size() - sizeof head) + ", the signal " +
           local::Space::range_name(head.signal, sizeof(std::uint64_t));
}

}  // namespace acp::operations
