// SPDX-License-Identifier: BSD-3-Clause
// Sorting and interpolation behind stats.hpp. Knows no unit. Any thread.
#include "stats.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace acp::bench {

namespace {

constexpr double usual_boundary_ns = 250;  // between cores of one socket and anything farther

double of_sorted(const std::vector<double>& sorted, double fraction) {
    if (sorted.empty()) return 0;
    const double place = std::clamp(fraction, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (sorted[above] - sorted[below]) * (place - static_cast<double>(below));
}

}  // namespace

double percentile(std::vector<double> samples, double fraction) {
    std::sort(samples.begin(), samples.end());
    return of_sorted(samples, fraction);
}

double median_of(std::vector<double> samples) {
    return percentile(std::move(samples), 0.5);
}

Summary summarize(std::vector<double> samples) {
    if (samples.empty()) return {};
    std::sort(samples.begin(), samples.end());
    const double sum = std::accumulate(samples.begin(), samples.end(), 0.0);
    return {samples.front(), of_sorted(samples, 0.5), sum / static_cast<double>(samples.size()),
            of_sorted(samples, 0.99), samples.size()};
}

const char* name_of(Distance distance) {
    switch (distance) {
        case Distance::near:
            return "near";
        case Distance::far:
            return "far";
        case Distance::shared:
            return "shared";
        case Distance::unknown:
            break;
    }
    return "-";
}

double far_boundary_ns(const std::vector<double>& round_trips_ns) {
    std::vector<double> apart;
    for (const double value : round_trips_ns) {
        if (value > 0 && value < taking_turns_ns) apart.push_back(value);
    }
    if (apart.empty()) return usual_boundary_ns;
    const double low = percentile(apart, 0.02);
    const double high = percentile(apart, 0.98);
    if (high > 2 * low) return std::sqrt(low * high);
    // One cluster: all of it falls on the side of the usual boundary where its median lies.
    return median_of(apart) <= usual_boundary_ns ? taking_turns_ns : 0;
}

Distance classify(double round_trip_ns, double boundary_ns) {
    if (round_trip_ns <= 0) return Distance::unknown;
    if (round_trip_ns >= taking_turns_ns) return Distance::shared;
    return round_trip_ns <= boundary_ns ? Distance::near : Distance::far;
}

}  // namespace acp::bench
