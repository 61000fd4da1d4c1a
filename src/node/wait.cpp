// SPDX-License-Identifier: BSD-3-Clause
// The waiter's policy: what is learned at start, and from yields as they go.
#include "node/wait.hpp"

namespace acp::node {

namespace {

// What waking a sleeper on another core costs. Measured on virtual machines: 23 to 50 us, elsewhere 5 to 10; a
// longer spin than needed costs little, and measuring it in each process would cost more than it gives.
constexpr double wake_cost_ns = 25'000;

// Twice what the next request takes to come from a node nearby, when it follows upon an answer: to wait for it costs less than
// to be woken by it.
constexpr double round_trip_ns = 16'000;

}  // namespace

Waiter::Waiter(const Segment& segment, std::uint32_t threads_per_rank) noexcept
    : segment_(&segment), ticks_per_ns_(os::ticks_per_ns()) {
    const ControlBlock& control = segment.control();
    are_looks_dear_ = control.shape.has_own_gateways != 0;
    // Where ranks carry their commands themselves the service thread of one that computes listens for it, and may find
    // itself beside somebody who waits for its answer.
    const std::uint32_t threads =
        are_looks_dear_ ? std::max(threads_per_rank, 2U) : threads_per_rank;
    const double ranks = static_cast<double>(control.shape.machine_procs) * threads;
    const double cpus =
        std::max<std::uint32_t>(1, control.usable_cpus.load(std::memory_order_relaxed));
    is_crowded_ = ranks > cpus;
    const auto to_ticks = [this](double ns) {
        return static_cast<std::uint64_t>(ns * ticks_per_ns_);
    };
    spin_ns_ = static_cast<std::uint64_t>(2 * wake_cost_ns);
    spin_ticks_ = to_ticks(2 * wake_cost_ns);
    if (is_crowded_ && are_looks_dear_ && control.shape.machine_procs <= cpus) {
        has_core_ = control.shape.machine_procs * threads_per_rank <= cpus;
        stay_ticks_ = has_core_ ? spin_ticks_ : to_ticks(round_trip_ns);
    }
    yield_ticks_ = to_ticks(2 * wake_cost_ns + 4'000 * ranks / cpus);
    long_yield_ticks_ = to_ticks(200'000 + 4'000 * ranks / cpus);
    lone_yield_ticks_ = to_ticks(lone_yield_ns);
    nap_gap_min_ticks_ = to_ticks(nap_gap_min_ns);
    nap_gap_max_ticks_ = to_ticks(nap_gap_max_ns);
    good_yield_gain_ticks_ = std::max<std::uint64_t>(1, to_ticks(good_yield_gain_ns));
}

bool Waiter::may_yield(std::uint64_t now) const noexcept {
    return now >= segment_->control().no_yield_until_ns.load(std::memory_order_relaxed);
}

bool Waiter::is_watched() const noexcept {
    return segment_->control().watcher_pid.load(std::memory_order_relaxed) != 0;
}

// What the good yields of late have gained pays for a long one. Only when that is used up does yielding cost
// more than sleeping would: a barrier after each of many short computations must not end it.
void Waiter::note_long_yield(std::uint64_t now, std::uint64_t ticks) noexcept {
    const auto cost = static_cast<std::int32_t>(
        std::min<std::uint64_t>(ticks / good_yield_gain_ticks_, credit_max));
    if (credit_.fetch_sub(cost, std::memory_order_relaxed) >= cost) {
        return;
    }
    credit_.store(0, std::memory_order_relaxed);
    ControlBlock& control = segment_->control();
    std::uint64_t until = control.no_yield_until_ns.load(std::memory_order_relaxed);
    if (now < until) {
        return;  // this event is counted already
    }
    const std::uint64_t backoff =
        std::max(yield_backoff_min_ns, control.yield_backoff_ns.load(std::memory_order_relaxed));
    if (control.no_yield_until_ns.compare_exchange_strong(until, now + backoff,
                                                          std::memory_order_relaxed)) {
        control.yield_backoff_ns.store(std::min(2 * backoff, yield_backoff_max_ns),
                                       std::memory_order_relaxed);
    }
}

void Waiter::note_good_yield() noexcept {
    if (credit_.fetch_add(1, std::memory_order_relaxed) + 1 < credit_max) {
        return;
    }
    credit_.store(credit_max - credit_to_forgive, std::memory_order_relaxed);
    SharedU64& backoff = segment_->control().yield_backoff_ns;
    const std::uint64_t now = backoff.load(std::memory_order_relaxed);
    if (now > yield_backoff_min_ns) {
        backoff.store(now / 2, std::memory_order_relaxed);
    }
}

// There is a core for each of us, and still we share one: those who only yield are never moved. Who wakes up is put on
// an idle core, so a nap ends it.
void Waiter::note_company(bool is_any, std::uint64_t now) noexcept {
    if (!is_any) {
        company_.store(0, std::memory_order_relaxed);
        nap_gap_.store(nap_gap_min_ticks_, std::memory_order_relaxed);
        return;
    }
    if (company_.fetch_add(1, std::memory_order_relaxed) + 1 < company_max) {
        return;
    }
    company_.store(0, std::memory_order_relaxed);
    if (now < next_nap_.load(std::memory_order_relaxed)) {
        return;
    }
    // Where it does not help the others' cores are in use.
    const std::uint64_t gap =
        std::max(nap_gap_.load(std::memory_order_relaxed), nap_gap_min_ticks_);
    nap_gap_.store(std::min(2 * gap, nap_gap_max_ticks_), std::memory_order_relaxed);
    next_nap_.store(now + gap, std::memory_order_relaxed);
    os::nap();
}

void ring_bell(sync::Bell<>& bell) noexcept {
    // The caller's publishing store and the look at the bell must not pass each other: the sleeper does the
    // reverse. A read-modify-write that changes nothing, where a tool does not see fences.
#if defined(__SANITIZE_THREAD__)
    bell.word().fetch_add(0, std::memory_order_seq_cst);
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
    ring_bell_after_rmw(bell);
}

}  // namespace acp::node
