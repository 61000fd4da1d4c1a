// SPDX-License-Identifier: BSD-3-Clause
// Measuring a test beside its yardstick. Both run in turn, round by round, in slices of some 10 ms,
// and the distance of the cores is looked at before each slice, so that a machine that changes
// while it is measured changes both alike. Knows nothing of what runs. Rank 0's main thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "job.hpp"
#include "row.hpp"
#include "stats.hpp"

namespace acp::bench {

// Runs its operation that many times.
using Work = std::function<void(std::uint64_t operations)>;

// Operations too short to be timed one by one are timed in batches that last about this long: a
// look at the clock costs tens of ns.
inline constexpr double batch_ns = 5e3;

struct Pair {
    Work test;
    Work yardstick;                     // empty: none
    std::uint64_t test_operations = 0;  // per round; 0: as many as fill round_ns
    std::uint64_t yardstick_operations = 0;
};

struct Plan {
    int slices = 4;
    double slice_ns = 12e6;
    // a round lasts about this long where the pair does not say its operations
    double round_ns = 50e3;
    int rounds_min = 1;        // further slices are added until there are as many
    double case_ns_max = 1e9;  // stops after the slice in which it is exceeded
    int pairs_max = 400;       // rounds per slice
    double probe_ns = 20e3;    // spent on the round trip before each slice
};

struct Slice {
    double round_trip_ns = 0;
    std::uint64_t test_operations = 0;  // per round
    std::vector<double> test_ns;        // per operation, one value per round
    std::vector<double> yardstick_ns;
};

struct Comparison {
    Distance distance = Distance::unknown;
    double share = 1;  // of the slices that were at this distance
    Summary test_ns;
    Summary yardstick_ns;
    Summary round_trip_ns;
    double ratio = 0;              // median over rounds of test / yardstick; 0 without a yardstick
    double round_trip_ratio = 0;   // median over slices of test / the slice's own round trip
    double difference_ns = 0;      // median over rounds of test - yardstick
    std::uint64_t operations = 0;  // operations of the test, in all slices
};

//   job  nullptr: measured in one process, without looking at distances
[[nodiscard]] std::vector<Slice> measure(Job* job, const Pair& pair, const Plan& plan);

// Keeps the slices at the distance most of them had.
[[nodiscard]] Comparison compare(const std::vector<Slice>& slices, double far_boundary_ns);

// measure, then compare with the boundary of all round trips of the run so far.
[[nodiscard]] Comparison measure_and_compare(Job& job, const Pair& pair, const Plan& plan);
// Measures and compares within one process, without looking at distances.
[[nodiscard]] Comparison measure_and_compare(const Pair& pair, const Plan& plan);

[[nodiscard]] Summary in_us(const Summary& ns);

// 0 when ns is 0.
[[nodiscard]] double megabytes_per_second(std::uint64_t bytes, double ns);

// Copies what a comparison says into a row: distance, latency, and bandwidth where row.bytes is
// set.
void fill(Row& row, const Comparison& comparison);

// Sets the row's yardstick and ratio from the round trips beside the slices, if there were any.
void fill_round_trip(Row& row, const Comparison& comparison);

// Sets the row's yardstick and ratio from a comparison; from 4 KiB on as bandwidths.
void fill_yardstick(Row& row, const Comparison& comparison, const std::string& name);

}  // namespace acp::bench
