// SPDX-License-Identifier: BSD-3-Clause
// Divides the receive buffer: equal parts for those active, no more than what is free, back after silence. One
// thread.
#include "datagram/credit_budget.hpp"

#include <algorithm>
#include <bit>

#include "base/assert.hpp"

namespace acp::datagram {

namespace {

// Of the kernel's buffer for a datagram that fits one Ethernet frame of 1500 bytes.
constexpr std::uint32_t small_datagram = 1472;
constexpr std::uint32_t small_true_bytes = 2304;
// Longer ones lie in memory rounded up to a power of two, with headers and bookkeeping.
constexpr std::uint32_t headers = 384;
constexpr std::uint32_t bookkeeping = 256;
constexpr std::uint32_t unscheduled_min = 2;
constexpr std::uint32_t unscheduled_max = 16;

}  // namespace

std::uint32_t true_bytes(std::uint32_t datagram_bytes) noexcept {
    if (datagram_bytes <= small_datagram) return small_true_bytes;
    return std::bit_ceil(datagram_bytes + headers) + bookkeeping;
}

// WIRE-57
std::uint32_t unscheduled_datagrams(std::uint64_t receive_bytes,
                                    std::uint32_t senders,
                                    std::uint32_t datagram_bytes) noexcept {
    const std::uint64_t budget = receive_bytes / true_bytes(datagram_bytes);
    const std::uint64_t each = budget / (2 * std::uint64_t{std::max(senders, 1U)});
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(each, unscheduled_min, unscheduled_max));
}

CreditShare::~CreditShare() {
    if (budget_ != nullptr) budget_->leave(*this);
}

CreditBudget::CreditBudget(std::uint64_t receive_bytes,
                           std::uint32_t senders,
                           std::uint32_t datagram_bytes) noexcept
    : unscheduled_(unscheduled_datagrams(receive_bytes, senders, datagram_bytes)) {
    const std::uint64_t allowances =
        std::uint64_t{senders} * unscheduled_ * true_bytes(datagram_bytes);
    shared_bytes_ = receive_bytes - std::min(receive_bytes, allowances);
}

CreditBudget::~CreditBudget() {
    while (oldest_ != nullptr) leave(*oldest_);
}

void CreditBudget::on_received(CreditShare& share) noexcept {
    if (share.promised_ == 0) return;  // it was of the allowance
    --share.promised_;
    promised_bytes_ -= share.each_;
}

// WIRE-54
std::uint32_t CreditBudget::grant(Time now,
                                  CreditShare& share,
                                  std::uint32_t datagram_bytes) noexcept {
    ACP_ASSERT(share.budget_ == nullptr || share.budget_ == this);
    expire(now);
    if (share.budget_ != nullptr) unlink(share);
    share.granted_at_ = now;
    append(share);
    const std::uint32_t each = true_bytes(datagram_bytes);
    promised_bytes_ -= std::uint64_t{share.promised_} * share.each_;
    promised_bytes_ += std::uint64_t{share.promised_} * each;
    share.each_ = each;
    const std::uint64_t part = shared_bytes_ / active_ / each;
    const std::uint64_t free = (shared_bytes_ - std::min(shared_bytes_, promised_bytes_)) / each;
    if (share.promised_ < part) {
        const auto more = static_cast<std::uint32_t>(std::min(part - share.promised_, free));
        share.promised_ += more;
        promised_bytes_ += std::uint64_t{more} * each;
    }
    return unscheduled_ + share.promised_;
}

void CreditBudget::leave(CreditShare& share) noexcept {
    if (share.budget_ != this) return;
    unlink(share);
    promised_bytes_ -= std::uint64_t{share.promised_} * share.each_;
    share.promised_ = 0;
    share.budget_ = nullptr;
}

void CreditBudget::expire(Time now) noexcept {
    while (oldest_ != nullptr && oldest_->granted_at_ + lease_ns <= now) leave(*oldest_);
}

void CreditBudget::append(CreditShare& share) noexcept {
    share.budget_ = this;
    share.older_ = newest_;
    share.newer_ = nullptr;
    (newest_ == nullptr ? oldest_ : newest_->newer_) = &share;
    newest_ = &share;
    ++active_;
}

void CreditBudget::unlink(CreditShare& share) noexcept {
    (share.older_ == nullptr ? oldest_ : share.older_->newer_) = share.newer_;
    (share.newer_ == nullptr ? newest_ : share.newer_->older_) = share.older_;
    --active_;
}

}  // namespace acp::datagram
