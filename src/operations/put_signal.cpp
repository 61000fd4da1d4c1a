// SPDX-License-Identifier: BSD-3-Clause
// Writes the bytes, then the word: a thread that acquires the word's new value sees the bytes.
#include "operations/put_signal.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <string>

#include "local/direct.hpp"
#include "node/wait.hpp"
#include "node/word_sleepers.hpp"

namespace acp::operations {

namespace {

using base::Code;
using local::NumberedOperation;
using memory::Operation;

//   operation  add, or swap: sets the word
template <Operation operation>
NumberedOperation::Ran put_signal(local::OperationContext& context,
                                  std::span<const std::byte> arguments,
                                  std::span<std::byte> /*result*/) noexcept {
    static_assert(operation == Operation::add || operation == Operation::swap);
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
    if (!bytes.empty()) {
        local::move_bytes(reinterpret_cast<char*>(target),
                          reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    (void)local::apply<std::uint64_t>(operation, reinterpret_cast<char*>(word), head.value, 0);
    const local::Space& space = context.space();
    const std::uint32_t slot = space.slot_of(context.process());
    if constexpr (operation == Operation::swap) {
        // After the word, by seq_cst; partner: Bell::announce() of the sleeper.
        node::ring_bell_after_rmw(space.segment().slot(slot).door.waiter_bell);
    } else {
        node::ring_word_sleepers(space.segment(), slot);
    }
    return {};
}

// "the target is 64 bytes at global address 0x..., the signal 8 bytes at global address 0x..."
std::string places_of(std::span<const std::byte> arguments) {
    PutSignal head;
    if (arguments.size() < sizeof head) return "";
    std::memcpy(&head, arguments.data(), sizeof head);
    return "the target is " +
           local::Space::range_name(head.target, arguments.size() - sizeof head) + ", the signal " +
           local::Space::range_name(head.signal, sizeof(std::uint64_t));
}

constexpr std::array rows{
    NumberedOperation{put_signal_add_number, "acp_put_signal", memory::invoke_bytes_max, 0,
                      put_signal<Operation::add>, places_of},
    NumberedOperation{put_signal_set_number, "a message of a channel", memory::invoke_bytes_max, 0,
                      put_signal<Operation::swap>, places_of},
};

}  // namespace

std::span<const NumberedOperation> put_signal_operations() noexcept {
    return rows;
}

}  // namespace acp::operations
