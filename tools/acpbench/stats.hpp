// SPDX-License-Identifier: BSD-3-Clause
// What is said about many measurements of one thing: percentiles, and the boundary between the two
// distances the cores of a virtual machine flip between. Knows nothing of what was measured. Pure;
// any thread. Tests: tests/tools/acpbench/stats_test.cpp.
#pragma once

#include <cstddef>
#include <vector>

namespace acp::bench {

struct Summary {
    double min = 0;
    double median = 0;
    double mean = 0;
    double p99 = 0;
    std::size_t count = 0;
};

// The value below which a fraction (0 .. 1) of the samples lies, interpolated between neighbours; 0
// when there are none.
[[nodiscard]] double percentile(std::vector<double> samples, double fraction);

[[nodiscard]] double median_of(std::vector<double> samples);

// All zero when there are no samples.
[[nodiscard]] Summary summarize(std::vector<double> samples);

// A round trip in ns from which on two ranks take turns on one core: no pair of cores of one
// machine is that far apart.
inline constexpr double taking_turns_ns = 2000;

// How far apart two ranks' cores were while something was measured.
enum class Distance {
    unknown,  // one rank only
    near,     // the shortest distance on this machine: sibling hyperthreads, or a shared cache
    far,      // a cache line takes clearly longer
    shared,   // both ranks had to take turns on one core
};

[[nodiscard]] const char* name_of(Distance distance);

// The round trip in ns from which on a pair of cores counts as far. Halves the samples at their
// geometric middle when they differ by more than 2x, else keeps them together around 250 ns.
//   round_trips_ns  round trips of this run; those that took turns on one core are left out
[[nodiscard]] double far_boundary_ns(const std::vector<double>& round_trips_ns);

//   round_trip_ns  0 when it was not measured
[[nodiscard]] Distance classify(double round_trip_ns, double far_boundary_ns);

}  // namespace acp::bench
