// SPDX-License-Identifier: BSD-3-Clause
// Experiment `laplace`: LAPLACE of paper 001 on shared pages. All ranks compute their rows of one
// array and call acp_barrier_dsm after each step; then they touch the rows of their neighbours,
// which faults fetch (as in SCASH), or barriers that have learned them (ACP_UPDATE_LEARN), or
// acp_prefetch_dsm. With flush hints the rows that a neighbour reads have their homes there: a rank
// computes them first, and acp_flush_dsm sends them while it computes the others. With OpenMP, each
// rank also divides its rows among two threads. Beside it the
// same by hand: puts of outer rows that overlap the computation, and acp_sync. The yardstick is the
// same loops on private memory, where each rank computes rows of its own without a barrier. All
// alternate. At the end rank 0 compares the results, bit by bit, with those of one process. Without
// acprun: jobs of paper 001's table (laplace_jobs.cpp).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "os/cpu.hpp"

#include "cpu_share.hpp"
#include "experiment.hpp"
#include "grid_rows.hpp"
#include "job.hpp"
#include "laplace_jobs.hpp"
#include "output.hpp"
#include "paper.hpp"
#include "rank_threads.hpp"

namespace acp::bench {

namespace {

// What rank 0 orders.
enum class LaplaceWay : std::uint32_t {
    by_faults = 1,
    learned,
    prefetched,
    flushed,
    learned_by_threads,
    by_hand,
    on_private,
    alone,
    close
};

constexpr std::size_t laplace_ways = static_cast<std::size_t>(LaplaceWay::alone);
constexpr LaplaceWay all_ways[] = {LaplaceWay::by_faults,          LaplaceWay::learned,
                                   LaplaceWay::prefetched,         LaplaceWay::flushed,
                                   LaplaceWay::learned_by_threads, LaplaceWay::by_hand,
                                   LaplaceWay::on_private,         LaplaceWay::alone};
constexpr int threads_of_rank = 2;

std::size_t index_of(LaplaceWay way) {
    return static_cast<std::size_t>(way) - 1;
}

bool is_on_shared_pages(LaplaceWay way) {
    return way <= LaplaceWay::learned_by_threads;
}

// After each step the function calls `meet`. At the end `from` has the newest values.
template <typename Meet>
void compute_laplace(
    double*& from, double*& to, const GridRows& rows, int steps, int threads, const Meet& meet) {
    for (int step = 0; step < steps; ++step) {
        by_threads(rows.first, rows.last, threads, [&](std::size_t begin, std::size_t end) {
            laplace_loops(from, to, rows.part(begin, end), step);
        });
        std::swap(from, to);
        meet();
    }
}

// The whole array after `steps` steps of one process.
class LaplaceAlone {
public:
    LaplaceAlone(std::size_t width, int steps)
        : grid_(2 * width * width), from_(grid_.data()), to_(from_ + width * width) {
        heat_edge(from_, width);
        heat_edge(to_, width);
        compute_laplace(from_, to_, rows_of_rank(width, width, 0, 1), steps, 1, [] {});
    }

    [[nodiscard]] const double* result() const { return from_; }

private:
    PrivateGrid grid_;
    double* from_;
    double* to_;
};

class Laplace {
public:
    // Private arrays lie as shared ones do: with an unused page between them.
    Laplace(Job& job, std::size_t width, int steps)
        : job_(job),
          width_(width),
          steps_(steps),
          rows_(rows_of_rank(width, width, job.rank(), job.ranks())),
          own_(2 * width * width + unused_values),
          own_from_(own_.data()),
          own_to_(own_from_ + width * width + unused_values),
          by_hand_(rows_, 2, laplace_loops, job.rank(), job.ranks()) {
        const std::size_t bytes = width * width * sizeof(double);
        must(acp_init_dsm(2 * bytes) == 0);
        from_ = static_cast<double*>(acp_alloc_home_dsm(bytes, ACP_HOME_BLOCK, 0));
        to_ = static_cast<double*>(acp_alloc_home_dsm(bytes, ACP_HOME_BLOCK, 0));
        must(from_ != nullptr && to_ != nullptr);
        for (int rank = 0; rank < job.ranks(); ++rank) {
            const GridRows rows = rows_of_rank(width, width, rank, job.ranks());
            set_home(rows.first, rows.count(), rank);
        }
        heat_edge(own_from_, width);
        heat_edge(own_to_, width);
        if (job.conducts()) {
            heat_edge(from_, width);
            heat_edge(to_, width);
        }
        must(acp_barrier_dsm() == 0);
    }

    Laplace(const Laplace&) = delete;
    Laplace& operator=(const Laplace&) = delete;

    ~Laplace() { must(acp_finalize_dsm() == 0); }

    // All ranks take part, but in `alone` only rank 0 computes, on all rows. Each rank sends its
    // nanoseconds and its faults to rank 0. Steps before the measured ones make pages present and
    // caches warm, and let barriers learn.
    void run(LaplaceWay way) {
        if (is_on_shared_pages(way)) {
            choose_update(way == LaplaceWay::learned || way == LaplaceWay::learned_by_threads
                              ? ACP_UPDATE_LEARN
                              : ACP_UPDATE_NEVER);
        }
        if (way == LaplaceWay::flushed) move_outer_rows(true);
        step(way, steps_before);
        sync_all();
        const std::uint64_t faults = count_faults();
        const CpuShare cpu;
        step(way, steps_);
        RankResult mine{};
        mine.values[0] = cpu.elapsed_ns();
        mine.values[1] = count_faults() - faults;
        mine.values[2] = cpu.in_thousandths();
        job_.tell(mine);
        sync_all();
        if (way == LaplaceWay::flushed) move_outer_rows(false);
    }

    // Rank 0: the longest time of any rank in the last run().
    [[nodiscard]] double longest() const {
        std::uint64_t longest = 0;
        for (int rank = 0; rank < job_.ranks(); ++rank)
            longest = std::max(longest, job_.result(rank).values[0]);
        return static_cast<double>(longest);
    }

    // Rank 0: of all ranks in the last run(), for each step.
    [[nodiscard]] double faults_per_step() const {
        std::uint64_t faults = 0;
        for (int rank = 0; rank < job_.ranks(); ++rank) faults += job_.result(rank).values[1];
        return static_cast<double>(faults) / steps_;
    }

    // Rank 0: the least share of a CPU that any rank had in the last run().
    [[nodiscard]] double cpu_share() const {
        std::uint64_t least = 1000;
        for (int rank = 0; rank < job_.ranks(); ++rank)
            least = std::min(least, job_.result(rank).values[2]);
        return static_cast<double>(least) / 1000;
    }

    // Rank 0: whether all bits of the shared array, and of its own rows by hand, are those that one
    // process computes.
    [[nodiscard]] bool is_right() const {
        return std::memcmp(LaplaceAlone(width_, steps_done_).result(), from_,
                           width_ * width_ * sizeof(double)) == 0 &&
               by_hand_.has(LaplaceAlone(width_, by_hand_.steps_done()).result());
    }

    // Rank 0: the corner of the shared array that the report draws.
    [[nodiscard]] Picture picture() const {
        Picture picture{drawn_points, {}};
        for (std::size_t y = 0; y < drawn_points; ++y) {
            for (std::size_t x = 0; x < drawn_points; ++x)
                picture.values.push_back(std::round(from_[y * width_ + x] * 1e4) / 1e4);
        }
        return picture;
    }

private:
    inline static constexpr int steps_before = 4;
    inline static constexpr std::size_t unused_values = 4096 / sizeof(double);
    inline static constexpr std::size_t drawn_points = 64;

    void step(LaplaceWay way, int steps) {
        if (way == LaplaceWay::flushed) {
            step_with_hints(steps);
        } else if (is_on_shared_pages(way)) {
            const int threads = way == LaplaceWay::learned_by_threads ? threads_of_rank : 1;
            compute_laplace(from_, to_, rows_, steps, threads, [&] {
                must(acp_barrier_dsm() == 0);
                if (way == LaplaceWay::prefetched) prefetch_neighbours();
            });
            steps_done_ += steps;
        } else if (way == LaplaceWay::by_hand) {
            by_hand_.run(steps);
        } else if (way == LaplaceWay::on_private) {
            compute_laplace(own_from_, own_to_, rows_, steps, 1, [] {});
        } else if (job_.conducts()) {
            const GridRows all = rows_of_rank(width_, width_, 0, 1);
            compute_laplace(own_from_, own_to_, all, steps, 1, [] {});
        }
    }

    // The node of a rank becomes the home of rows.
    void set_home(std::size_t first, std::size_t rows, int rank) const {
        const std::size_t bytes = rows * width_ * sizeof(double);
        for (double* const array : {from_, to_})
            must(acp_set_home_dsm(array + first * width_, bytes, rank) == 0);
    }

    // The outer rows of each rank go to the neighbour that reads them, or back.
    void move_outer_rows(bool go) const {
        for (int rank = 0; rank + 1 < job_.ranks(); ++rank) {
            const std::size_t last = rows_of_rank(width_, width_, rank, job_.ranks()).last - 1;
            set_home(last, 1, go ? rank + 1 : rank);
            set_home(last + 1, 1, go ? rank : rank + 1);
        }
    }

    // Computes a row, and begins to send it.
    void compute_outer_row(std::size_t row) const {
        laplace_loops(from_, to_, rows_.part(row, row + 1), 0);
        must(acp_flush_dsm(to_ + row * width_, width_ * sizeof(double)) == 0);
    }

    void step_with_hints(int steps) {
        for (int i = 0; i < steps; ++i) {
            compute_outer_row(rows_.first);
            if (rows_.count() > 1) compute_outer_row(rows_.last - 1);
            laplace_loops(from_, to_,
                          rows_.part(rows_.first + 1, std::max(rows_.first + 1, rows_.last - 1)),
                          0);
            std::swap(from_, to_);
            must(acp_barrier_dsm() == 0);
        }
        steps_done_ += steps;
    }

    // The barriers forget what they learned before.
    void choose_update(int update) {
        const std::size_t bytes = width_ * width_ * sizeof(double);
        must(acp_set_update_dsm(from_, bytes, update) == 0);
        must(acp_set_update_dsm(to_, bytes, update) == 0);
    }

    // The rows of other ranks that the next step reads.
    void prefetch_neighbours() {
        const std::size_t row_bytes = width_ * sizeof(double);
        must(acp_prefetch_dsm(from_ + (rows_.first - 1) * width_, row_bytes) == 0);
        must(acp_prefetch_dsm(from_ + rows_.last * width_, row_bytes) == 0);
    }

    [[nodiscard]] static std::uint64_t count_faults() {
        acp_stats_dsm_t now{};
        must(acp_query_stats_dsm(&now, sizeof now) == 0);
        return now.faults;
    }

    Job& job_;
    std::size_t width_;
    int steps_;
    GridRows rows_;
    double* from_ = nullptr;
    double* to_ = nullptr;
    PrivateGrid own_;
    double* own_from_;
    double* own_to_;
    RowsByHand by_hand_;
    int steps_done_ = 0;
};

// What rank 0 measures.
class LaplaceFigures {
public:
    LaplaceFigures(const Job& job, std::size_t width, int steps)
        : job_(job), width_(width), steps_(steps) {}

    void add(LaplaceWay way, double ns, double faults) {
        times_us_[index_of(way)].push_back(ns / 1e3);
        faults_[index_of(way)].push_back(faults);
    }

    // What ranks had that computed without waiting.
    void add_cpu_share(double share) { cpu_shares_.push_back(share); }

    [[nodiscard]] bool has(LaplaceWay way) const { return !times_us_[index_of(way)].empty(); }

    [[nodiscard]] Row row(LaplaceWay way, std::string name) const {
        Row row;
        row.experiment = "laplace";
        row.name = std::move(name);
        row.ranks = job_.ranks();
        row.nodes = job_.nodes();
        row.bytes = width_ * width_ * sizeof(double);
        row.iterations = times(way).size() * static_cast<std::uint64_t>(steps_);
        row.latency_us = summarize(times(way));
        row.yardstick = Yardstick{"private memory", median(LaplaceWay::on_private), "us"};
        row.ratio = ratio_by_rounds(times(way), times(LaplaceWay::on_private));
        row.extra.emplace_back("cpu_share", median_of(cpu_shares_));
        row.extra.emplace_back("speedup", ratio_by_rounds(times(LaplaceWay::alone), times(way)));
        if (way == LaplaceWay::alone || way == LaplaceWay::on_private) return row;
        row.extra.emplace_back("of_by_hand",
                               ratio_by_rounds(times(LaplaceWay::by_hand), times(way)));
        if (is_on_shared_pages(way)) {
            row.extra.emplace_back("faults_per_step", median_of(faults_[index_of(way)]));
            const bool is_one_each = row.ranks == row.nodes;
            if (is_one_each) row.paper = paper_001_speedup(row.nodes);
        }
        return row;
    }

private:
    [[nodiscard]] const std::vector<double>& times(LaplaceWay way) const {
        return times_us_[index_of(way)];
    }

    [[nodiscard]] double median(LaplaceWay way) const { return median_of(times(way)); }

    // The median of the rounds' ratios: what disturbs a round disturbs both of its times.
    [[nodiscard]] static double ratio_by_rounds(const std::vector<double>& of,
                                                const std::vector<double>& to) {
        std::vector<double> ratios;
        for (std::size_t i = 0; i < of.size(); ++i) ratios.push_back(of[i] / to[i]);
        return median_of(std::move(ratios));
    }

    const Job& job_;
    std::size_t width_;
    int steps_;
    std::array<std::vector<double>, laplace_ways> times_us_;
    std::array<std::vector<double>, laplace_ways> faults_;
    std::vector<double> cpu_shares_;
};

// Rank 0 runs all ways in turn.
LaplaceFigures measure_laplace(Job& job, Laplace& laplace, const LaplaceSize& size, int rounds) {
    LaplaceFigures figures(job, size.width, size.steps);
    const bool are_threads_measured = can_run_threads(job.ranks(), threads_of_rank, size.is_quick);
    Progress progress("laplace", rounds);
    for (int round = 0; round < rounds; ++round) {
        double shared_ns = 0;
        for (const LaplaceWay way : all_ways) {
            if (way == LaplaceWay::learned_by_threads && !are_threads_measured) continue;
            job.give(Order{static_cast<std::uint32_t>(way), 0, {}});
            laplace.run(way);
            job.join();
            if (way == LaplaceWay::learned) shared_ns = laplace.longest();
            if (way == LaplaceWay::on_private) figures.add_cpu_share(laplace.cpu_share());
            figures.add(way, laplace.longest(), laplace.faults_per_step());
        }
        progress.step(show_us(shared_ns / 1e3) + " on shared pages");
    }
    return figures;
}

std::vector<Row> rows_of_ways(const LaplaceFigures& figures) {
    std::vector<Row> rows = {figures.row(LaplaceWay::by_faults, "shared pages"),
                             figures.row(LaplaceWay::learned, "shared pages, learned"),
                             figures.row(LaplaceWay::prefetched, "shared pages, prefetched"),
                             figures.row(LaplaceWay::flushed, "shared pages, flush hints")};
    if (figures.has(LaplaceWay::learned_by_threads)) {
        rows.push_back(
            figures.row(LaplaceWay::learned_by_threads, "shared pages, learned, OpenMP"));
    }
    rows.push_back(figures.row(LaplaceWay::by_hand, "puts by hand"));
    rows.push_back(figures.row(LaplaceWay::on_private, "without communication"));
    rows.push_back(figures.row(LaplaceWay::alone, "one process"));
    return rows;
}

}  // namespace

int run_laplace(const Call& call) {
    const Options& options = call.options;
    if (!is_in_job()) return run_laplace_jobs(options);
    Job job(call.argc, call.argv, 1, std::string(call.usage));
    const LaplaceSize size = laplace_size(options);
    if (static_cast<std::size_t>(job.ranks()) > size.width - 2)
        give_up("laplace: each rank needs a row, and there are " + std::to_string(size.width - 2));
    auto laplace = std::make_unique<Laplace>(job, size.width, size.steps);
    if (!job.conducts()) {
        job.follow([&](const Order& order) {
            const auto way = static_cast<LaplaceWay>(order.what);
            if (way == LaplaceWay::close) {
                laplace.reset();
            } else {
                laplace->run(way);
            }
        });
        return 0;
    }
    const bool is_crowded = job.ranks() > 4 * os::usable_cpus();
    const int usual = options.is_quick || is_crowded ? 3 : 15;
    const LaplaceFigures figures =
        measure_laplace(job, *laplace, size, options.slices > 0 ? options.slices : usual);
    const bool is_right = laplace->is_right();
    std::vector<Row> rows = rows_of_ways(figures);
    rows.front().picture = laplace->picture();
    job.give(Order{static_cast<std::uint32_t>(LaplaceWay::close), 0, {}});
    laplace.reset();
    if (!is_right) give_up("laplace: the bits are not those that one process computes");
    note_crowd(rows);
    return finish(options, rows);
}

}  // namespace acp::bench
