// SPDX-License-Identifier: BSD-3-Clause
// Notices that a rank keeps letting others run although there is a core for each. Two that yield to each other on one
// core are never moved by the kernel, though the other core is idle; who wakes up is put on an idle core, so a nap
// ends it. Where naps do not help the others' cores are in use: they become rare. Pure; any thread, hints only.
// Figures and reasons: ADR 0004. Tests: tests/unit/node/company_test.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace acp::node {

class Company {
public:
    static constexpr std::uint32_t company_max = 16;  // yields in a row that let others run
    static constexpr std::uint64_t gap_min_ns = 250'000;
    static constexpr std::uint64_t gap_max_ns = 16'000'000;

    // Notes a yield, and whether it let somebody run; true when it is time for a nap.
    [[nodiscard]] bool note(bool is_any, std::uint64_t now_ns) noexcept {
        if (!is_any) {
            in_a_row_.store(0, std::memory_order_relaxed);
            gap_ns_.store(gap_min_ns, std::memory_order_relaxed);
            return false;
        }
        if (in_a_row_.fetch_add(1, std::memory_order_relaxed) + 1 < company_max) {
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
