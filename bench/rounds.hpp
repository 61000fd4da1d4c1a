// SPDX-License-Identifier: BSD-3-Clause
// The frame of programs that time single steps: rows take turns in short rounds, so that a noisy
// machine disturbs all alike, and the first row is the yardstick of the others. It knows no step.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "os/clock.hpp"

namespace acp::bench {

inline constexpr int rounds = 21;

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

struct Row {
    std::string name;
    std::function<double()> measure;  // one round: ns
    std::vector<double> values = {};

    [[nodiscard]] double quantile(double share) const {
        std::vector<double> sorted = values;
        std::sort(sorted.begin(), sorted.end());
        return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
    }
};

// Measures all rows, and prints of each its median, its quartiles and the multiple of the first row.
inline void run_rounds(std::vector<Row>& all) {
    for (int round = 0; round < rounds; ++round) {
        for (Row& row : all) row.values.push_back(row.measure());
    }
    const double yardstick_ns = all.front().quantile(0.5);
    for (const Row& row : all) {
        const double median = row.quantile(0.5);
        std::printf("%-58s %9.1f  (%.1f-%.1f) %8.2f\n", row.name.c_str(), median,
                    row.quantile(0.25), row.quantile(0.75), median / yardstick_ns);
    }
}

}  // namespace acp::bench
