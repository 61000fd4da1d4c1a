// SPDX-License-Identifier: BSD-3-Clause
// Experiment `sync`: acp_sync of all ranks, in slices between which a cache line is thrown between ranks
// 0 and 1; with computing processes beside (--hogs), or with the last rank late (--late). All ranks.
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

namespace acp::bench {

namespace {

constexpr std::uint32_t order_barriers = 1;

void compute_for(double us) {
    const std::uint64_t end = os::now_ns() + static_cast<std::uint64_t>(us * 1e3);
    while (os::now_ns() < end) os::relax();
}

// Runs the barriers of one order on this rank and returns how long they took together; leaves this
// rank's CPU time in its result.
double run_barriers(Job& job, std::uint64_t count, int late_us, std::vector<double>* each_ns) {
    const bool is_late = late_us > 0 && job.rank() == job.ranks() - 1;
    sync_all();
    const std::uint64_t cpu = own_cpu_ns();
    const std::uint64_t start = os::now_ns();
    std::uint64_t before = start;
    for (std::uint64_t i = 0; i < count; ++i) {
        if (is_late) compute_for(late_us);
        sync_all();
        if (each_ns != nullptr) {
            const std::uint64_t now = os::now_ns();
            each_ns->push_back(static_cast<double>(now - before));
            before = now;
        }
    }
    const std::uint64_t end = os::now_ns();
    job.control().results[job.rank()].values[0] = own_cpu_ns() - cpu;
    return static_cast<double>(end - start);
}

struct BarrierSlice {
    double round_trip_ns = 0;
    double mean_ns = 0;
    double cpu_ns = 0;  // of all ranks, per barrier
    std::vector<double> each_ns;
};

BarrierSlice run_slice(Job& job, std::uint64_t count, int late_us, bool is_each_timed) {
    BarrierSlice slice;
    slice.round_trip_ns = job.round_trip_ns(1e6);
    Order order{order_barriers, 0, {}};
    order.arguments[0] = count;
    job.give(order);
    slice.mean_ns = run_barriers(job, count, late_us, is_each_timed ? &slice.each_ns : nullptr) /
                    static_cast<double>(count);
    job.join();
    double cpu = 0;
    for (int rank = 0; rank < job.ranks(); ++rank)
        cpu += static_cast<double>(job.control().results[rank].values[0]);
    slice.cpu_ns = cpu / static_cast<double>(count);
    return slice;
}

// How many barriers last about duration_ns.
std::uint64_t barriers_for(Job& job, double duration_ns, int late_us) {
    std::uint64_t count = 4;
    for (;;) {
        const double mean = run_slice(job, count, late_us, false).mean_ns;
        const double wanted = duration_ns / mean;
        if (static_cast<double>(count) * 4 >= wanted || count > (1U << 24)) {
            return std::max<std::uint64_t>(4, static_cast<std::uint64_t>(wanted));
        }
        count *= 4;
    }
}

Row row_of(const Job& job, const Options& options, const std::vector<BarrierSlice>& slices) {
    std::vector<Slice> plain;
    std::vector<double> means;
    std::vector<double> cpus;
    for (const BarrierSlice& slice : slices) {
        Slice it;
        it.round_trip_ns = slice.round_trip_ns;
        it.test_operations = 1;
        it.test_ns = slice.each_ns;
        if (!it.test_ns.empty()) plain.push_back(std::move(it));
    }
    const double boundary = far_boundary_ns(job.round_trips());
    const Comparison comparison = compare(plain, boundary);
    std::vector<double> ratios;
    for (const BarrierSlice& slice : slices) {
        if (!slice.each_ns.empty()) continue;  // reading the clock is in these
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
        job.follow([&](const Order& order) {
            run_barriers(job, order.arguments[0], options.late_us, nullptr);
        });
        return 0;
    }
    std::vector<std::unique_ptr<Child>> hogs;
    for (int i = 0; i < options.hogs; ++i) {
        hogs.push_back(
            std::make_unique<Child>(std::vector<std::string>{own_path(), std::string(child_hog)},
                                    std::vector<std::string>{}));
    }
    const int slices = options.slices > 0 ? options.slices : options.is_quick ? 4 : 60;
    const std::uint64_t count = barriers_for(job, options.is_quick ? 2e6 : 20e6, options.late_us);
    Progress progress("sync", slices);
    std::vector<BarrierSlice> done;
    for (int i = 0; i < slices; ++i) {
        // Every other slice is timed as a whole: reading the clock costs a part of a fast barrier.
        done.push_back(run_slice(job, count, options.late_us, i % 2 == 1));
        progress.step(show_us(done.back().mean_ns / 1e3) + " per barrier");
    }
    hogs.clear();
    std::vector<Row> rows{row_of(job, options, done)};
    return finish(options, rows);
}

}  // namespace acp::bench
