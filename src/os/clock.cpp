// SPDX-License-Identifier: BSD-3-Clause
// Reads the monotonic clock and calibrates the CPU's counter against it.
#include "os/clock.hpp"

#include <atomic>
#include <ctime>

namespace acp::os {

namespace {

struct Sample {
    std::uint64_t ns;
    std::uint64_t tick;
};

// Takes a clock reading and the counter at its middle. Repeats this and returns the tightest pair,
// so that a preemption between the two readings does not distort it.
Sample sample() noexcept {
    Sample best{};
    std::uint64_t best_width = ~std::uint64_t{0};
    for (int round = 0; round < 8; ++round) {
        const std::uint64_t before = ticks();
        const std::uint64_t ns = now_ns();
        const std::uint64_t width = ticks() - before;
        if (width < best_width) {
            best_width = width;
            best = {ns, before + width / 2};
        }
    }
    return best;
}

double measure() noexcept {
#if defined(__aarch64__)
    // The architecture gives the frequency.
    std::uint64_t hertz = 0;
    asm volatile("mrs %0, cntfrq_el0" : "=r"(hertz));
    if (hertz != 0) return static_cast<double>(hertz) / 1e9;
#endif
    // 200 us with an uncertainty of 50 ns at each end: exact to 0.1 %.
    constexpr std::uint64_t span_ns = 200'000;
    for (int attempt = 0; attempt < 2; ++attempt) {
        const Sample start = sample();
        while (now_ns() - start.ns < span_ns) {
        }
        const Sample end = sample();
        if (end.tick > start.tick) {
            return static_cast<double>(end.tick - start.tick) /
                   static_cast<double>(end.ns - start.ns);
        }
    }
    return 1.0;  // a counter that does not advance: treat ticks as ns
}

}  // namespace

std::uint64_t now_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

double ticks_per_ns() noexcept {
    // Threads that come first at the same time all measure; any result is right. There is no
    // initialisation lock, because a fork at that moment would leave it locked in the child.
    static std::atomic<double> speed{0.0};
    // relaxed, both: no other data depends on the value
    double known = speed.load(std::memory_order_relaxed);
    if (known == 0.0) {
        known = measure();
        speed.store(known, std::memory_order_relaxed);
    }
    return known;
}

}  // namespace acp::os
