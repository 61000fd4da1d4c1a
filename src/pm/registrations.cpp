// SPDX-License-Identifier: BSD-3-Clause
// Finds, adds and ends registrations.
#include "pm/registrations.hpp"

#include <string>
#include <utility>

#include "base/format.hpp"
#include "os/mapping.hpp"

namespace acp::pm {

using base::Code;
using base::Result;
using base::Status;

Result<memory::GlobalAddress> Registrations::lock(void* address, std::uint64_t bytes) {
    const auto first = reinterpret_cast<std::uint64_t>(address);
    const std::uint64_t page = os::page_bytes();
    if (address == nullptr) return Status(Code::argument, "the address is NULL");
    if (bytes == 0) return Status(Code::argument, "the size is 0 bytes");
    if (bytes > ~first || first + bytes > ~page) {
        return Status(Code::argument, std::to_string(bytes) + " bytes from address " +
                                          base::hex(first) +
                                          " on go beyond the end of the address space");
    }
    const std::uint64_t start = first & ~(page - 1);
    const std::uint64_t end = (first + bytes + page - 1) & ~(page - 1);
    const std::scoped_lock lock(mutex_);
    LockedMemory* found = find(start, end);
    if (found == nullptr) {
        auto added = add(start, end);
        if (!added.is_ok()) return std::move(added).failure();
        found = added.value();
    }
    ++found->users;
    return found->key + (first - found->start);
}

Status Registrations::unlock(memory::GlobalAddress address) {
    std::unique_lock lock(mutex_);
    for (LockedMemory& locked : all_) {
        if (address - locked.key >= locked.end - locked.start) continue;
        if (--locked.users != 0) return {};
        const local::Key key = locked.key;
        locked = all_.back();
        all_.pop_back();
        lock.unlock();  // remove() waits for copies from or to the memory
        // It fails only if the program has ended the registration itself.
        (void)gma_.registry().remove(key);
        return {};
    }
    return {Code::stale, "address " + base::hex(address) + " is of no memory that is locked"};
}

Registrations::LockedMemory* Registrations::find(std::uint64_t start, std::uint64_t end) noexcept {
    const auto covers = [&](const LockedMemory& all) {
        return all.start <= start && end <= all.end;
    };
    if (last_ < all_.size() && covers(all_[last_])) return &all_[last_];
    for (last_ = 0; last_ < all_.size(); ++last_)
        if (covers(all_[last_])) return &all_[last_];
    return nullptr;
}

Result<Registrations::LockedMemory*> Registrations::add(std::uint64_t start, std::uint64_t end) {
    all_.reserve(all_.size() + 1);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the first byte of a page of the program's memory
    auto key = gma_.register_memory(reinterpret_cast<void*>(start), end - start, 0);
    if (!key.is_ok()) return std::move(key).failure();
    all_.push_back({start, end, key.value(), 0});
    last_ = all_.size() - 1;
    return &all_.back();
}

}  // namespace acp::pm
