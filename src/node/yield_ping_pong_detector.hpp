// SPDX-License-Identifier: BSD-3-Clause
// Detects that a rank keeps yielding to other threads although there is a CPU for each. Two threads
// that yield to each other on one CPU are never moved by the kernel, though another CPU is idle; a
// thread that wakes up is put on an idle CPU, so a nap separates them. If naps do not help, the
// other CPUs are in use: then naps become rare. Pure; any thread, hints only.
// Figures and reasons: ADR 0004. Tests: tests/unit/node/yield_ping_pong_detector_test.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace acp::node {

class YieldPingPongDetector {
public:
    static constexpr std::uint32_t yields_in_a_row_max = 16;  // yields in a row that let others run
    static constexpr std::uint64_t gap_min_ns = 250'000;
    static constexpr std::uint64_t gap_max_ns = 16'000'000;

    // Notes a yield, and whether it ran another thread; true when it is time for a nap.
    [[nodiscard]] bool note(bool is_any, std::uint64_t now_ns) noexcept {
        if (!is_any) {
            in_a_row_.store(0, std::memory_order_relaxed);
            gap_ns_.store(gap_min_ns, std::memory_order_relaxed);
            return false;
        }
        if (in_a_row_.fetch_add(1, std::memory_order_relaxed) + 1 < yields_in_a_row_max) {
            return false;
        }
        in_a_row_.store(0, std::memory_order_relaxed);
        if (now_ns < next_nap_ns_.load(std::memory_order_relaxed)) {
            return false;
        }
        const std::uint64_t gap = gap_ns_.load(std::memory_order_relaxed);
        gap_ns_.store(std::min(2 * gap, gap_max_ns), std::memory_order_relaxed);
        next_nap_ns_.store(now_ns + gap, std::memory_order_relaxed);
        return true;
    }

private:
    std::atomic<std::uint32_t> in_a_row_{0};
    std::atomic<std::uint64_t> next_nap_ns_{0};
    std::atomic<std::uint64_t> gap_ns_{gap_min_ns};
};

}  // namespace acp::node
