// SPDX-License-Identifier: BSD-3-Clause
// Selects the waiter's policy by the load of machine and job; rings bells.
#include "node/wait.hpp"

#include "base/fence.hpp"

namespace acp::node {

Waiter::Waiter(const Segment& segment, std::uint32_t threads_per_rank, LookCost look_cost) noexcept
    : segment_(&segment), threads_per_rank_(threads_per_rank), ticks_per_ns_(os::ticks_per_ns()) {
    set_look_cost(look_cost);
}

WaitLoad load_of(const Segment& segment, std::uint32_t threads_per_rank) noexcept {
    const ControlBlock& control = segment.control();
    return {control.shape.machine_procs,
            std::max<std::uint32_t>(1, control.usable_cpus.load(std::memory_order_relaxed)),
            threads_per_rank};
}

int looks_before_wait(const Segment& segment, int alone) noexcept {
    constexpr int crowded = 2;
    if (segment.shape().has_own_gateways != 0) return 1;
    const WaitLoad load = load_of(segment, 1);
    return load.ranks <= load.cpus ? alone : crowded;
}

void Waiter::set_look_cost(LookCost look_cost) noexcept {
    const WaitLoad load = load_of(*segment_, threads_per_rank_);
    policy_ = wait_policy(wait_case_of(load, look_cost), load);
    const auto to_ticks = [this](std::uint64_t ns) {
        return static_cast<std::uint64_t>(static_cast<double>(ns) * ticks_per_ns_);
    };
    poll_ticks_ = to_ticks(policy_.poll_ns);
    stay_ticks_ = to_ticks(policy_.stay_ns);
    long_yield_ticks_ = to_ticks(policy_.long_yield_ns);
    lone_yield_ticks_ = to_ticks(lone_yield_ns);
}

bool Waiter::is_watched() const noexcept {
    return segment_->control().watcher_pid.load(std::memory_order_relaxed) != 0;
}

void ring_bell(sync::Bell<>& bell) noexcept {
    // The caller's publishing store and the load of the bell must not be reordered: the sleeper
    // does the reverse.
    base::fence(std::memory_order_seq_cst);
    ring_bell_after_rmw(bell);
}

}  // namespace acp::node
