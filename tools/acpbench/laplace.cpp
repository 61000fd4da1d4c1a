// SPDX-License-Identifier: BSD-3-Clause
// Experiment `laplace`: LAPLACE of paper 001 on shared pages. All ranks compute their rows of one array
// and call acp_barrier_dsm after each step; then they touch the rows of their neighbours, or first fetch
// them by acp_prefetch_dsm. The yardstick is the same loops on private
// memory, where each rank computes rows of its own without a barrier. All alternate. At the end
// rank 0 compares the shared array, bit by bit, with that of one process.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
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
enum Kind : std::uint32_t { on_shared = 1, prefetched, on_private, alone, close };

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

// Stores `steps` times the mean of the four neighbours. Afterwards the newest values are in `from`.
// It calls meet() after each step.
template <typename Meet>
void compute(double*& from, double*& to, const Part& part, int steps, const Meet& meet) {
    for (int step = 0; step < steps; ++step) {
        for (std::size_t y = part.first; y < part.last; ++y) {
            const double* const row = from + y * part.width;
            double* const out = to + y * part.width;
            for (std::size_t x = 1; x + 1 < part.width; ++x) {
                out[x] =
                    0.25 * (row[x - 1] + row[x + 1] + row[x - part.width] + row[x + part.width]);
            }
        }
        std::swap(from, to);
        meet();
    }
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
    }

    Laplace(const Laplace&) = delete;
    Laplace& operator=(const Laplace&) = delete;

    ~Laplace() { must(acp_finalize_dsm() == 0); }

    // All ranks take part, but in `alone` only rank 0 computes, on all rows. Each rank sends its
    // nanoseconds to rank 0. Two steps before the measured ones make pages present, and caches warm.
    void run(Kind kind) {
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

    // Rank 0: whether all bits are those that one process computes.
    [[nodiscard]] bool is_right() const {
        std::vector<double> one(width_ * width_);
        std::vector<double> other(width_ * width_);
        double* from = one.data();
        double* to = other.data();
        heat_edge(from, width_);
        heat_edge(to, width_);
        compute(from, to, part_of(width_, 0, 1), steps_done_, [] {});
        return std::memcmp(from, from_, one.size() * sizeof(double)) == 0;
    }

private:
    void step(Kind kind, int steps) {
        if (kind == on_shared || kind == prefetched) {
            compute(from_, to_, part_, steps, [&] {
                must(acp_barrier_dsm() == 0);
                if (kind == prefetched) prefetch_neighbours();
            });
            steps_done_ += steps;
        } else if (kind == on_private) {
            compute(own_from_, own_to_, part_, steps, [] {});
        } else if (job_.conducts()) {
            compute(own_from_, own_to_, part_of(width_, 0, 1), steps, [] {});
        }
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
    int steps_done_ = 0;
};

Row row_of(const Job& job,
           std::string name,
           std::size_t width,
           int steps,
           const std::vector<double>& shared_us,
           const std::vector<double>& private_us,
           const std::vector<double>& alone_us) {
    Row row;
    row.experiment = "laplace";
    row.name = std::move(name);
    row.ranks = job.ranks();
    row.bytes = width * width * sizeof(double);
    row.iterations = shared_us.size() * static_cast<std::uint64_t>(steps);
    row.latency_us = summarize(shared_us);
    row.yardstick = Yardstick{"private memory", summarize(private_us).median, "us"};
    row.ratio = row.latency_us.median / row.yardstick->value;
    row.extra.emplace_back("speedup", summarize(alone_us).median / row.latency_us.median);
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
    std::vector<double> times_us[kinds];
    const auto measure = [&](Kind kind) {
        job.give(Order{kind, 0, {}});
        laplace->run(kind);
        job.join();
        times_us[kind - on_shared].push_back(laplace->longest() / 1e3);
    };
    for (int round = 0; round < rounds; ++round) {
        for (const Kind kind : {on_shared, prefetched, on_private, alone}) measure(kind);
        progress.step(show_us(times_us[0].back()) + " on shared pages");
    }
    const bool is_right = laplace->is_right();
    job.give(Order{close, 0, {}});
    laplace.reset();
    if (!is_right) give_up("laplace: the bits are not those that one process computes");
    const auto row = [&](Kind kind, std::string name) {
        return row_of(job, std::move(name), width, steps, times_us[kind - on_shared],
                      times_us[on_private - on_shared], times_us[alone - on_shared]);
    };
    return finish(options,
                  {row(on_shared, "shared pages"), row(prefetched, "shared pages, prefetched")});
}

}  // namespace acp::bench
