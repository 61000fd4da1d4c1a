// SPDX-License-Identifier: BSD-3-Clause
// Finding, adding and ending registrations.
#include "pm/registrations.hpp"

#include <utility>

#include "base/format.hpp"
#include "os/mapping.hpp"

namespace acp::pm {

using base::Code;
using base::Result;
using base::Status;

namespace {

bool covers(os::MemoryRange all, os::MemoryRange part) noexcept {
    return all.start <= part.start && part.end <= all.end;
}

bool overlap(os::MemoryRange one, os::MemoryRange other) noexcept {
    return one.start < other.end && other.start < one.end;
}

}  // namespace

// A forked child may have a copy of the descriptor, and whoever unmaps watched memory waits for its reader.
Registrations::~Registrations() {
    for (const LockedMemory& locked : all_)
        if (locked.is_kept) watch_->unwatch(locked.pages);
}

Result<memory::GlobalAddress> Registrations::lock(void* address, std::uint64_t bytes) {
    const auto first = reinterpret_cast<std::uint64_t>(address);
    const std::uint64_t page = os::page_bytes();
    if (address == nullptr) return Status(Code::argument, "the address is NULL");
    if (bytes == 0) return Status(Code::argument, "the size is 0 bytes");
    if (bytes > ~first || first + bytes > ~page)
        return Status(Code::argument, "the memory goes beyond the end of the address space");
    const os::MemoryRange pages{first & ~(page - 1), (first + bytes + page - 1) & ~(page - 1)};
    const std::scoped_lock lock(mutex_);
    heed_unmapped();
    LockedMemory* found = find(pages);
    if (found == nullptr) {
        auto added = add(pages);
        if (!added.is_ok()) return std::move(added).failure();
        found = added.value();
    }
    if (found->users++ == 0) --unused_;
    found->last_use = ++uses_;
    return found->key + (first - found->pages.start);
}

Status Registrations::unlock(memory::GlobalAddress address) {
    const std::scoped_lock lock(mutex_);
    heed_unmapped();
    for (std::size_t i = 0; i < all_.size(); ++i) {
        LockedMemory& locked = all_[i];
        if (locked.users == 0 || address - locked.key >= locked.pages.end - locked.pages.start)
            continue;
        if (--locked.users != 0) return {};
        ++unused_;
        if (!locked.is_kept) {
            end(i);
        } else if (unused_ > kept_max) {
            end_oldest();
        }
        return {};
    }
    return {Code::stale, "address " + base::hex(address) + " is of no memory that is locked"};
}

Registrations::LockedMemory* Registrations::find(os::MemoryRange pages) noexcept {
    if (last_ < all_.size() && all_[last_].is_kept && covers(all_[last_].pages, pages))
        return &all_[last_];
    for (last_ = 0; last_ < all_.size(); ++last_)
        if (all_[last_].is_kept && covers(all_[last_].pages, pages)) return &all_[last_];
    return nullptr;
}

Result<Registrations::LockedMemory*> Registrations::add(os::MemoryRange pages) {
    if (!std::exchange(is_watch_tried_, true)) {
        auto watch = os::UnmapWatch::create();
        if (watch.is_ok()) watch_ = std::move(watch).value();
    }
    all_.reserve(all_.size() + 1);
    const std::uint64_t bytes = pages.end - pages.start;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the first byte of a page of what the program has given
    auto* const start = reinterpret_cast<void*>(pages.start);
    // Watched first: what is unmapped from now on is told.
    const bool is_kept = watch_ != nullptr && watch_->watch(pages);
    auto key = gma_.register_memory(start, bytes, 0);
    if (!key.is_ok() && key.failure().code() == Code::limit && unused_ != 0) {
        end_unused();
        key = gma_.register_memory(start, bytes, 0);
    }
    if (!key.is_ok()) return std::move(key).failure();
    all_.push_back({pages, key.value(), 0, 0, is_kept});
    ++unused_;
    last_ = all_.size() - 1;
    return &all_.back();
}

// What was unmapped is not used again, and ends when nobody uses it.
void Registrations::heed_unmapped() {
    if (watch_ == nullptr) return;
    bool has_ended = false;
    const auto forget = [&](os::MemoryRange gone) {
        for (LockedMemory& locked : all_) {
            if (!overlap(locked.pages, gone)) continue;
            locked.is_kept = false;
            has_ended = true;
        }
    };
    if (!watch_->take(forget)) forget({0, ~std::uint64_t{0}});
    if (!has_ended) [[likely]]
        return;
    for (std::size_t i = all_.size(); i-- > 0;)
        if (all_[i].users == 0 && !all_[i].is_kept) end(i);
}

void Registrations::end_unused() {
    for (std::size_t i = all_.size(); i-- > 0;)
        if (all_[i].users == 0) end(i);
}

void Registrations::end_oldest() {
    std::size_t oldest = all_.size();
    for (std::size_t i = 0; i < all_.size(); ++i) {
        const bool is_unused = all_[i].users == 0;
        if (is_unused && (oldest == all_.size() || all_[i].last_use < all_[oldest].last_use))
            oldest = i;
    }
    if (oldest != all_.size()) end(oldest);
}

// Of one that nobody uses.
void Registrations::end(std::size_t index) {
    const LockedMemory ended = all_[index];
    all_[index] = all_.back();
    all_.pop_back();
    --unused_;
    // It fails only where the program has ended the registration itself.
    (void)gma_.registry().remove(ended.key);
    if (!ended.is_kept) return;
    for (const LockedMemory& other : all_)
        if (overlap(other.pages, ended.pages)) return;  // they are watched for that one too
    watch_->unwatch(ended.pages);
}

}  // namespace acp::pm
