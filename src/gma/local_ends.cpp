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
    : memory_(memory),
      address_(address),
      registrations_(registry),
      watch_(std::move(watch)),
      registered_(registered_max) {
    for (std::atomic<std::uint64_t>& word : free_small_)
        word.store(~0ULL, std::memory_order_relaxed);
    for (std::uint32_t i = registered_max; i != 0; --i) free_numbers_.push_back(block_count + i);
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

// The lowest one that is free, so that a process writes no more of them than it needs at once.
std::uint32_t LocalEnds::take_small() noexcept {
    for (std::uint32_t word = 0; word < free_small_.size(); ++word) {
        const std::uint32_t bit = take_bit(free_small_[word]);
        if (bit != none) return word * blocks_per_word + bit;
    }
    return none;
}

void LocalEnds::free_block(std::uint32_t block) noexcept {
    const bool is_small = block < small_count;
    std::atomic<std::uint64_t>& free =
        is_small ? free_small_[block / blocks_per_word] : free_large_;
    const std::uint32_t bit = is_small ? block % blocks_per_word : block - small_count;
    free.fetch_or(1ULL << bit, std::memory_order_release);  // partner: take_bit()
    if (was_wait_vain_.load(std::memory_order_relaxed)) [[unlikely]]
        was_wait_vain_.store(false, std::memory_order_relaxed);
}

LocalEnds::Loan LocalEnds::take_block(const End& end) noexcept {
    if (end.bytes > block_bytes_max) return {};
    std::uint32_t block = end.bytes <= small_bytes ? take_small() : none;
    if (block == none) {
        block = take_bit(free_large_);
        if (block == none) return {};
        block += small_count;
    }
    ends_[block] = end;
    return {block + 1, address_ + offset_of(block), memory_ + offset_of(block)};
}

// The number of a registration's loan; 0: all are on loan.
std::uint32_t LocalEnds::take_number() noexcept {
    const std::scoped_lock lock(mutex_);
    if (free_numbers_.empty()) return 0;
    const std::uint32_t number = free_numbers_.back();
    free_numbers_.pop_back();
    return number;
}

// Takes back the number of a loan. Returns the number of its registration's use.
std::uint32_t LocalEnds::free_number(std::uint32_t number) noexcept {
    const std::scoped_lock lock(mutex_);
    free_numbers_.push_back(number);
    return registered(number).use.number;
}

base::Result<LocalEnds::Loan> LocalEnds::add_registration(const End& end) {
    const std::uint32_t number = take_number();
    if (number == 0) return Loan{};
    try {
        auto use = registrations_.begin({end.memory, end.bytes, end.is_get});
        if (!use.is_ok()) {
            (void)free_number(number);
            return std::move(use).failure();
        }
        const std::scoped_lock lock(mutex_);
        registered(number) = {end, use.value()};
        return Loan{number, use.value().address, nullptr};
    } catch (...) {  // there was no memory, and there is no registration
        (void)free_number(number);
        throw;
    }
}

const char* LocalEnds::memory_at(std::uint32_t number, memory::GlobalAddress address) {
    if (is_block(number))
        return ends_[number - 1].memory + (address - address_ - offset_of(number - 1));
    const std::scoped_lock lock(mutex_);
    const Registered& its = registered(number);
    return its.end.memory + (address - its.use.address);
}

void LocalEnds::give_back(std::uint32_t number) noexcept {
    if (number == 0) return;
    if (is_block(number)) return free_block(number - 1);
    registrations_.keep(free_number(number));
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
    registrations_.revoke(free_number(number));
}

}  // namespace acp::gma
