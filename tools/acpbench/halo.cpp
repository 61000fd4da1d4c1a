// SPDX-License-Identifier: BSD-3-Clause
// Experiment `halo`: the halo exchange of paper 003 (its Table 1, eight directions) by a plan that
// is started and waited for again and again, in shared and in private memory; on a node beside one
// memcpy of the bytes within each rank, between nodes beside puts of the same messages. And how
// much of the longest one is hidden behind a computation of equal length; and, where several rails
// connect the nodes, how long it takes by all of them beside the same by one. All ranks.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "os/clock.hpp"
#include "os/cpu.hpp"
#include "os/text_file.hpp"

#include "exchange_study/paper_patterns.hpp"
#include "experiment.hpp"
#include "halo_exchange.hpp"
#include "halo_times.hpp"
#include "output.hpp"
#include "slices.hpp"

namespace acp::bench {

namespace {

constexpr std::uint32_t order_make = 1;     // grid size, whether memory is shared
constexpr std::uint32_t order_measure = 2;  // rounds, exchanges in each
// rounds, exchanges in each, steps of the computation, whether rank 0 alone computes
constexpr std::uint32_t order_overlap = 3;
constexpr std::uint32_t order_end = 4;
constexpr std::uint32_t order_rails = 5;  // rounds, exchanges in each
constexpr double round_ns = 4e6;

// Carries out rank 0's orders on every rank; rank 0 evaluates the times.
class HaloPlayer {
public:
    explicit HaloPlayer(const Job& job) : job_(job), machine_ranks_(count_machine_ranks()) {}

    // On this machine, of all its nodes.
    [[nodiscard]] int machine_ranks() const { return machine_ranks_; }

    void follow(const Order& order) {
        const auto& what = order.arguments;
        if (order.what == order_make) {
            halo_ = std::make_unique<HaloExchange>(job_, static_cast<std::uint32_t>(what[0]),
                                                   what[1] != 0);
            halo_->check();
        } else if (order.what == order_measure) {
            times_ = measure_exchange(*halo_, job_.is_one_node(), what[0], what[1]);
        } else if (order.what == order_overlap) {
            const bool computes = what[3] == 0 || job_.rank() == 0;
            overlap_ = measure_overlap(*halo_, what[0], what[1], computes ? what[2] : 0);
        } else if (order.what == order_rails) {
            rails_ = measure_rails(*halo_, what[0], what[1]);
        } else if (order.what == order_end) {
            halo_.reset();
        }
    }

    [[nodiscard]] const HaloTimes& times() const { return times_; }

    [[nodiscard]] const OverlapTimes& overlap() const { return overlap_; }

    [[nodiscard]] const RailTimes& rail_times() const { return rails_; }

    [[nodiscard]] std::uint64_t bytes() const { return halo_->bytes(); }

    [[nodiscard]] int rails() const { return halo_->rails(); }

private:
    // The kernel makes a name for each boot of each machine.
    [[nodiscard]] int count_machine_ranks() const {
        const std::string boot = os::read_text_file("/proc/sys/kernel/random/boot_id").value_or("");
        RankResult mine{};
        mine.values[0] = std::hash<std::string>{}(boot);
        int count = 0;
        for (const RankResult& its : job_.exchange(mine)) count += its.values[0] == mine.values[0];
        return count;
    }

    const Job& job_;
    int machine_ranks_;
    std::unique_ptr<HaloExchange> halo_;
    HaloTimes times_;
    OverlapTimes overlap_;
    RailTimes rails_;
};

class Halo {
public:
    Halo(Job& job, const Options& options)
        : job_(job),
          options_(options),
          player_(job),
          rounds_(options.slices > 0 ? static_cast<std::uint64_t>(options.slices)
                  : options.is_quick ? 3
                                     : 41) {}

    std::vector<Row> run() {
        std::vector<std::uint32_t> sizes(exchange_study::paper_grid_sizes.begin(),
                                         exchange_study::paper_grid_sizes.end());
        if (options_.is_quick) sizes = {sizes.front(), sizes.back()};
        Progress progress("halo", static_cast<int>(2 * sizes.size()));
        std::vector<Row> rows;
        for (const bool is_shared : {true, false}) {
            for (const std::uint32_t size : sizes) {
                play({order_make, 0, {size, is_shared ? 1U : 0U}});
                rows.push_back(exchange_row(size, is_shared));
                if (size == sizes.back()) add_of_longest(rows, size, is_shared);
                play({order_end, 0, {}});
                progress.step("k = " + std::to_string(size));
            }
        }
        return rows;
    }

private:
    void play(const Order& order) {
        job_.give(order);
        player_.follow(order);
        job_.join();
    }

    [[nodiscard]] std::uint64_t count_for(double each_ns) const {
        const double count = (options_.is_quick ? 0.1 : 1) * round_ns / std::max(each_ns, 1.0);
        return static_cast<std::uint64_t>(std::clamp(count, 2.0, 10'000.0));
    }

    [[nodiscard]] Row row_for(std::uint32_t grid_size, bool is_shared) const {
        Row row;
        row.experiment = "halo";
        row.name = is_shared ? "shared, " : "private, ";
        row.name += std::to_string(job_.ranks()) + " ranks";
        if (!job_.is_one_node()) row.name += ", " + std::to_string(job_.nodes()) + " nodes";
        if (player_.rails() > 1) row.name += ", " + std::to_string(player_.rails()) + " rails";
        row.mode = mode_by_environment();
        row.ranks = job_.ranks();
        row.nodes = job_.nodes();
        row.bytes = player_.bytes();
        row.extra.emplace_back("k", grid_size);
        return row;
    }

    // The distance of the cores is looked at after each case.
    [[nodiscard]] Comparison compared(std::vector<double> ours, std::vector<double> theirs) {
        Comparison comparison;
        std::vector<double> ratios;
        for (std::size_t i = 0; i < ours.size(); ++i) ratios.push_back(ours[i] / theirs[i]);
        comparison.ratio = median_of(std::move(ratios));
        comparison.test_ns = summarize(std::move(ours));
        comparison.yardstick_ns = summarize(std::move(theirs));
        const double trip_ns = job_.is_one_node() ? job_.round_trip_ns(20e3) : 0;
        comparison.distance = classify(trip_ns, far_boundary_ns(job_.round_trips()));
        return comparison;
    }

    // What is measured of the longest exchange alone.
    void add_of_longest(std::vector<Row>& rows, std::uint32_t grid_size, bool is_shared) {
        const double exchange_ns = median_of(player_.times().exchange_ns);
        // Ranks that take turns on a core compute while others wait: the time of both at once says
        // nothing of what is hidden.
        if (player_.machine_ranks() <= static_cast<int>(os::usable_cpus()))
            rows.push_back(overlap_row(grid_size, is_shared, exchange_ns, false));
        if (!job_.is_one_node())
            rows.push_back(overlap_row(grid_size, is_shared, exchange_ns, true));
        if (player_.rails() > 1) rows.push_back(rails_row(grid_size, is_shared, exchange_ns));
    }

    Row exchange_row(std::uint32_t grid_size, bool is_shared) {
        play({order_measure, 0, {2, 8}});
        const std::uint64_t count = count_for(player_.times().exchange_ns.back());
        play({order_measure, 0, {rounds_, count}});
        const HaloTimes& times = player_.times();
        Row row = row_for(grid_size, is_shared);
        Comparison comparison = compared(times.exchange_ns, times.yardstick_ns);
        comparison.operations = rounds_ * count;
        fill(row, comparison);
        row.yardstick = Yardstick{job_.is_one_node() ? "memcpy" : "puts of the same messages",
                                  comparison.yardstick_ns.median / 1e3, "us"};
        row.ratio = comparison.ratio;
        row.extra.emplace_back("start_us", median_of(times.start_ns) / 1e3);
        return row;
    }

    // By all rails and by one.
    Row rails_row(std::uint32_t grid_size, bool is_shared, double exchange_ns) {
        const std::uint64_t count = count_for(exchange_ns);
        play({order_rails, 0, {rounds_, count}});
        const RailTimes& times = player_.rail_times();
        Row row = row_for(grid_size, is_shared);
        row.name = "all rails, " + row.name;
        Comparison comparison = compared(times.all_ns, times.one_ns);
        comparison.operations = rounds_ * count;
        fill(row, comparison);
        row.yardstick =
            Yardstick{"the same by one rail", comparison.yardstick_ns.median / 1e3, "us"};
        row.ratio = comparison.ratio;
        row.extra.emplace_back("rails", player_.rails());
        return row;
    }

    // The computation takes as long as the exchange, on all ranks or on rank 0 while the others
    // wait.
    Row overlap_row(std::uint32_t grid_size, bool is_shared, double exchange_ns, bool is_alone) {
        const double step_ns = time_of_step_ns();
        const std::uint64_t count = count_for(exchange_ns);
        play({order_overlap,
              0,
              {rounds_, count, static_cast<std::uint64_t>(exchange_ns / step_ns) + 1,
               is_alone ? 1U : 0U}});
        const OverlapTimes& times = player_.overlap();
        std::vector<double> hidden;
        for (std::size_t i = 0; i < times.both_ns.size(); ++i) {
            const double seen = times.both_ns[i] - times.compute_ns[i];
            hidden.push_back(1 - seen / times.exchange_ns[i]);
        }
        Row row = row_for(grid_size, is_shared);
        row.name = (is_alone ? "rank 0 computing, " : "computing, ") + row.name;
        Comparison comparison = compared(times.both_ns, times.compute_ns);
        comparison.operations = rounds_ * count;
        fill(row, comparison);
        row.yardstick =
            Yardstick{"the computation alone", comparison.yardstick_ns.median / 1e3, "us"};
        row.ratio = comparison.ratio;
        row.extra.emplace_back("exchange_us", median_of(times.exchange_ns) / 1e3);
        row.extra.emplace_back("hidden", median_of(std::move(hidden)));
        row.extra.emplace_back("cores", os::usable_cpus());
        row.extra.emplace_back("computing", is_alone ? 1 : job_.ranks());
        return row;
    }

    Job& job_;
    const Options& options_;
    HaloPlayer player_;
    std::uint64_t rounds_;
};

}  // namespace

int run_halo(const Call& call) {
    Job job(call.argc, call.argv, 2, std::string(call.usage));
    if (job.conducts()) return finish(call.options, Halo(job, call.options).run());
    HaloPlayer player(job);
    job.follow([&](const Order& order) { player.follow(order); });
    return 0;
}

}  // namespace acp::bench
