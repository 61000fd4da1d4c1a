// SPDX-License-Identifier: BSD-3-Clause
// The frame of programs that time single steps: rows take turns in short rounds, so that a noisy
// machine disturbs all alike, and the first row is the yardstick of the others. It knows no step.
#pragma once

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace acp::bench {

inline constexpr int rounds = 21;

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
