// SPDX-License-Identifier: BSD-3-Clause
// Finds, makes and ends registrations.
#include "gma/registration_cache.hpp"

#include <algorithm>
#include <utility>

namespace acp::gma {

namespace {

std::uintptr_t start_of(const RegistrationCache::OwnRange& range) noexcept {
    return reinterpret_cast<std::uintptr_t>(range.memory);
}

}  // namespace

RegistrationCache::RegistrationCache(local::Registry& registry) : registry_(registry) {
    registrations_.reserve(kept_max);
    free_.reserve(kept_max);
    by_start_.reserve(kept_max);
}

base::Result<RegistrationCache::Use> RegistrationCache::begin(const OwnRange& range) {
    {
        const std::scoped_lock lock(mutex_);
        if (const std::uint32_t number = take_kept(range); number != 0) {
            const Registration& found = at(number);
            return Use{number, found.key + (start_of(range) - start_of(found.range))};
        }
    }
    const std::uint32_t number = take_place();
    while (end_one(kept_max)) continue;
    try {
        auto key = add(range);
        if (key.is_ok()) return put_in_place(number, range, key.value());
        set_free(number);
        return std::move(key).failure();
    } catch (...) {  // there was no memory, and there is no registration
        set_free(number);
        throw;
    }
}

void RegistrationCache::keep(std::uint32_t number) noexcept {
    const std::scoped_lock lock(mutex_);
    at(number).state = State::kept;
    at(number).kept_at = ++clock_;
    ++kept_;
}

void RegistrationCache::revoke(std::uint32_t number) noexcept {
    const std::scoped_lock lock(mutex_);
    unindex(number);
    at(number).state = State::revoked;
    ++revoked_;
    registry_.revoke(at(number).key);
}

void RegistrationCache::end(std::uint32_t number) noexcept {
    local::Key key = 0;
    {
        const std::scoped_lock lock(mutex_);
        unindex(number);
        at(number).state = State::ending;
        key = at(number).key;
    }
    (void)registry_.remove(key);  // it is a live key, so this takes no memory
    set_free(number);
}

std::uint32_t RegistrationCache::end_kept() noexcept {
    std::uint32_t ended = 0;
    while (end_one(0)) ++ended;
    return ended;
}

std::vector<RegistrationCache::Indexed>::iterator RegistrationCache::behind(
    std::uintptr_t start) noexcept {
    return std::upper_bound(
        by_start_.begin(), by_start_.end(), start,
        [](std::uintptr_t value, const Indexed& one) { return value < one.start; });
}

// Takes a kept registration that holds a range, and allows the accesses. 0: there is none.
std::uint32_t RegistrationCache::take_kept(const OwnRange& range) noexcept {
    const std::uintptr_t start = start_of(range);
    auto each = behind(start);
    for (std::size_t looks = 0; looks < looks_max && each != by_start_.begin(); ++looks) {
        --each;
        if (each->end < start || each->end - start < range.bytes) continue;
        Registration& one = at(each->number);
        if (one.state != State::kept || (range.is_written && !one.range.is_written)) continue;
        one.state = State::used;
        --kept_;
        return each->number;
    }
    return 0;
}

// A place for a registration, marked as taken.
std::uint32_t RegistrationCache::take_place() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) {
        if (registrations_.size() == registrations_.capacity()) {
            // All lists: put_in_place() and set_free() then never need memory.
            const std::size_t wanted = 2 * registrations_.capacity();
            free_.reserve(wanted);
            by_start_.reserve(wanted);
            registrations_.reserve(wanted);
        }
        registrations_.emplace_back();
        free_.push_back(static_cast<std::uint32_t>(registrations_.size()));
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    at(number).state = State::ending;
    return number;
}

RegistrationCache::Use RegistrationCache::put_in_place(std::uint32_t number,
                                                       const OwnRange& range,
                                                       local::Key key) noexcept {
    const std::scoped_lock lock(mutex_);
    at(number) = {range, key, 0, State::used};
    const std::uintptr_t start = start_of(range);
    by_start_.insert(behind(start), {start, start + range.bytes, number});
    return {number, key};
}

// Later uses do not find the registration.
void RegistrationCache::unindex(std::uint32_t number) noexcept {
    by_start_.erase(std::find_if(by_start_.begin(), by_start_.end(),
                                 [number](const Indexed& one) { return one.number == number; }));
}

// Begins the end of a registration without a use, if more than `kept_most` are kept: of a revoked
// one, else of the one whose last use ended first.
RegistrationCache::Ending RegistrationCache::take_least_wanted(std::size_t kept_most) noexcept {
    const std::scoped_lock lock(mutex_);
    if (revoked_ == 0 && kept_ <= kept_most) return {};
    const State state = revoked_ != 0 ? State::revoked : State::kept;
    std::uint32_t number = 0;
    for (std::uint32_t each = 1; each <= registrations_.size(); ++each) {
        const bool is_older = number == 0 || at(each).kept_at < at(number).kept_at;
        if (at(each).state == state && is_older) number = each;
    }
    if (state == State::kept) unindex(number);
    --(state == State::kept ? kept_ : revoked_);
    at(number).state = State::ending;
    return {number, at(number).key};
}

bool RegistrationCache::end_one(std::size_t kept_most) noexcept {
    const Ending one = take_least_wanted(kept_most);
    if (one.number == 0) return false;
    (void)registry_.remove(one.key);  // it is a live key, so this takes no memory
    set_free(one.number);
    return true;
}

// If kept registrations leave no room for a new one, they are ended.
base::Result<local::Key> RegistrationCache::add(const OwnRange& range) {
    const os::Rights rights = range.is_written ? os::Rights::read_write : os::Rights::read;
    auto key = registry_.add(range.memory, range.bytes, 0, rights);
    if (key.is_ok() || key.failure().code() != base::Code::limit || end_kept() == 0) return key;
    return registry_.add(range.memory, range.bytes, 0, rights);
}

void RegistrationCache::set_free(std::uint32_t number) noexcept {
    const std::scoped_lock lock(mutex_);
    at(number) = {};
    free_.push_back(number);
}

}  // namespace acp::gma
