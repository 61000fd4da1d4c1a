// SPDX-License-Identifier: BSD-3-Clause
// Experiment `sync`: acp_sync of all ranks, in slices between which a cache line is thrown between
// ranks 0 and 1; with computing processes beside (--hogs), or with the last rank late (--late). All
// ranks.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "os/clock.hpp"
#include "os/cpu.hpp"

#include "child.hpp"
#include "experiment.hpp"
#include "job.hpp"
#include "output.hpp"
#include "slices.hpp"
#include "system.hpp"
#include "verdict.hpp"

namespace acp::bench {

namespace {

constexpr std::uint32_t order_barriers = 1;
constexpr int calibrations = 4;

void compute_for(double us) {
    const std::uint64_t end = os::now_ns() + static_cast<std::uint64_t>(us * 1e3);
    while (os::now_ns() < end) os::relax();
}

// Runs the barriers of one order on this rank; leaves when it started and ended and its CPU time in
// its result. Barriers go by in batches, and how long one of each batch took is added to `each_ns`.
void run_barriers(Job& job, const Order& order, int late_us, std::vector<double>* each_ns) {
    const std::uint64_t batches = order.arguments[0];
    const std::uint64_t batch = order.arguments[1];
    const bool is_late = late_us > 0 && job.rank() == job.ranks() - 1;
    sync_all();
    const std::uint64_t cpu = own_cpu_ns();
    const std::uint64_t start = os::now_ns();
    std::uint64_t before = start;
    for (std::uint64_t i = 0; i < batches; ++i) {
        for (std::uint64_t j = 0; j < batch; ++j) {
            if (is_late) compute_for(late_us);
            sync_all();
        }
        if (each_ns == nullptr) continue;
        const std::uint64_t now = os::now_ns();
        each_ns->push_back(static_cast<double>(now - before) / static_cast<double>(batch));
        before = now;
    }
    RankResult mine{};
    mine.values[1] = start;
    mine.values[2] = os::now_ns();
    mine.values[0] = own_cpu_ns() - cpu;
    job.tell(mine);
}

// How many barriers to run, and how many of them between two looks at the clock.
struct Amount {
    std::uint64_t batches = 1;
    std::uint64_t batch = 4;

    [[nodiscard]] double barriers() const { return static_cast<double>(batches * batch); }
};

struct BarrierSlice {
    double round_trip_ns = 0;
    double mean_ns = 0;
    double cpu_ns = 0;  // the CPU time of all ranks per barrier
    std::vector<double> each_ns;
};

BarrierSlice run_slice(Job& job, const Amount& amount, int late_us) {
    BarrierSlice slice;
    slice.round_trip_ns = job.round_trip_ns(1e6);
    Order order{order_barriers, 0, {}};
    order.arguments[0] = amount.batches;
    order.arguments[1] = amount.batch;
    job.give(order);
    run_barriers(job, order, late_us, &slice.each_ns);
    job.join();
    // From when the first rank left the opening barrier to when the first one left the last: a rank
    // that gets its core back late shortens nothing. Clocks of other nodes may say something else.
    std::uint64_t start = ~std::uint64_t{0};
    std::uint64_t end = ~std::uint64_t{0};
    for (int rank = 0; rank < job.ranks(); ++rank) {
        const RankResult& its = job.result(rank);
        slice.cpu_ns += static_cast<double>(its.values[0]) / amount.barriers();
        if (rank > 0 && !job.is_one_node()) continue;
        start = std::min(start, its.values[1]);
        end = std::min(end, its.values[2]);
    }
    slice.mean_ns = static_cast<double>(end - start) / amount.barriers();
    return slice;
}

// The best of a few: ranks that have just woken up, or that were preempted, must not pass for slow
// barriers.
double settled_mean_ns(Job& job, const Amount& amount, int late_us) {
    double best = run_slice(job, amount, late_us).mean_ns;
    for (int i = 1; i < calibrations; ++i)
        best = std::min(best, run_slice(job, amount, late_us).mean_ns);
    return best;
}

// What lasts about duration_ns.
Amount amount_for(Job& job, double duration_ns, int late_us) {
    Amount amount;
    for (;;) {
        const double mean = settled_mean_ns(job, amount, late_us);
        const double wanted = duration_ns / mean;
        if (amount.barriers() * 4 >= wanted || amount.barriers() > (1U << 24)) {
            amount.batch = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(batch_ns / mean));
            const double batches = wanted / static_cast<double>(amount.batch);
            amount.batches = std::max<std::uint64_t>(4, static_cast<std::uint64_t>(batches));
            return amount;
        }
        amount.batch *= 4;
    }
}

Row row_of(const Job& job,
           const Options& options,
           const std::vector<BarrierSlice>& slices,
           std::uint64_t batch) {
    std::vector<Slice> plain;
    for (const BarrierSlice& slice : slices) {
        Slice it;
        it.round_trip_ns = slice.round_trip_ns;
        it.test_operations = batch;
        it.test_ns = slice.each_ns;
        plain.push_back(std::move(it));
    }
    const double boundary = far_boundary_ns(job.round_trips());
    const Comparison comparison = compare(plain, boundary);
    std::vector<double> means;
    std::vector<double> cpus;
    std::vector<double> ratios;
    for (const BarrierSlice& slice : slices) {
        if (classify(slice.round_trip_ns, boundary) != comparison.distance) continue;
        means.push_back(slice.mean_ns);
        cpus.push_back(slice.cpu_ns);
        if (slice.round_trip_ns > 0) ratios.push_back(slice.mean_ns / slice.round_trip_ns);
    }
    Row row;
    row.experiment = "sync";
    row.name = "barrier";
    if (options.hogs > 0) row.name += " beside " + std::to_string(options.hogs) + " computing";
    if (options.late_us > 0)
        row.name += ", one rank " + std::to_string(options.late_us) + " us late";
    row.ranks = job.ranks();
    row.nodes = job.nodes();
    fill(row, comparison);
    row.latency_us.mean = summarize(means).mean / 1e3;
    if (options.late_us > 0) {
        row.yardstick = Yardstick{"the delay itself", static_cast<double>(options.late_us), "us"};
        row.ratio = row.latency_us.mean / options.late_us;
        row.extra.emplace_back("extra_us", row.latency_us.mean - options.late_us);
    } else if (!ratios.empty()) {
        row.yardstick =
            Yardstick{"cache-line round trip", comparison.round_trip_ns.median / 1e3, "us"};
        row.ratio = median_of(ratios);
    }
    row.extra.emplace_back("mean_us", row.latency_us.mean);
    row.extra.emplace_back("cpu_us_per_barrier", summarize(cpus).mean / 1e3);
    return row;
}

}  // namespace

int run_sync(const Call& call) {
    const Options& options = call.options;
    Job job(call.argc, call.argv, 2, std::string(call.usage));
    if (!job.conducts()) {
        job.follow([&](const Order& order) { run_barriers(job, order, options.late_us, nullptr); });
        return 0;
    }
    std::vector<std::unique_ptr<Child>> hogs;
    hogs.reserve(static_cast<std::size_t>(options.hogs));
    for (int i = 0; i < options.hogs; ++i) {
        hogs.push_back(
            std::make_unique<Child>(std::vector<std::string>{own_path(), std::string(child_hog)},
                                    std::vector<std::string>{}));
    }
    const int slices = options.slices > 0 ? options.slices : options.is_quick ? 4 : 60;
    const Amount amount = amount_for(job, options.is_quick ? 2e6 : 20e6, options.late_us);
    const auto measure_slices = [&] {
        Progress progress("sync", slices);
        std::vector<BarrierSlice> done;
        done.reserve(static_cast<std::size_t>(slices));
        for (int i = 0; i < slices; ++i) {
            done.push_back(run_slice(job, amount, options.late_us));
            progress.step(show_us(done.back().mean_ns / 1e3) + " per barrier");
        }
        return row_of(job, options, done, amount.batch);
    };
    // Ranks that share cores by intent would be as disturbed the second time.
    const bool has_cores = job.ranks() + options.hogs <= os::usable_cpus();
    std::vector<Row> rows{has_cores ? measure_credibly(measure_slices) : measure_slices()};
    hogs.clear();
    return finish(options, rows);
}

}  // namespace acp::bench
