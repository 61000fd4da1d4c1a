// SPDX-License-Identifier: BSD-3-Clause
// Arrival, release, and what the sleeper does.
#include "node/barrier.hpp"

#include <climits>

namespace acp::node {

Barrier::Barrier(const Segment& segment, std::uint32_t slot, Waiter& waiter) noexcept
    : segment_(segment),
      waiter_(waiter),
      slot_(slot),
      number_(segment.slot(slot).arrived_epoch.load(std::memory_order_relaxed)) {}

base::Status Barrier::wait() {
    ControlBlock& control = segment_.control();
    SharedU32& released = control.barrier_released.word;
    ++number_;
    segment_.slot(slot_).arrived_epoch.store(number_, std::memory_order_release);  // for missing()
    const std::uint32_t all = segment_.shape().local_procs * number_;              // modulo 2^32
    // acq_rel: the last arriver sees everybody's writes, and its release below passes them on to all
    if (control.barrier_arrived.word.fetch_add(1, std::memory_order_acq_rel) + 1 == all) {
        // one exchange publishes and learns whether anybody sleeps: no order between two words is needed
        if ((released.exchange(number_ << 1U, std::memory_order_acq_rel) & 1U) != 0) {
            os::futex_wake(released, INT_MAX);
        }
        return {};
    }
    bool has_death = false;
    const auto ready = [&] {
        if (is_released(released.load(std::memory_order_acquire))) {
            return true;
        }
        has_death = control.deaths.load(std::memory_order_relaxed) != 0;
        return has_death;
    };
    const auto sleep = [&](std::int64_t timeout_ns) {
        std::uint32_t seen = released.load(std::memory_order_acquire);
        if (is_released(seen)) {
            return os::Wake::changed;
        }
        if ((seen & 1U) == 0 &&
            !released.compare_exchange_strong(seen, seen | 1U, std::memory_order_seq_cst)) {
            return os::Wake::changed;
        }
        if (control.deaths.load(std::memory_order_seq_cst) != 0) {  // after the bit is set: see death.cpp
            return os::Wake::changed;
        }
        return os::futex_wait(released, seen | 1U, timeout_ns);
    };
    waiter_.wait(ready, sleep, for_ever);
    if (has_death && !is_released(released.load(std::memory_order_acquire))) {
        return blocked_by_death();
    }
    return {};
}

std::string Barrier::missing() const {
    std::string text;
    for (std::uint32_t i = 0; i < segment_.shape().local_procs; ++i) {
        const Slot& slot = segment_.slot(i);
        const auto behind = static_cast<std::int32_t>(
            slot.arrived_epoch.load(std::memory_order_acquire) - number_);
        if (behind < 0) {
            text += (text.empty() ? "rank " : ", rank ") +
                    std::to_string(slot.rank.load(std::memory_order_relaxed));
        }
    }
    return text;
}

base::Status Barrier::blocked_by_death() const {
    const auto dead = first_dead(segment_);
    return {base::Code::peer,
            "the barrier cannot complete: " + (dead ? fate(segment_, *dead) : std::string("a rank is gone"))};
}

}  // namespace acp::node
