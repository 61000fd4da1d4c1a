// SPDX-License-Identifier: BSD-3-Clause
// Draws the fate of each datagram in a fixed order, so that a run with the same seed repeats all faults.
#include "engine/fault_injector.hpp"

#include <algorithm>
#include <utility>

namespace acp::engine {

namespace {

constexpr std::uint64_t reorder_one_in = 8;
// A datagram overtaken by others goes after this even if none comes.
constexpr Time reorder_wait_ns = 2'000'000;

}  // namespace

FaultInjector::FaultInjector(const base::FaultPlan& plan) : plan_(plan), random_(plan.seed) {}

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

FaultInjector::Fate FaultInjector::draw_fate(Time now) noexcept {
    ++counters_.seen;
    Fate fate;
    fate.is_lost = is_lost(now);
    fate.is_doubled = draw(plan_.duplicate);
    fate.is_damaged = draw(plan_.corrupt);
    fate.is_overtaken = plan_.reorder > 0 && random_.below(reorder_one_in) == 0;
    fate.by = plan_.reorder > 0 ? 1 + random_.below(plan_.reorder) : 0;
    return fate;
}

bool FaultInjector::is_left_alone(const Fate& fate) const noexcept {
    return !fate.is_lost && !fate.is_doubled && !fate.is_damaged && !fate.is_overtaken &&
           plan_.delay_ns == 0;
}

void FaultInjector::transmit(Time now,
                             const Transmit& burst,
                             datagram::MutableBytes bytes,
                             const Send& send) {
    if (start_ == datagram::never) start_ = now;
    std::uint32_t run_begin = 0;
    std::uint32_t run_count = 0;  // datagrams left alone, in a row, not passed on yet
    const auto pass_run = [&](std::uint32_t end) {
        if (run_count == 0) return;
        const std::uint32_t length = end - run_begin;
        const std::uint32_t segment = std::min(burst.segment_bytes, length);
        pass(now, {burst.to, length, segment, run_count, burst.may_fragment},
             bytes.subspan(run_begin, length), send);
        run_count = 0;
    };
    for (std::uint32_t at = 0; at < burst.bytes; at += burst.segment_bytes) {
        const Fate fate = draw_fate(now);
        if (is_left_alone(fate)) {
            if (run_count++ == 0) run_begin = at;
            continue;
        }
        pass_run(at);
        const std::uint32_t length = std::min(burst.segment_bytes, burst.bytes - at);
        touch(now, fate, {burst.to, length, length, 1, burst.may_fragment},
              bytes.subspan(at, length), send);
    }
    pass_run(burst.bytes);
}

void FaultInjector::touch(Time now,
                          const Fate& fate,
                          const Transmit& one,
                          datagram::MutableBytes bytes,
                          const Send& send) {
    if (fate.is_lost) return;
    if (fate.is_damaged) corrupt(bytes);
    if (fate.is_doubled) ++counters_.duplicated;
    for (int copies = fate.is_doubled ? 2 : 1; copies > 0; --copies) {
        if (fate.is_overtaken) {
            ++counters_.reordered;
            hold(one, bytes, now + plan_.delay_ns + reorder_wait_ns, counters_.seen + fate.by);
        } else if (plan_.delay_ns > 0) {
            ++counters_.delayed;
            hold(one, bytes, now + plan_.delay_ns, 0);
        } else {
            pass(now, one, bytes, send);
        }
    }
}

void FaultInjector::pass(Time now,
                         const Transmit& run,
                         datagram::MutableBytes bytes,
                         const Send& send) {
    if (!send(run, bytes)) hold(run, bytes, now, 0);
}

void FaultInjector::hold(const Transmit& one,
                         datagram::MutableBytes bytes,
                         Time due,
                         std::uint64_t after) {
    if (held_.size() < 2 * held_datagrams_max) {  // when half full, flush() sends before the time
        held_.push_back({one, due, after, {bytes.begin(), bytes.end()}});
    } else {
        ++counters_.lost;  // flush() is not called: dropped, as by a full queue of a network
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

}  // namespace acp::engine
