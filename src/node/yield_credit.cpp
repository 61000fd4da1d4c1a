// SPDX-License-Identifier: BSD-3-Clause
// The account: each process has its own; its result, how long not to yield, is the node's.
#include "node/yield_credit.hpp"

#include <algorithm>

namespace acp::node {

void YieldCredit::note_good(ControlBlock& node) noexcept {
    if (credit_.fetch_add(1, std::memory_order_relaxed) + 1 < credit_max) {
        return;
    }
    credit_.store(credit_max - credit_to_forgive, std::memory_order_relaxed);
    const std::uint64_t backoff = node.yield_backoff_ns.load(std::memory_order_relaxed);
    if (backoff > backoff_min_ns) {
        node.yield_backoff_ns.store(backoff / 2, std::memory_order_relaxed);
    }
}

void YieldCredit::note_long(ControlBlock& node,
                            std::uint64_t now_ns,
                            std::uint64_t lasted_ns) noexcept {
    const auto cost = static_cast<std::int32_t>(
        std::min<std::uint64_t>(lasted_ns / good_yield_gain_ns, credit_max));
    if (credit_.fetch_sub(cost, std::memory_order_relaxed) >= cost) {
        return;
    }
    credit_.store(0, std::memory_order_relaxed);
    std::uint64_t until = node.no_yield_until_ns.load(std::memory_order_relaxed);
    if (now_ns < until) {
        return;  // this event is counted already
    }
    const std::uint64_t backoff =
        std::max(backoff_min_ns, node.yield_backoff_ns.load(std::memory_order_relaxed));
    if (node.no_yield_until_ns.compare_exchange_strong(until, now_ns + backoff,
                                                       std::memory_order_relaxed)) {
        node.yield_backoff_ns.store(std::min(2 * backoff, backoff_max_ns),
                                    std::memory_order_relaxed);
    }
}

}  // namespace acp::node
