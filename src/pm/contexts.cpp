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
    ContextEntry& entry = entries_[number];
    if (entry.handle != 0)
        return Status(Code::state, "context " + std::to_string(number) + " is open already");
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

bool Contexts::close(ContextHandle handle) noexcept {
    const std::scoped_lock lock(mutex_);
    Context* const context = find(handle);
    if (context == nullptr) return false;
    context->close();
    entries_[number_of(handle)].handle = 0;
    return true;
}

void Contexts::settle_sent() noexcept {
    for (const ContextEntry& entry : entries_) {
        if (entry.context != nullptr) entry.context->settle();
    }
}

}  // namespace acp::pm
