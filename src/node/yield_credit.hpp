// SPDX-License-Identifier: BSD-3-Clause
// Decides whether yielding still pays on this node. The time that recent good yields saved is
// credit for long ones. Only when it is used up does yielding cost more than sleeping, and is
// switched off for the whole node, for a time that doubles with each repetition. So a barrier after
// each of many short computations does not switch it off. Any thread. Figures and reasons: ADR
// 0004. Tests: tests/unit/node/yield_credit_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "node/control.hpp"

namespace acp::node {

class YieldCredit {
public:
    static constexpr std::uint64_t good_yield_gain_ns = 5'000;  // a sleep and a wake-up cost more
    static constexpr std::int32_t credit_max = 4000;            // good yields: 20 ms, five slices
    static constexpr std::int32_t credit_to_forgive = 2000;
    static constexpr std::uint64_t backoff_min_ns = 4'000'000;
    static constexpr std::uint64_t backoff_max_ns = 64'000'000;

    [[nodiscard]] static bool may_yield(const ControlBlock& node, std::uint64_t now_ns) noexcept {
        return now_ns >= node.no_yield_until_ns.load(std::memory_order_relaxed);
    }

    void note_good(ControlBlock& node) noexcept;
    void note_long(ControlBlock& node, std::uint64_t now_ns, std::uint64_t lasted_ns) noexcept;

private:
    std::atomic<std::int32_t> credit_{credit_max};  // good yields not yet used up by long ones
};

}  // namespace acp::node
