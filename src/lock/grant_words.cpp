// SPDX-License-Identifier: BSD-3-Clause
// Keeps the words that no thread uses.
#include "lock/grant_words.hpp"

#include <cstring>
#include <utility>

namespace acp::lock {

namespace {

constexpr std::uint64_t word_bytes = sizeof(sync::GrantRoom) + operations::lock_bytes_max;

}  // namespace

base::Result<BegunWait> GrantWords::begin() {
    const std::scoped_lock guard(mutex_);
    // The last one is the warmest.
    for (std::size_t i = idle_.size(); i != 0; --i) {
        const GrantWordAtPlace place = idle_[i - 1];
        const std::uint64_t number = sync::GrantWord<>(place.room->word).begin();
        if (number == 0) continue;
        idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i - 1));
        return BegunWait{place, number};
    }
    auto made = make();
    if (!made.is_ok()) return std::move(made).failure();
    return BegunWait{made.value(), sync::GrantWord<>(made.value().room->word).begin()};
}

base::Result<GrantWordAtPlace> GrantWords::make() {
    idle_.reserve(made_ + 1);  // give_back() needs no memory
    // A room of its own, whose cache lines other nodes write.
    auto block = allocator_.allocate(gma_.space().process(), word_bytes, alignof(sync::GrantRoom),
                                     allocator::BlockOwner::separate);
    if (!block.is_ok()) return std::move(block).failure();
    ++made_;
    char* memory = nullptr;
    (void)gma_.space().view().find_direct(block.value(), sizeof(sync::GrantRoom), memory);
    std::memset(memory, 0, sizeof(sync::GrantRoom));
    return GrantWordAtPlace{block.value(), reinterpret_cast<sync::GrantRoom*>(memory)};
}

void GrantWords::give_back(const GrantWordAtPlace& idle) noexcept {
    const std::scoped_lock guard(mutex_);
    idle_.push_back(idle);
}

}  // namespace acp::lock
