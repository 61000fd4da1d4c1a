// SPDX-License-Identifier: BSD-3-Clause
// Writes the bytes, then the word: a thread that acquires the word's new value sees the bytes. Then rings.
#include "operations/put_notify.hpp"

#include <atomic>
#include <cstring>

#include "local/direct.hpp"
#include "node/wait.hpp"

namespace acp::operations {

using base::Code;

local::NumberedOperation::Ran put_notify(local::OperationContext& context,
                                         std::span<const std::byte> arguments,
                                         std::span<std::byte> /*result*/) noexcept {
    PutNotify head;
    if (arguments.size() < sizeof head) return {Code::argument, 0};
    std::memcpy(&head, arguments.data(), sizeof head);
    const std::span<const std::byte> bytes = arguments.subspan(sizeof head);
    std::byte* target = nullptr;
    if (!bytes.empty()) {
        target = context.find(head.target, bytes.size());
        if (target == nullptr) return {context.refusal(), 0};
    }
    std::byte* const word = context.find(head.word, sizeof(std::uint64_t));
    if (word == nullptr) return {context.refusal(), 0};
    if (reinterpret_cast<std::uintptr_t>(word) % sizeof(std::uint64_t) != 0) {
        return {Code::alignment, 0};
    }
    if (target != nullptr) {
        local::move_bytes(reinterpret_cast<char*>(target),
                          reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    // seq_cst: before the look whether somebody sleeps; partner: Bell::announce() of the sleeper
    reinterpret_cast<std::atomic<std::uint64_t>*>(word)->exchange(head.value,
                                                                  std::memory_order_seq_cst);
    const local::Space& space = context.space();
    node::ring_bell_after_rmw(
        space.segment().slot(space.slot_of(context.process())).door.waiter_bell);
    return {};
}

std::string put_notify_places(std::span<const std::byte> arguments) {
    PutNotify head;
    if (arguments.size() < sizeof head) return "";
    std::memcpy(&head, arguments.data(), sizeof head);
    const std::uint64_t bytes = arguments.size() - sizeof head;
    const std::string target =
        bytes == 0 ? "" : "the target is " + local::Space::range_name(head.target, bytes) + ", ";
    return target + "the word " + local::Space::range_name(head.word, sizeof(std::uint64_t));
}

}  // namespace acp::operations
