// SPDX-License-Identifier: BSD-3-Clause
// Opens and closes contexts.
#include "pm/contexts.hpp"

#include <string>
#include <utility>

#include "message/ring_layout.hpp"

namespace acp::pm {

using base::Code;
using base::Result;
using base::Status;

Result<ContextHandle> Contexts::open(std::uint32_t number) {
    const std::scoped_lock lock(mutex_);
    if (Status why = why_not_open(number); !why.is_ok()) return why;
    ContextEntry& entry = entries_[number];
    if (entry.context == nullptr) {
        auto block = allocator_.allocate(gma_.space().process(), pool_bytes, message::line_bytes);
        if (!block.is_ok()) return std::move(block).failure();
        try {
            entry.context = std::make_unique<Context>(gma_, allocator_, number, block.value());
        } catch (...) {
            (void)allocator_.free(block.value());
            throw;
        }
    }
    entry.context->open();
    entry.handle = ++opened_ << 8 | (number + 1);
    return entry.handle;
}

// Allowed once: other processes keep their pointers, and a second begin is impossible (problem 2 of
// the paper).
Result<ContextHandle> Contexts::open_per_peer(std::uint32_t number) {
    const std::scoped_lock lock(mutex_);
    if (Status why = why_not_open(number); !why.is_ok()) return why;
    ContextEntry& entry = entries_[number];
    if (entry.context != nullptr) {
        return Status(Code::state,
                      "context " + std::to_string(number) + " was open by the other scheme before");
    }
    const std::uint64_t bytes = PerPeerContext::block_bytes(gma_.space().segment().shape().procs);
    auto block = allocator_.allocate(gma_.space().process(), bytes, message::line_bytes);
    if (!block.is_ok()) return std::move(block).failure();
    try {
        entry.per_peer = std::make_unique<PerPeerContext>(gma_, allocator_, number, block.value());
    } catch (...) {
        (void)allocator_.free(block.value());
        throw;
    }
    entry.per_peer->open();
    entry.handle = ++opened_ << 8 | per_peer_bit | (number + 1);
    return entry.handle;
}

Status Contexts::why_not_open(std::uint32_t number) const {
    const ContextEntry& entry = entries_[number];
    if (entry.handle != 0)
        return {Code::state, "context " + std::to_string(number) + " is open already"};
    if (entry.per_peer != nullptr) {
        return {Code::state, "context " + std::to_string(number) +
                                 " was open by the paper's scheme, which cannot begin anew"};
    }
    return {};
}

bool Contexts::close(ContextHandle handle) noexcept {
    const std::scoped_lock lock(mutex_);
    if (entry_of(handle) == nullptr) return false;
    ContextEntry& entry = entries_[(handle & index_mask & ~per_peer_bit) - 1];
    (handle & per_peer_bit) != 0 ? entry.per_peer->close() : entry.context->close();
    entry.handle = 0;
    return true;
}

void Contexts::settle_sent() noexcept {
    for (const ContextEntry& entry : entries_) {
        if (entry.context != nullptr) entry.context->settle();
        if (entry.per_peer != nullptr) entry.per_peer->settle();
    }
}

}  // namespace acp::pm
