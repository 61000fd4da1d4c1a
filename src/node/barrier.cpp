// SPDX-License-Identifier: BSD-3-Clause
// Arrival, release, and the sleep in between.
#include "node/barrier.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "os/cancellation.hpp"

namespace acp::node {

namespace {

// How much later than this process's own gateway the agent may report a lost node.
constexpr std::uint64_t news_ns = 250'000'000;

// How much later than the notice of a death the release of a completed meeting may arrive.
constexpr std::uint64_t late_end_ns = 100'000'000;
// The interval between two polls of the helper in that time.
constexpr std::uint64_t late_look_ns = 500'000;

// Polls the helper, if there is one. A process that has arrived must not leave half-way when memory
// is refused, because the others count on it at the next meeting: memory may be free when the
// helper is polled again.
bool has_helped(Helper* helper) noexcept {
    try {
        return helper != nullptr && helper->poll();
    } catch (const std::bad_alloc&) {
        return false;
    }
}

}  // namespace

Barrier::Barrier(const Segment& segment, std::uint32_t slot, Waiter& waiter) noexcept
    : segment_(segment),
      waiter_(waiter),
      arrived_(arrivals(segment)),
      slot_(slot),
      number_(segment.slot(slot).arrived_barrier.load(std::memory_order_relaxed)) {}

SharedU32& Barrier::arrivals(const Segment& segment) noexcept {
    ControlBlock& control = segment.control();
    return segment.shape().local_procs <= few ? control.barrier_arrived_beside
                                              : control.barrier_arrived;
}

// The last process of this node arrives. acq_rel of the arrival: this process sees the writes of
// all, and its release publishes them.
void Barrier::arrive_last(Gathers gathers) noexcept {
    ControlBlock& control = segment_.control();
    if (own_meetings_ != nullptr) {
        own_meetings_->ask(number_, call_);
    } else if (segment_.has_gateway()) {
        control.meeting_gathers.store(static_cast<std::uint32_t>(gathers),
                                      std::memory_order_relaxed);
        // seq_cst: release for GatewayPort::take_meeting; and ordered before the load that tests
        // whether the gateway sleeps
        control.meeting_asked.exchange(number_, std::memory_order_seq_cst);
        segment_.wake_gateway();
    } else if (control.barrier_released.publish(number_)) {
        os::futex_wake(control.barrier_released.word(), os::everybody);
    }
}

// NOLINTNEXTLINE(readability-function-cognitive-complexity): one wait, and the cases of each poll
base::Status Barrier::wait(Gathers gathers) {
    ControlBlock& control = segment_.control();
    sync::SleepWord<>& released = control.barrier_released;
    // Carrying a meeting to other nodes makes system calls. On one node only a sleep does, and the
    // waiter holds cancellation off for that: a hold costs a third of a barrier that does not
    // sleep.
    const os::CancellationHold cancellation(segment_.has_gateway());
    // A process that left a barrier because of a death must not arrive again: its arrival would
    // stand in for the dead one's.
    if (is_blocked()) return outcome(false);
    const std::uint32_t number = ++number_;
    // release: node::describe() reads it
    segment_.slot(slot_).arrived_barrier.store(number, std::memory_order_release);
    const std::uint32_t all = segment_.shape().local_procs * number;  // modulo 2^32
    // acq_rel: the last arriver sees the writes of all processes, and its release publishes them
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == all) {
        arrive_last(gathers);
        if (!segment_.has_gateway()) {
            return {};
        }
    }
    const auto is_released = [&] { return sync::SleepWord<>::reached(released.load(), number); };
    const auto is_over = [&] { return is_released() || is_blocked(); };
    const auto ready = [&] {
        if (is_over()) return true;
        if (!has_helped(helper_)) return false;
        waiter_.note_progress();
        return is_over();
    };
    // a clock read costs as much as half a barrier, so it is read only before a sleep
    std::uint64_t start_ns = 0;
    AwaitedEntry entry(segment_.slot(slot_));
    const auto sleep = [&](std::int64_t timeout_ns) {
        start_ns = start_ns != 0 ? start_ns : os::now_ns();
        entry.tell(WaitFor::meeting, start_ns, nullptr);
        for (std::int64_t left_ns = timeout_ns;;) {
            const std::int64_t nap_ns = helper_ != nullptr ? helper_->rest() : for_ever;
            std::uint32_t value = released.load();
            if (sync::SleepWord<>::reached(value, number) || !released.announce_sleep(value) ||
                is_blocked()) {  // after the announcement: see mark_dead
                return os::Wake::changed;
            }
            if (nap_ns == for_ever || nap_ns >= left_ns)
                return os::futex_wait(released.word(), value, left_ns);
            const os::Wake wake = os::futex_wait(released.word(), value, nap_ns);
            if (wake != os::Wake::timeout || ready()) return wake;
            left_ns -= nap_ns;
        }
    };
    if (helper_ != nullptr) helper_->enter();
    // With own meetings the first poll sends this node's part, for which all other nodes wait: so
    // it comes before any yield.
    const bool is_met_at_once = own_meetings_ != nullptr && ready();
    if (!is_met_at_once) waiter_.wait(ready, sleep, for_ever);
    if (!is_released()) end_after_death(number, all);
    // Acquires the writes of other threads that polled the helper. With own meetings the release
    // implies this, because the thread that polled last stores it.
    if (own_meetings_ == nullptr) (void)has_helped(helper_);
    if (helper_ != nullptr) helper_->leave();
    return outcome(is_released());
}

// Whether all processes of this node have arrived. If not, this call has taken this process's
// arrival back, and they never will.
//   all  the number of arrivals of a complete barrier
bool Barrier::has_come_or_withdraws(std::uint32_t all) noexcept {
    // acquire: the writes of the processes that have arrived
    std::uint32_t seen = arrived_.load(std::memory_order_acquire);
    do {
        if (static_cast<std::int32_t>(seen - all) >= 0) return true;
        // acq_rel: as at the arrival. acquire on failure: as above
    } while (!arrived_.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel,
                                             std::memory_order_acquire));
    return false;
}

// Ends a barrier that was not released when this process noticed a death or a lost node.
void Barrier::end_after_death(std::uint32_t number, std::uint32_t all) noexcept {
    if (!has_come_or_withdraws(all)) return;
    if (segment_.has_gateway()) return await_late_end(number);
    sync::SleepWord<>& released = segment_.control().barrier_released;
    if (released.publish_unless_reached(number)) {
        os::futex_wake(released.word(), os::everybody);
    }
}

// Between nodes a death notice and the release of a meeting take different ways. A process that
// dies after a meeting must not make it fail on ranks that get the notice first, so this waits a
// little for the release.
void Barrier::await_late_end(std::uint32_t number) noexcept {
    const std::uint64_t until_ns = os::now_ns() + late_end_ns;
    sync::SleepWord<>& released = segment_.control().barrier_released;
    for (std::uint64_t now = os::now_ns(); now < until_ns; now = os::now_ns()) {
        if (has_helped(helper_)) continue;
        std::uint32_t value = released.load();
        if (sync::SleepWord<>::reached(value, number)) return;
        if (!released.announce_sleep(value)) continue;
        const std::uint64_t look_ns = helper_ != nullptr ? now + late_look_ns : until_ns;
        os::futex_wait(released.word(), value,
                       static_cast<std::int64_t>(std::min(look_ns, until_ns) - now));
    }
}

base::Status Barrier::outcome(bool is_released) {
    if (is_released) return own_meetings_ != nullptr ? own_meetings_->verdict() : base::Status();
    if (own_meetings_ != nullptr && own_meetings_->has_failed() &&
        !std::exchange(has_awaited_news_, true)) {
        await_news();
    }
    return segment_.control().deaths.load(std::memory_order_acquire) != 0
               ? blocked_by_death()
               : own_meetings_->failure();
}

// The gateway in this process knows that a node is lost; waits a moment for the agent to report
// which process died there, if one did.
void Barrier::await_news() const noexcept {
    const std::uint64_t until_ns = os::now_ns() + news_ns;
    sync::SleepWord<>& released = segment_.control().barrier_released;
    for (;;) {
        std::uint32_t value = released.load();
        const bool may_sleep = released.announce_sleep(value);
        const std::uint64_t now = os::now_ns();
        // seq_cst: partner is mark_dead
        if (segment_.control().deaths.load(std::memory_order_seq_cst) != 0 || now >= until_ns) {
            return;
        }
        if (may_sleep) {
            os::futex_wait(released.word(), value, static_cast<std::int64_t>(until_ns - now));
        }
    }
}

base::Status Barrier::blocked_by_death() const {
    if (has_first_finished(segment_)) {
        return {base::Code::state, "the barrier cannot complete: " + first_fate(segment_) +
                                       ": they have not made the same collective calls"};
    }
    return {base::Code::peer, "the barrier cannot complete: " + first_fate(segment_)};
}

}  // namespace acp::node
