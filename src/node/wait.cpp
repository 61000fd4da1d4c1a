// SPDX-License-Identifier: BSD-3-Clause
// The waiter's policy: what is learned at start.
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
}

bool Waiter::is_watched() const noexcept {
    return segment_->control().watcher_pid.load(std::memory_order_relaxed) != 0;
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
