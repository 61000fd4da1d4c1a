// SPDX-License-Identifier: BSD-3-Clause
// Keeps the words that no thread uses.
#include "lock/grant_words.hpp"

#include <utility>

namespace acp::lock {

namespace {

constexpr std::uint64_t word_bytes = 64;  // a cache line, which other nodes write

}  // namespace

base::Result<GrantWordAtPlace> GrantWords::borrow() {
    const std::scoped_lock guard(mutex_);
    if (!idle_.empty()) {
        const GrantWordAtPlace last = idle_.back();
        idle_.pop_back();
        return last;
    }
    idle_.reserve(made_ + 1);  // give_back() needs no memory
    auto block = allocator_.allocate(gma_.space().process(), word_bytes, word_bytes,
                                     allocator::BlockOwner::separate);
    if (!block.is_ok()) return std::move(block).failure();
    ++made_;
    char* memory = nullptr;
    (void)gma_.space().view().find_direct(block.value(), sizeof(std::uint64_t), memory);
    auto* const word = reinterpret_cast<std::atomic<std::uint64_t>*>(memory);
    word->store(0, std::memory_order_relaxed);
    return GrantWordAtPlace{block.value(), word};
}

void GrantWords::give_back(const GrantWordAtPlace& idle) noexcept {
    const std::scoped_lock guard(mutex_);
    idle_.push_back(idle);
}

}  // namespace acp::lock
