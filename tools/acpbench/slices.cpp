// SPDX-License-Identifier: BSD-3-Clause
// The loop of slices and rounds, and choosing what to compare. Rank 0's main thread.
#include "slices.hpp"

#include <algorithm>
#include <map>

#include "os/clock.hpp"

namespace acp::bench {

namespace {

constexpr double others_spin_ns = 200e3;  // before they sleep again
constexpr std::uint64_t bandwidth_from_bytes = 4096;

double time_of(const Work& work, std::uint64_t operations) {
    const std::uint64_t start = os::now_ns();
    work(operations);
    return static_cast<double>(os::now_ns() - start);
}

// The shortest of several runs, until two in a row are no faster: neither first calls, which fetch
// code and data, nor preempted ones pass for slow operations.
double settled_time_of(const Work& work, std::uint64_t operations) {
    constexpr int runs_max = 12;
    constexpr int steady_runs = 2;
    constexpr double faster = 0.9;
    double best = time_of(work, operations);
    for (int run = 1, steady = 0; run < runs_max && steady < steady_runs; ++run) {
        const double spent = time_of(work, operations);
        steady = spent < faster * best ? 0 : steady + 1;
        best = std::min(best, spent);
    }
    return std::max(best, 1.0);
}

// How many operations last about round_ns; also warms up. Doubles until a settled run lasts half of
// it, then scales.
std::uint64_t operations_for(const Work& work, double round_ns) {
    constexpr std::uint64_t operations_max = std::uint64_t{1} << 40;
    std::uint64_t operations = 1;
    for (int tries = 0; tries < 60 && operations < operations_max; ++tries) {
        const double spent = settled_time_of(work, operations);
        if (spent >= round_ns / 2) {
            const double scaled = static_cast<double>(operations) * round_ns / spent;
            return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(scaled));
        }
        operations *= 2;
    }
    return operations;
}

class Rounds {
public:
    Rounds(const Pair& pair, const Plan& plan) : pair_(pair) {
        if (pair_.test_operations == 0)
            pair_.test_operations = operations_for(pair_.test, plan.round_ns);
        if (pair_.yardstick && pair_.yardstick_operations == 0) {
            pair_.yardstick_operations = operations_for(pair_.yardstick, plan.round_ns);
        }
    }

    // One round of each; which goes first alternates.
    void run(double& test_ns, double& yardstick_ns) {
        test_goes_first_ = !test_goes_first_;
        if (test_goes_first_) test_ns = test();
        if (pair_.yardstick) {
            yardstick_ns = time_of(pair_.yardstick, pair_.yardstick_operations) /
                           static_cast<double>(pair_.yardstick_operations);
        }
        if (!test_goes_first_) test_ns = test();
    }

    [[nodiscard]] std::uint64_t test_operations() const { return pair_.test_operations; }

private:
    [[nodiscard]] double test() const {
        return time_of(pair_.test, pair_.test_operations) /
               static_cast<double>(pair_.test_operations);
    }

    Pair pair_;
    bool test_goes_first_ = false;
};

Slice run_slice(Job* job, Rounds& rounds, const Plan& plan) {
    Slice slice;
    slice.test_operations = rounds.test_operations();
    slice.round_trip_ns = job != nullptr ? job->round_trip_ns(plan.probe_ns) : 0;
    const std::uint64_t start = os::now_ns();
    for (int pairs = 0; pairs < plan.pairs_max;) {
        double test_ns = 0;
        double yardstick_ns = 0;
        const auto before = static_cast<double>(os::now_ns() - start);
        if (pairs > 0 && before >= plan.slice_ns) break;
        rounds.run(test_ns, yardstick_ns);
        const auto spent = static_cast<double>(os::now_ns() - start) - before;
        if (before < others_spin_ns && spent < others_spin_ns)
            continue;  // the other ranks still spin
        slice.test_ns.push_back(test_ns);
        if (yardstick_ns > 0) slice.yardstick_ns.push_back(yardstick_ns);
        ++pairs;
    }
    return slice;
}

}  // namespace

std::vector<Slice> measure(Job* job, const Pair& pair, const Plan& plan) {
    std::vector<Slice> slices;
    if (job != nullptr) job->join();  // the others have done what was asked before
    Rounds rounds(pair, plan);
    const std::uint64_t start = os::now_ns();
    int rounds_done = 0;
    while (static_cast<int>(slices.size()) < plan.slices || rounds_done < plan.rounds_min) {
        slices.push_back(run_slice(job, rounds, plan));
        rounds_done += static_cast<int>(slices.back().test_ns.size());
        if (static_cast<double>(os::now_ns() - start) > plan.case_ns_max) break;
    }
    return slices;
}

Comparison compare(const std::vector<Slice>& slices, double far_boundary) {
    std::map<Distance, int> count;
    for (const Slice& slice : slices) ++count[classify(slice.round_trip_ns, far_boundary)];
    Comparison result;
    int most = 0;
    for (const auto& [distance, slices_there] : count) {
        if (slices_there > most) {
            most = slices_there;
            result.distance = distance;
        }
    }
    if (most == 0) return result;
    result.share = static_cast<double>(most) / static_cast<double>(slices.size());
    std::vector<double> test;
    std::vector<double> yardstick;
    std::vector<double> trips;
    std::vector<double> trip_ratios;
    std::vector<double> ratios;
    std::vector<double> differences;
    for (const Slice& slice : slices) {
        if (classify(slice.round_trip_ns, far_boundary) != result.distance) continue;
        trips.push_back(slice.round_trip_ns);
        if (slice.round_trip_ns > 0 && !slice.test_ns.empty())
            trip_ratios.push_back(median_of(slice.test_ns) / slice.round_trip_ns);
        result.operations += slice.test_operations * slice.test_ns.size();
        test.insert(test.end(), slice.test_ns.begin(), slice.test_ns.end());
        yardstick.insert(yardstick.end(), slice.yardstick_ns.begin(), slice.yardstick_ns.end());
        const std::size_t both = std::min(slice.test_ns.size(), slice.yardstick_ns.size());
        for (std::size_t i = 0; i < both; ++i) {
            ratios.push_back(slice.test_ns[i] / slice.yardstick_ns[i]);
            differences.push_back(slice.test_ns[i] - slice.yardstick_ns[i]);
        }
    }
    result.round_trip_ratio = median_of(std::move(trip_ratios));
    result.ratio = median_of(std::move(ratios));
    result.difference_ns = median_of(std::move(differences));
    result.test_ns = summarize(std::move(test));
    result.yardstick_ns = summarize(std::move(yardstick));
    result.round_trip_ns = summarize(std::move(trips));
    return result;
}

Comparison measure_and_compare(Job& job, const Pair& pair, const Plan& plan) {
    const std::vector<Slice> slices = measure(&job, pair, plan);
    return compare(slices, far_boundary_ns(job.round_trips()));
}

Comparison measure_and_compare(const Pair& pair, const Plan& plan) {
    return compare(measure(nullptr, pair, plan), far_boundary_ns({}));
}

Summary in_us(const Summary& ns) {
    return {ns.min / 1e3, ns.median / 1e3, ns.mean / 1e3, ns.p99 / 1e3, ns.count};
}

double megabytes_per_second(std::uint64_t bytes, double ns) {
    return ns > 0 ? static_cast<double>(bytes) * 1e3 / ns : 0;
}

void fill(Row& row, const Comparison& comparison) {
    row.distance = comparison.distance;
    row.distance_share = comparison.share;
    row.iterations = comparison.operations;
    row.latency_us = in_us(comparison.test_ns);
    row.bandwidth_mb_per_s = megabytes_per_second(row.bytes, comparison.test_ns.median);
}

void fill_round_trip(Row& row, const Comparison& comparison) {
    if (comparison.round_trip_ratio <= 0) return;
    row.yardstick = Yardstick{"cache-line round trip", comparison.round_trip_ns.median / 1e3, "us"};
    row.ratio = comparison.round_trip_ratio;
}

void fill_yardstick(Row& row, const Comparison& comparison, const std::string& name) {
    if (comparison.ratio <= 0) return;
    const double yardstick_ns = comparison.yardstick_ns.median;
    if (row.bytes < bandwidth_from_bytes) {
        row.yardstick = Yardstick{name, yardstick_ns / 1e3, "us"};
        row.ratio = comparison.ratio;
    } else {
        row.yardstick = Yardstick{name, megabytes_per_second(row.bytes, yardstick_ns), "MB/s"};
        row.ratio = 1 / comparison.ratio;
    }
}

}  // namespace acp::bench
