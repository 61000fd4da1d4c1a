// SPDX-License-Identifier: BSD-3-Clause
// Experiment `laplace`: LAPLACE of paper 001 on shared pages. All ranks compute their rows of one array
// and call acp_barrier_dsm after each step; then they touch the rows of their neighbours, which faults
// fetch, or barriers that have learned them (ACP_UPDATE_LEARN), or acp_prefetch_dsm. Beside it the same by hand: puts of outer rows that overlap the
// computation, and acp_sync. The yardstick is the same loops on private memory, where each rank
// computes rows of its own without a barrier. All alternate. At the end rank 0 compares the results,
// bit by bit, with those of one process.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "os/clock.hpp"

#include "experiment.hpp"
#include "job.hpp"
#include "output.hpp"

namespace acp::bench {

namespace {

// What rank 0 orders.
enum Kind : std::uint32_t { by_faults = 1, learned, prefetched, by_hand, on_private, alone, close };

constexpr std::size_t kinds = alone;

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t page_values = page_bytes / sizeof(double);

// The rows of a rank, and one on each side of them.
struct Part {
    std::size_t width = 0;
    std::size_t first = 0;
    std::size_t last = 0;  // behind its last row
};

Part part_of(std::size_t width, int rank, int ranks) {
    const auto own = static_cast<std::size_t>(rank);
    const auto all = static_cast<std::size_t>(ranks);
    const std::size_t inner = width - 2;
    return {width, 1 + inner * own / all, 1 + inner * (own + 1) / all};
}

void heat_edge(double* array, std::size_t width) {
    for (std::size_t x = 0; x < width; ++x) array[x] = 1 + static_cast<double>(x % 7) / 7;
}

// Stores the mean of the four neighbours.
void compute_rows(const double* from, double* to, const Part& part) {
    for (std::size_t y = part.first; y < part.last; ++y) {
        const double* const row = from + y * part.width;
        double* const out = to + y * part.width;
        for (std::size_t x = 1; x + 1 < part.width; ++x)
            out[x] = 0.25 * (row[x - 1] + row[x + 1] + row[x - part.width] + row[x + part.width]);
    }
}

// Afterwards `from` has the newest values. compute() calls meet() after each step.
template <typename Meet>
void compute(double*& from, double*& to, const Part& part, int steps, const Meet& meet) {
    for (int step = 0; step < steps; ++step) {
        compute_rows(from, to, part);
        std::swap(from, to);
        meet();
    }
}

// LAPLACE by hand: a rank's heap has its rows and one row of each neighbour. In each step the rank
// computes its first and its last row, puts them to its neighbours, and computes the rows between
// them while the puts are in flight.
class RowsByHand {
public:
    RowsByHand(const Part& part, int rank, int ranks)
        : whole_(part),
          width_(part.width),
          rows_(part.last - part.first + 2),
          part_{width_, 1, rows_ - 1},
          upper_(rank - 1),
          lower_(rank + 1 < ranks ? rank + 1 : -1) {
        for (Array& array : arrays_) {
            array.own = acp_malloc(rows_ * width_ * sizeof(double), rank);
            must(array.own != ACP_GA_NULL);
            array.values = static_cast<double*>(acp_query_address(array.own));
            std::fill(array.values, array.values + rows_ * width_, 0.0);
            if (part.first == 1) heat_edge(array.values, width_);
            // A neighbour puts its last row above the first one here, and its first row below the last.
            array.of_ranks.resize(static_cast<std::size_t>(ranks));
            must(acp_allgather_team(acp_world_team(), &array.own, sizeof array.own,
                                    array.of_ranks.data()) == 0);
        }
        std::uint64_t rows = rows_;
        rows_of_ranks_.resize(static_cast<std::size_t>(ranks));
        must(acp_allgather_team(acp_world_team(), &rows, sizeof rows, rows_of_ranks_.data()) == 0);
    }

    RowsByHand(const RowsByHand&) = delete;
    RowsByHand& operator=(const RowsByHand&) = delete;

    ~RowsByHand() {
        for (const Array& array : arrays_) acp_free(array.own);
    }

    void step(int steps) {
        for (int i = 0; i < steps; ++i) {
            const Array& from = arrays_[steps_done_ % 2];
            const Array& to = arrays_[(steps_done_ + 1) % 2];
            compute_rows(from.values, to.values, {width_, part_.first, part_.first + 1});
            compute_rows(from.values, to.values, {width_, part_.last - 1, part_.last});
            const acp_handle_t up = put(to, part_.first, upper_);
            const acp_handle_t down = put(to, part_.last - 1, lower_);
            compute_rows(from.values, to.values, {width_, part_.first + 1, part_.last - 1});
            must(acp_wait(up, -1) == 0 && acp_wait(down, -1) == 0);
            must(acp_sync() == 0);
            ++steps_done_;
        }
    }

    [[nodiscard]] int steps_done() const { return steps_done_; }

    // Whether the rows of this rank are those of the whole array.
    [[nodiscard]] bool has(const std::vector<double>& array) const {
        return std::memcmp(arrays_[steps_done_ % 2].values + width_,
                           array.data() + whole_.first * width_,
                           (whole_.last - whole_.first) * width_ * sizeof(double)) == 0;
    }

private:
    struct Array {
        acp_ga_t own = ACP_GA_NULL;
        double* values = nullptr;
        std::vector<acp_ga_t> of_ranks;
    };

    // Puts a row into the outer row of a neighbour; -1: there is none.
    acp_handle_t put(const Array& array, std::size_t row, int neighbour) const {
        if (neighbour < 0) return ACP_HANDLE_NULL;
        const auto rank = static_cast<std::size_t>(neighbour);
        const std::size_t there = neighbour == upper_ ? rows_of_ranks_[rank] - 1 : 0;
        return acp_put(array.of_ranks[rank] + there * width_ * sizeof(double),
                       array.values + row * width_, width_ * sizeof(double), ACP_HANDLE_NULL);
    }

    Part whole_;  // this rank's rows in the whole array
    std::size_t width_;
    std::size_t rows_;  // also those of neighbours
    Part part_;         // this rank's rows here
    int upper_;         // -1: there is none
    int lower_;
    Array arrays_[2];
    std::vector<std::uint64_t> rows_of_ranks_;
    int steps_done_ = 0;
};

// Returns the whole array after `steps` steps of one process.
std::vector<double> computed_alone(std::size_t width, int steps) {
    std::vector<double> one(width * width);
    std::vector<double> other(width * width);
    double* from = one.data();
    double* to = other.data();
    heat_edge(from, width);
    heat_edge(to, width);
    compute(from, to, part_of(width, 0, 1), steps, [] {});
    return from == one.data() ? std::move(one) : std::move(other);
}

class Laplace {
public:
    Laplace(Job& job, std::size_t width, int steps)
        : job_(job), width_(width), steps_(steps), part_(part_of(width, job.rank(), job.ranks())) {
        const std::size_t bytes = width * width * sizeof(double);
        must(acp_init_dsm(2 * bytes) == 0);
        from_ = static_cast<double*>(acp_alloc_dsm(bytes));
        to_ = static_cast<double*>(acp_alloc_dsm(bytes));
        must(from_ != nullptr && to_ != nullptr);
        // Private arrays lie as shared ones do: at a page, with an unused page between them.
        own_.resize(2 * width * width + 2 * page_values);
        own_from_ = own_.data() + page_values -
                    reinterpret_cast<std::uintptr_t>(own_.data()) % page_bytes / sizeof(double);
        own_to_ = own_from_ + width * width + page_values;
        heat_edge(own_from_, width);
        heat_edge(own_to_, width);
        if (job.conducts()) {
            heat_edge(from_, width);
            heat_edge(to_, width);
        }
        must(acp_barrier_dsm() == 0);
        by_hand_.emplace(part_, job.rank(), job.ranks());
    }

    Laplace(const Laplace&) = delete;
    Laplace& operator=(const Laplace&) = delete;

    ~Laplace() { must(acp_finalize_dsm() == 0); }

    // All ranks take part, but in `alone` only rank 0 computes, on all rows. Each rank sends its
    // nanoseconds to rank 0. Two steps before the measured ones make pages present, and caches warm.
    void run(Kind kind) {
        if (kind <= prefetched)
            choose_update(kind == learned ? ACP_UPDATE_LEARN : ACP_UPDATE_NEVER);
        step(kind, 2);
        sync_all();
        const std::uint64_t start = os::now_ns();
        step(kind, steps_);
        RankResult mine{};
        mine.values[0] = os::now_ns() - start;
        job_.tell(mine);
        sync_all();
    }

    // Rank 0: the longest time of any rank in the last run().
    [[nodiscard]] double longest() const {
        std::uint64_t longest = 0;
        for (int rank = 0; rank < job_.ranks(); ++rank)
            longest = std::max(longest, job_.result(rank).values[0]);
        return static_cast<double>(longest);
    }

    // Rank 0: whether all bits of the shared array, and of its own rows by hand, are those that one
    // process computes.
    [[nodiscard]] bool is_right() const {
        const std::vector<double> right = computed_alone(width_, steps_done_);
        return std::memcmp(right.data(), from_, right.size() * sizeof(double)) == 0 &&
               by_hand_->has(computed_alone(width_, by_hand_->steps_done()));
    }

private:
    void step(Kind kind, int steps) {
        if (kind == by_faults || kind == learned || kind == prefetched) {
            compute(from_, to_, part_, steps, [&] {
                must(acp_barrier_dsm() == 0);
                if (kind == prefetched) prefetch_neighbours();
            });
            steps_done_ += steps;
        } else if (kind == by_hand) {
            by_hand_->step(steps);
        } else if (kind == on_private) {
            compute(own_from_, own_to_, part_, steps, [] {});
        } else if (job_.conducts()) {
            compute(own_from_, own_to_, part_of(width_, 0, 1), steps, [] {});
        }
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
        must(acp_prefetch_dsm(from_ + (part_.first - 1) * width_, row_bytes) == 0);
        must(acp_prefetch_dsm(from_ + part_.last * width_, row_bytes) == 0);
    }

    Job& job_;
    std::size_t width_;
    int steps_;
    Part part_;
    double* from_ = nullptr;
    double* to_ = nullptr;
    std::vector<double> own_;
    double* own_from_ = nullptr;
    double* own_to_ = nullptr;
    std::optional<RowsByHand> by_hand_;
    int steps_done_ = 0;
};

// The times of each kind, in microseconds.
class KindTimes {
public:
    void add(Kind kind, double us) { of_kinds_[kind - by_faults].push_back(us); }

    [[nodiscard]] const std::vector<double>& of(Kind kind) const {
        return of_kinds_[kind - by_faults];
    }

    [[nodiscard]] double median(Kind kind) const { return summarize(of(kind)).median; }

private:
    std::array<std::vector<double>, kinds> of_kinds_;
};

Row row_of(const Job& job,
           std::string name,
           std::size_t width,
           int steps,
           const KindTimes& times,
           Kind kind) {
    Row row;
    row.experiment = "laplace";
    row.name = std::move(name);
    row.ranks = job.ranks();
    row.bytes = width * width * sizeof(double);
    row.iterations = times.of(kind).size() * static_cast<std::uint64_t>(steps);
    row.latency_us = summarize(times.of(kind));
    row.yardstick = Yardstick{"private memory", times.median(on_private), "us"};
    row.ratio = row.latency_us.median / row.yardstick->value;
    row.extra.emplace_back("speedup", times.median(alone) / row.latency_us.median);
    row.extra.emplace_back("of_by_hand", times.median(by_hand) / row.latency_us.median);
    return row;
}

}  // namespace

int run_laplace(const Call& call) {
    const Options& options = call.options;
    Job job(call.argc, call.argv, 1, std::string(call.usage));
    const std::size_t width = options.is_quick ? 256 : 2048;
    const int steps = options.is_quick ? 10 : 50;
    auto laplace = std::make_unique<Laplace>(job, width, steps);
    if (!job.conducts()) {
        job.follow([&](const Order& order) {
            const auto kind = static_cast<Kind>(order.what);
            if (kind == close) {
                laplace.reset();
            } else {
                laplace->run(kind);
            }
        });
        return 0;
    }
    const int rounds = options.slices > 0 ? options.slices : options.is_quick ? 3 : 15;
    Progress progress("laplace", rounds);
    KindTimes times;
    const auto measure = [&](Kind kind) {
        job.give(Order{kind, 0, {}});
        laplace->run(kind);
        job.join();
        times.add(kind, laplace->longest() / 1e3);
    };
    for (int round = 0; round < rounds; ++round) {
        for (const Kind kind : {by_faults, learned, prefetched, by_hand, on_private, alone})
            measure(kind);
        progress.step(show_us(times.of(by_faults).back()) + " on shared pages");
    }
    const bool is_right = laplace->is_right();
    job.give(Order{close, 0, {}});
    laplace.reset();
    if (!is_right) give_up("laplace: the bits are not those that one process computes");
    const auto row = [&](Kind kind, std::string name) {
        return row_of(job, std::move(name), width, steps, times, kind);
    };
    return finish(options,
                  {row(by_faults, "shared pages"), row(learned, "shared pages, learned"),
                   row(prefetched, "shared pages, prefetched"), row(by_hand, "puts by hand")});
}

}  // namespace acp::bench
