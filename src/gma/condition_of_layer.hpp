// SPDX-License-Identifier: BSD-3-Clause
// A condition that a layer above gives to Completion, together with the operations that the process
// has in flight: a thread that waits for the condition makes progress on these. Knows nothing of
// how a thread sleeps. Used by the thread that waits, inside Completion.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/fence.hpp"
#include "gma/condition.hpp"
#include "gma/under_way.hpp"
#include "os/membarrier.hpp"

namespace acp::gma {

// Each poll that finds the condition false makes progress on all operations that the process has in
// flight.
class ConditionOfLayer final : public Condition {
public:
    ConditionOfLayer(Condition& condition, AllUnderWay& under_way) noexcept
        : condition_(condition), under_way_(under_way) {}

    LookResult look() override {
        const LookResult seen = condition_.look();
        if (seen == LookResult::all || under_way_.is_empty()) return seen;
        // Orders the announcement before the polls that follow; partners: threads that publish in
        // memory of this node and then ring
        if (std::exchange(is_barrier_due_, false) && !os::expedite())
            base::fence(std::memory_order_seq_cst);
        under_way_.go_on(has_announced_);
        return has_announced_ ? condition_.look() : seen;
    }

    void announce(node::AwaitedEntry& entry, std::uint64_t since_ns) override {
        has_announced_ = is_barrier_due_ = true;
        condition_.announce(entry, since_ns);
    }

    os::Wake sleep_on(const std::atomic<std::uint32_t>& bell,
                      std::uint32_t value,
                      std::int64_t timeout_ns,
                      os::SignalGate* signals) override {
        has_announced_ = false;
        return condition_.sleep_on(bell, value, timeout_ns, signals);
    }

private:
    Condition& condition_;
    AllUnderWay& under_way_;
    bool has_announced_ = false;   // each look may be the last one before the sleep
    bool is_barrier_due_ = false;  // no look has followed the announcement yet
};

}  // namespace acp::gma
