// SPDX-License-Identifier: BSD-3-Clause
// Writes the bytes, then the word: a thread that acquires the word's new value sees the bytes.
#include "operations/put_signal.hpp"

#include <cstddef>
#include <string>

#include "local/direct.hpp"
#include "node/wait.hpp"
#include "node/word_sleepers.hpp"

namespace acp::operations {

namespace {

using base::Code;
using memory::Operation;

//   operation  add, or swap: sets the word
template <Operation operation>
Code put_signal(local::OperationContext& context,
                const PutSignal& head,
                local::Bytes bytes) noexcept {
    static_assert(operation == Operation::add || operation == Operation::swap);
    std::byte* const target = context.find(head.target, bytes.size());
    if (target == nullptr) return context.refusal();
    std::byte* const word = context.find(head.signal, sizeof(std::uint64_t));
    if (word == nullptr) return context.refusal();
    if (reinterpret_cast<std::uintptr_t>(word) % sizeof(std::uint64_t) != 0) return Code::alignment;
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
    return Code::ok;
}

}  // namespace

// "the target is 64 bytes at global address 0x..., the signal 8 bytes at global address 0x..."
std::string SignalOperation::places_of(const Input& input, std::size_t tail_bytes) {
    return "the target is " + local::Space::range_name(input.target, tail_bytes) + ", the signal " +
           local::Space::range_name(input.signal, sizeof(std::uint64_t));
}

Code AddSignal::run(Owner& owner, const Call& call, Reply& /*reply*/) noexcept {
    return put_signal<Operation::add>(owner.context(), call.input, call.tail);
}

Code SetSignal::run(Owner& owner, const Call& call, Reply& /*reply*/) noexcept {
    return put_signal<Operation::swap>(owner.context(), call.input, call.tail);
}

}  // namespace acp::operations
