// SPDX-License-Identifier: BSD-3-Clause
// The time of a step that several threads repeat at the same time. It knows no step.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "os/clock.hpp"

namespace acp::bench {

// The time of the slowest of `threads` threads, each with its part of `count` steps, for one step.
inline double time_of(int threads,
                      std::uint64_t count,
                      const std::function<void(std::uint64_t)>& step) {
    std::atomic<int> ready{0};
    std::vector<double> ns(static_cast<std::size_t>(threads));
    std::vector<std::thread> others;
    const std::uint64_t part = count / static_cast<std::uint64_t>(threads);
    const auto run = [&](std::size_t thread) {
        ready.fetch_add(1, std::memory_order_relaxed);  // starts alike; no data
        while (ready.load(std::memory_order_relaxed) < threads) std::this_thread::yield();
        const std::uint64_t begin = os::now_ns();
        for (std::uint64_t i = thread * part; i < (thread + 1) * part; ++i) step(i);
        ns[thread] = static_cast<double>(os::now_ns() - begin) / static_cast<double>(part);
    };
    for (int i = 1; i < threads; ++i) others.emplace_back(run, i);
    run(0);
    for (std::thread& other : others) other.join();
    return *std::max_element(ns.begin(), ns.end());
}

}  // namespace acp::bench
