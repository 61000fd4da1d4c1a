// SPDX-License-Identifier: BSD-3-Clause
// Makes loans and takes them back.
#include "gma/local_ends.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "local/direct.hpp"

namespace acp::gma {

namespace {

constexpr std::uint32_t none = ~0U;

}  // namespace

LocalEnds::LocalEnds(char* memory,
                     memory::GlobalAddress address,
                     local::Registry& registry,
                     std::unique_ptr<SourceWatch> watch)
    : memory_(memory), address_(address), registry_(registry), watch_(std::move(watch)) {
    registered_.reserve(registered_max);
    static_assert(offset_of(block_count) == local_ends_range.bytes({}));
}

// The index of a bit that was set; `none` when none is.
std::uint32_t LocalEnds::take_bit(std::atomic<std::uint64_t>& free) noexcept {
    std::uint64_t seen = free.load(std::memory_order_relaxed);
    while (seen != 0) {
        // acquire: the borrower before is done with the block; partner: free_block()
        if (free.compare_exchange_weak(seen, seen & (seen - 1), std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
            return static_cast<std::uint32_t>(std::countr_zero(seen));
        }
    }
    return none;
}

void LocalEnds::free_block(std::uint32_t block) noexcept {
    const bool is_small = block < small_count;
    (is_small ? free_small_ : free_large_)
        .fetch_or(1ULL << (is_small ? block : block - small_count),
                  std::memory_order_release);  // partner: take_bit()
}

LocalEnds::Loan LocalEnds::take_block(const End& end) noexcept {
    if (end.bytes > block_bytes_max) return {};
    std::uint32_t block = end.bytes <= small_bytes ? take_bit(free_small_) : none;
    if (block == none) {
        block = take_bit(free_large_);
        if (block == none) return {};
        block += small_count;
    }
    ends_[block] = end;
    return {block + 1, address_ + offset_of(block), memory_ + offset_of(block)};
}

std::uint32_t LocalEnds::find(State state) const noexcept {
    const auto found =
        std::find_if(registered_.begin(), registered_.end(),
                     [state](const Registered& each) { return each.state == state; });
    return found != registered_.end() ? static_cast<std::uint32_t>(found - registered_.begin())
                                      : none;
}

std::uint32_t LocalEnds::find_kept(const End& end) const noexcept {
    const auto found =
        std::find_if(registered_.begin(), registered_.end(), [&end](const Registered& each) {
            return each.state == State::kept && each.end.memory == end.memory &&
                   each.end.bytes == end.bytes && each.end.is_get == end.is_get;
        });
    return found != registered_.end() ? static_cast<std::uint32_t>(found - registered_.begin())
                                      : none;
}

std::uint32_t LocalEnds::kept_count() const noexcept {
    return static_cast<std::uint32_t>(
        std::count_if(registered_.begin(), registered_.end(), [](const Registered& each) {
            return each.state == State::kept || each.state == State::revoked;
        }));
}

// Ends a registration without a command if more than `kept_most` are kept; a revoked one first.
// False: there are no more than `kept_most`.
bool LocalEnds::end_one_kept(std::uint32_t kept_most) {
    std::uint32_t index = none;
    local::Key key = 0;
    {
        const std::scoped_lock lock(mutex_);
        if (kept_count() <= kept_most) return false;
        index = find(State::revoked);
        if (index == none) index = find(State::kept);
        registered_[index].state = State::ending;
        key = registered_[index].key;
    }
    (void)registry_.remove(key);  // it is a live key, so this takes no memory
    put_in_place(index, {});
    return true;
}

std::uint32_t LocalEnds::end_kept() {
    std::uint32_t ended = 0;
    while (end_one_kept(0)) ++ended;
    return ended;
}

// If kept registrations leave no room for a new one, they are ended.
base::Result<local::Key> LocalEnds::register_end(const End& end) {
    const os::Rights rights = end.is_get ? os::Rights::read_write : os::Rights::read;
    auto key = registry_.add(end.memory, end.bytes, 0, rights);
    if (key.is_ok() || key.failure().code() != base::Code::limit || end_kept() == 0) return key;
    return registry_.add(end.memory, end.bytes, 0, rights);
}

// A free place in the list, marked as taken; `none` if all have commands.
std::uint32_t LocalEnds::take_place() {
    do {
        const std::scoped_lock lock(mutex_);
        if (const std::uint32_t index = find(State::free); index != none) {
            registered_[index].state = State::ending;
            return index;
        }
        if (registered_.size() < registered_max) {
            registered_.push_back({{}, 0, State::ending});
            return static_cast<std::uint32_t>(registered_.size() - 1);
        }
    } while (end_one_kept(0));
    return none;
}

base::Result<LocalEnds::Loan> LocalEnds::add_registration(const End& end) {
    {
        const std::scoped_lock lock(mutex_);
        if (const std::uint32_t index = find_kept(end); index != none) {
            registered_[index].state = State::lent;
            return loan_of(index, registered_[index].key);
        }
    }
    const std::uint32_t index = take_place();
    if (index == none) return Loan{};
    try {
        (void)end_one_kept(kept_max);
        auto key = register_end(end);
        put_in_place(index, key.is_ok() ? Registered{end, key.value(), State::lent} : Registered{});
        if (!key.is_ok()) return std::move(key).failure();
        return loan_of(index, key.value());
    } catch (...) {  // there was no memory, and there is no registration
        put_in_place(index, {});
        throw;
    }
}

void LocalEnds::put_in_place(std::uint32_t index, const Registered& registered) {
    const std::scoped_lock lock(mutex_);
    registered_[index] = registered;
}

const char* LocalEnds::memory_at(std::uint32_t number, memory::GlobalAddress address) {
    if (is_block(number))
        return ends_[number - 1].memory + (address - address_ - offset_of(number - 1));
    const std::scoped_lock lock(mutex_);
    const Registered& its = registered(number);
    return its.end.memory + (address - its.key);
}

void LocalEnds::give_back(std::uint32_t number) noexcept {
    if (number == 0) return;
    if (is_block(number)) return free_block(number - 1);
    const std::scoped_lock lock(mutex_);
    registered(number).state = State::kept;
}

void LocalEnds::on_end(const memory::Command& command, bool is_ok) noexcept {
    const std::uint32_t number = command.loan();
    if (watch_ != nullptr) watch_->end(number);
    if (is_block(number)) {
        if (!is_ok) return;
        const End& end = ends_[number - 1];
        if (end.is_get) {
            local::move_bytes(end.memory, memory_ + offset_of(number - 1), end.bytes);
        }
        return free_block(number - 1);
    }
    if (is_ok) return give_back(number);
    const std::scoped_lock lock(mutex_);
    registered(number).state = State::revoked;
    registry_.revoke(registered(number).key);
}

}  // namespace acp::gma
