// SPDX-License-Identifier: BSD-3-Clause
// Divides the receive buffer: equal parts for active peers, never more than is free, and promises
// taken back after silence. One thread.
#include "datagram/credit_budget.hpp"

#include <algorithm>
#include <bit>

#include "base/assert.hpp"
#include "datagram/mtu_prober.hpp"

namespace acp::datagram {

namespace {

// What the kernel charges to the receive buffer for a datagram that fits an Ethernet frame of 1500
// bytes.
constexpr std::uint32_t small_datagram = 1472;
constexpr std::uint32_t small_true_bytes = 2304;
// Longer datagrams lie in memory rounded up to a power of two, and carry headers and bookkeeping.
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
    const std::uint64_t budget = usable_bytes(receive_bytes) / true_bytes(datagram_bytes);
    const std::uint64_t each =
        budget / (CreditBudget::reserve_share * std::uint64_t{std::max(senders, 1U)});
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(each, unscheduled_min, unscheduled_max));
}

std::uint32_t allowance_of(std::uint32_t unscheduled,
                           std::uint32_t least,
                           std::uint32_t datagram_bytes) noexcept {
    return std::max(unscheduled * true_bytes(least) / true_bytes(std::max(datagram_bytes, least)),
                    1U);
}

CreditShare::~CreditShare() {
    if (budget_ != nullptr) budget_->leave(*this);
}

CreditBudget::CreditBudget(std::uint64_t receive_bytes,
                           std::uint32_t senders,
                           std::uint32_t least,
                           std::uint32_t most) noexcept
    : usable_bytes_(usable_bytes(receive_bytes)),
      least_(least),
      longest_(least),
      unscheduled_(unscheduled_datagrams(receive_bytes, senders, least)) {
    const std::uint64_t usable = usable_bytes_;
    std::uint64_t& each = each_bytes_;
    each = std::uint64_t{unscheduled_} * true_bytes(least);
    // WIRE-78: a longer datagram is admitted only if one datagram of allowance and one path probe
    // of every sender take at most half of the budget.
    const auto take = [&](std::uint32_t bytes) {
        const std::uint64_t longer = true_bytes(bytes);
        const bool has_room = std::uint64_t{4} * senders * longer <= usable;
        if (bytes <= longest_ || bytes > most || (longer > true_bytes(least) && !has_room)) return;
        longest_ = bytes;
        if (has_room) each = std::max(each, longer) + longer;
    };
    take(most);
    for (const std::uint32_t bytes : MtuProber::shorter) take(bytes);
    certain_bytes_ = usable - std::min(usable, senders * each);
    reserve_bytes_ = std::min(senders * each, usable / reserve_share);
}

// WIRE-54
std::uint64_t CreditBudget::shared_bytes() const noexcept {
    const std::uint64_t kept = std::max(reserve_bytes_, active_ * each_bytes_);
    return usable_bytes_ - std::min(usable_bytes_, kept);
}

CreditBudget::~CreditBudget() {
    while (oldest_ != nullptr) leave(*oldest_);
}

void CreditBudget::on_received(CreditShare& share) noexcept {
    share.came_ = std::min(share.came_ + 1, early_datagrams);
    ++share.of_slice_;
    if (share.promised_ == 0) return;  // it was covered by the allowance
    --share.promised_;
    // Datagrams promised while they were short arrive first.
    if (share.short_ != 0) {
        --share.short_;
        promised_bytes_ -= share.short_each_;
    } else {
        promised_bytes_ -= share.each_;
    }
}

std::uint64_t CreditBudget::part_of(const CreditShare& share) const noexcept {
    // A talker gets an equal part. Any other peer gets a few datagrams, and only from what remains
    // if all nodes begin to talk.
    std::uint64_t part = shared_bytes() / std::max(talkers_, 1U);
    if (!share.is_talker_) {
        const std::uint64_t few = std::uint64_t{talker_datagrams} * share.each_;
        part = std::min(
            {part, few,
             bytes_of(share) + certain_bytes_ - std::min(certain_bytes_, promised_bytes_)});
    }
    // A peer that may yet find a longer path is promised little: each promise is charged at the
    // length of the day it was made.
    const bool is_early = share.came_ < early_datagrams && share.each_ < true_bytes(longest_);
    return is_early ? std::min(part, std::uint64_t{early_promise} * share.each_) : part;
}

std::uint64_t CreditBudget::bytes_of(const CreditShare& share) noexcept {
    return std::uint64_t{share.short_} * share.short_each_ +
           std::uint64_t{share.promised_ - share.short_} * share.each_;
}

// Notes that the peer's datagrams have become longer. Earlier promises stay charged at the earlier
// length. If they grow twice while short promises remain, all those are charged at the length
// before the second growth. Returns whether datagrams have become longer.
bool CreditBudget::lengthen(CreditShare& share, std::uint32_t each) noexcept {
    if (each <= share.each_) return false;
    share.short_ = share.promised_;
    share.short_each_ = share.each_;
    share.each_ = each;
    return true;
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
    judge_talk(now, share);
    promised_bytes_ -= bytes_of(share);
    const bool is_longer = lengthen(share, true_bytes(datagram_bytes)) && datagram_bytes > least_;
    const std::uint64_t held = bytes_of(share);
    promised_bytes_ += held;
    const std::uint64_t part = part_of(share);
    const std::uint64_t shared = shared_bytes();
    const std::uint64_t free = shared - std::min(shared, promised_bytes_);
    // The acknowledgement that confirms a longer path to the sender makes no new promise: the
    // sender would count it as one for short datagrams (PathState::long_from).
    if (held < part && !is_longer) {
        const auto more = static_cast<std::uint32_t>(std::min(part - held, free) / share.each_);
        share.promised_ += more;
        promised_bytes_ += std::uint64_t{more} * share.each_;
    }
    return allowance_of(unscheduled_, least_, datagram_bytes) + share.promised_;
}

void CreditBudget::leave(CreditShare& share) noexcept {
    if (share.budget_ != this) return;
    unlink(share);
    set_talker(share, false);
    share.slice_ = share.of_slice_ = 0;
    promised_bytes_ -= bytes_of(share);
    share.promised_ = share.short_ = share.each_ = 0;
    share.budget_ = nullptr;
}

void CreditBudget::expire(Time now) noexcept {
    while (oldest_ != nullptr && oldest_->granted_at_ + lease_ns <= now) leave(*oldest_);
}

// A peer that talked in the last time slice stays a talker until the current slice has ended.
void CreditBudget::judge_talk(Time now, CreditShare& share) noexcept {
    const std::uint64_t slice = now / slice_ns;
    const bool is_much = share.of_slice_ >= talker_datagrams;
    if (slice == share.slice_) {
        if (is_much) set_talker(share, true);
        return;
    }
    set_talker(share, is_much && share.slice_ + 1 >= slice);
    share.slice_ = slice;
    share.of_slice_ = 0;
}

void CreditBudget::set_talker(CreditShare& share, bool is_talker) noexcept {
    if (share.is_talker_ == is_talker) return;
    share.is_talker_ = is_talker;
    talkers_ += is_talker ? 1U : ~0U;
}

// Appends a share to the list in order of the last grant, so that expire() finds the oldest first.
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
