// SPDX-License-Identifier: BSD-3-Clause
// The fate of each datagram: drawn in a fixed order, so that one seed always tells the same story.
#include "gateway/fault_injector.hpp"

#include <algorithm>
#include <utility>

namespace acp::gateway {

namespace {

constexpr std::uint64_t reorder_one_in = 8;
// A datagram overtaken by others goes after this even if none comes.
constexpr Time reorder_wait_ns = 2'000'000;

}  // namespace

FaultInjector::FaultInjector(const base::FaultPlan& plan) : plan_(plan), random_(plan.seed) {}

std::string FaultInjector::announcement(const std::string& plan) {
    return "faults are injected into what this node sends: " + plan + " (ACP_FAULT)";
}

bool FaultInjector::draw(double chance) noexcept {
    const double drawn =
        static_cast<double>(random_() >> 11) * 0x1p-53;  // also when it cannot matter
    return drawn < chance;
}

bool FaultInjector::is_lost(Time now) noexcept {
    const bool starts_burst = draw(plan_.loss / plan_.burst);
    const Time since = now - start_;
    for (const base::FaultPlan::Blackhole& hole : plan_.blackholes) {
        if (since >= hole.begin_ns && since < hole.end_ns) {
            ++counters_.blackholed;
            return true;
        }
    }
    if (burst_left_ == 0 && starts_burst) burst_left_ = plan_.burst;
    if (burst_left_ == 0) return false;
    --burst_left_;
    ++counters_.lost;
    return true;
}

void FaultInjector::corrupt(datagram::MutableBytes datagram) noexcept {
    const std::uint64_t bit = random_.below(datagram.size() * 8);
    datagram[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    ++counters_.corrupted;
}

void FaultInjector::transmit(Time now,
                             const Transmit& burst,
                             datagram::MutableBytes bytes,
                             const Send& send) {
    if (start_ == datagram::never) start_ = now;
    for (std::uint32_t at = 0; at < burst.bytes; at += burst.segment_bytes) {
        const std::uint32_t length = std::min(burst.segment_bytes, burst.bytes - at);
        const Transmit one{burst.to, length, length, 1, burst.may_fragment};
        pass(now, one, bytes.subspan(at, length), send);
    }
}

void FaultInjector::pass(Time now,
                         const Transmit& one,
                         datagram::MutableBytes bytes,
                         const Send& send) {
    ++counters_.seen;
    const bool is_gone = is_lost(now);
    const bool is_doubled = draw(plan_.duplicate);
    const bool is_damaged = draw(plan_.corrupt);
    const bool is_overtaken = plan_.reorder > 0 && random_.below(reorder_one_in) == 0;
    const std::uint64_t by = plan_.reorder > 0 ? 1 + random_.below(plan_.reorder) : 0;
    if (is_gone) return;
    if (is_damaged) corrupt(bytes);
    if (is_doubled) ++counters_.duplicated;
    for (int copies = is_doubled ? 2 : 1; copies > 0; --copies) {
        if (is_overtaken) {
            ++counters_.reordered;
            hold(one, bytes, now + plan_.delay_ns + reorder_wait_ns, counters_.seen + by);
        } else if (plan_.delay_ns > 0) {
            ++counters_.delayed;
            hold(one, bytes, now + plan_.delay_ns, 0);
        } else if (!send(one, bytes)) {
            hold(one, bytes, now, 0);
        }
    }
}

void FaultInjector::hold(const Transmit& one,
                         datagram::MutableBytes bytes,
                         Time due,
                         std::uint64_t after) {
    if (held_.size() < 2 * held_datagrams_max) {  // from half of it on, flush() sends early
        held_.push_back({one, due, after, {bytes.begin(), bytes.end()}});
    } else {
        ++counters_.lost;  // nobody flushes: as full as a network gets
    }
}

bool FaultInjector::flush(Time now, const Send& send) {
    const bool is_crowded = held_.size() > held_datagrams_max;
    std::size_t kept = 0;
    bool has_room = true;
    for (std::size_t i = 0; i < held_.size(); ++i) {
        Held& one = held_[i];
        const bool is_due = one.due <= now || (one.after != 0 && one.after <= counters_.seen);
        if (has_room && (is_due || is_crowded)) {
            has_room = send(one.transmit, one.bytes);
            if (has_room) continue;
        }
        if (kept != i) held_[kept] = std::move(one);
        ++kept;
    }
    held_.resize(kept);
    return has_room;
}

Time FaultInjector::deadline() const noexcept {
    Time first = datagram::never;
    for (const Held& one : held_) first = std::min(first, one.due);
    return first;
}

}  // namespace acp::gateway
