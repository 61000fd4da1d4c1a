// SPDX-License-Identifier: BSD-3-Clause
// Experiment `dsm-cache`: a blocked multiplication of matrices in shared pages, each of which has four
// times as many bytes as a node may keep of other nodes' pages (acp_set_cache_dsm). The yardstick is the
// same program without a bound, when all nodes have all copies. Tiles come by faults, or by
// acp_prefetch_dsm. All alternate. At the end rank 0 multiplies the product and the factors by a vector.
#include <algorithm>
#include <array>
#include <cstdint>
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
enum class CacheRun : std::uint32_t { unbounded = 1, by_faults, prefetched, close };

constexpr std::size_t cache_runs = 3;

// A matrix of tiles, each of which fills pages of its own. The elements are small integers, so sums are
// exact in any order.
class TiledMatrix {
public:
    TiledMatrix(std::size_t tiles, std::size_t side)
        : tiles_(tiles),
          side_(side),
          values_(static_cast<double*>(acp_alloc_home_dsm(bytes(), ACP_HOME_BLOCK, 0))) {
        must(values_ != nullptr);
    }

    TiledMatrix(const TiledMatrix&) = delete;
    TiledMatrix& operator=(const TiledMatrix&) = delete;

    ~TiledMatrix() { must(acp_free_dsm(values_) == 0); }

    [[nodiscard]] double* tile(std::size_t row, std::size_t column) const {
        return values_ + (row * tiles_ + column) * side_ * side_;
    }

    [[nodiscard]] std::size_t tile_bytes() const { return side_ * side_ * sizeof(double); }

    [[nodiscard]] std::size_t bytes() const { return tiles_ * tiles_ * tile_bytes(); }

    // Rows of tiles first .. last - 1.
    void fill(std::size_t first, std::size_t last, std::uint64_t seed) const {
        std::uint64_t state = seed + first * 7919;
        for (double* at = tile(first, 0); at != tile(last, 0); ++at) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            at[0] = static_cast<double>(state >> 61);
        }
    }

    [[nodiscard]] std::vector<double> times(const std::vector<double>& vector) const {
        std::vector<double> result(vector.size());
        for (std::size_t row = 0; row < tiles_; ++row) {
            for (std::size_t column = 0; column < tiles_; ++column)
                add_tile(row, column, vector, result);
        }
        return result;
    }

private:
    void add_tile(std::size_t row,
                  std::size_t column,
                  const std::vector<double>& vector,
                  std::vector<double>& result) const {
        const double* const values = tile(row, column);
        for (std::size_t y = 0; y < side_; ++y) {
            for (std::size_t x = 0; x < side_; ++x)
                result[row * side_ + y] += values[y * side_ + x] * vector[column * side_ + x];
        }
    }

    std::size_t tiles_;  // the number in a row
    std::size_t side_;   // the elements of a row of a tile
    double* values_;
};

void add_product(const double* left, const double* right, double* product, std::size_t side) {
    for (std::size_t y = 0; y < side; ++y) {
        for (std::size_t k = 0; k < side; ++k) {
            const double factor = left[y * side + k];
            const double* const row = right + k * side;
            double* const out = product + y * side;
            for (std::size_t x = 0; x < side; ++x) out[x] += factor * row[x];
        }
    }
}

class CacheProgram {
public:
    CacheProgram(Job& job, std::size_t tiles, std::size_t side)
        : job_(job),
          tiles_(tiles),
          side_(side),
          first_(tiles * static_cast<std::size_t>(job.rank()) /
                 static_cast<std::size_t>(job.ranks())),
          last_(tiles * static_cast<std::size_t>(job.rank() + 1) /
                static_cast<std::size_t>(job.ranks())) {
        must(acp_init_dsm(4 * tiles * tiles * side * side * sizeof(double)) == 0);
        left_.emplace(tiles, side);
        right_.emplace(tiles, side);
        product_.emplace(tiles, side);
        left_->fill(first_, last_, 1);
        right_->fill(first_, last_, 2);
        must(acp_barrier_dsm() == 0);
    }

    CacheProgram(const CacheProgram&) = delete;
    CacheProgram& operator=(const CacheProgram&) = delete;

    ~CacheProgram() {
        product_.reset();
        right_.reset();
        left_.reset();
        must(acp_finalize_dsm() == 0);
    }

    // The bytes of one matrix.
    [[nodiscard]] std::size_t bytes() const { return left_->bytes(); }

    // All ranks take part. Each one sends its nanoseconds and the pages that it evicted to rank 0.
    void run(CacheRun kind) {
        must(acp_set_cache_dsm(kind == CacheRun::unbounded ? 0 : bytes() / 4) == 0);
        // All copies are there, or as many as may be.
        multiply(kind, std::min(first_ + 1, last_));
        std::fill(product_->tile(first_, 0), product_->tile(last_, 0), 0.0);
        must(acp_barrier_dsm() == 0);
        const std::uint64_t evicted = stats().pages_evicted;
        const std::uint64_t start = os::now_ns();
        multiply(kind, last_);
        must(acp_barrier_dsm() == 0);
        RankResult mine{};
        mine.values[0] = os::now_ns() - start;
        mine.values[1] = stats().pages_evicted - evicted;
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

    // Rank 0: the pages that all ranks evicted.
    [[nodiscard]] double evicted() const {
        std::uint64_t all = 0;
        for (int rank = 0; rank < job_.ranks(); ++rank) all += job_.result(rank).values[1];
        return static_cast<double>(all);
    }

    // Rank 0.
    [[nodiscard]] bool is_right() const {
        std::vector<double> vector(tiles_ * side_);
        for (std::size_t i = 0; i < vector.size(); ++i) vector[i] = static_cast<double>(i % 5);
        return product_->times(vector) == left_->times(right_->times(vector));
    }

private:
    static acp_stats_dsm_t stats() {
        acp_stats_dsm_t now;
        must(acp_query_stats_dsm(&now, sizeof now) == 0);
        return now;
    }

    // The rows of tiles first_ .. last - 1.
    void multiply(CacheRun kind, std::size_t last) {
        for (std::size_t row = first_; row < last; ++row) {
            for (std::size_t k = 0; k < tiles_; ++k) {
                for (std::size_t column = 0; column < tiles_; ++column) {
                    const double* const right = right_->tile(k, column);
                    if (kind == CacheRun::prefetched)
                        must(acp_prefetch_dsm(right, right_->tile_bytes()) == 0);
                    add_product(left_->tile(row, k), right, product_->tile(row, column), side_);
                }
            }
        }
    }

    Job& job_;
    std::size_t tiles_;
    std::size_t side_;
    std::size_t first_;
    std::size_t last_;
    std::optional<TiledMatrix> left_;
    std::optional<TiledMatrix> right_;
    std::optional<TiledMatrix> product_;
};

struct CacheTimes {
    std::vector<double> us;
    double evicted = 0;  // pages in the last run
};

}  // namespace

int run_dsm_cache(const Call& call) {
    const Options& options = call.options;
    Job job(call.argc, call.argv, 1, std::string(call.usage));
    const std::size_t side = options.is_quick ? 64 : 128;
    constexpr std::size_t tiles = 8;
    auto program = std::make_unique<CacheProgram>(job, tiles, side);
    if (!job.conducts()) {
        job.follow([&](const Order& order) {
            const auto kind = static_cast<CacheRun>(order.what);
            if (kind == CacheRun::close) {
                program.reset();
            } else {
                program->run(kind);
            }
        });
        return 0;
    }
    const int rounds = options.slices > 0 ? options.slices : options.is_quick ? 3 : 9;
    Progress progress("dsm-cache", rounds);
    std::array<CacheTimes, cache_runs> times;
    const auto of = [&](CacheRun kind) -> CacheTimes& {
        return times[static_cast<std::size_t>(kind) - 1];
    };
    for (int round = 0; round < rounds; ++round) {
        for (const CacheRun kind :
             {CacheRun::unbounded, CacheRun::by_faults, CacheRun::prefetched}) {
            job.give(Order{static_cast<std::uint32_t>(kind), 0, {}});
            program->run(kind);
            job.join();
            of(kind).us.push_back(program->longest() / 1e3);
            of(kind).evicted = program->evicted();
        }
        progress.step(show_us(of(CacheRun::by_faults).us.back()) + " with a bound");
    }
    const bool is_right = program->is_right();
    const std::size_t bytes = program->bytes();
    job.give(Order{static_cast<std::uint32_t>(CacheRun::close), 0, {}});
    program.reset();
    if (!is_right) give_up("dsm-cache: the product is wrong");
    const auto row = [&](CacheRun kind, std::string name) {
        Row made;
        made.experiment = "dsm-cache";
        made.name = std::move(name);
        made.ranks = job.ranks();
        made.bytes = bytes;
        made.iterations = of(kind).us.size();
        made.latency_us = summarize(of(kind).us);
        made.yardstick =
            Yardstick{"without a bound", summarize(of(CacheRun::unbounded).us).median, "us"};
        made.ratio = made.latency_us.median / made.yardstick->value;
        made.extra.emplace_back("evicted", of(kind).evicted);
        return made;
    };
    return finish(options, {row(CacheRun::by_faults, "matrices of 4 x the bound"),
                            row(CacheRun::prefetched, "matrices of 4 x the bound, prefetched")});
}

}  // namespace acp::bench
