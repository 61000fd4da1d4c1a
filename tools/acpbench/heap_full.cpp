// SPDX-License-Identifier: BSD-3-Clause
// Experiment `heap-full`: how long acp_malloc takes that finds no room. A heap is filled to 50 ..
// 99 % with blocks of random sizes, and blocks of it are freed and allocated in random order; every
// so often one is asked for that is larger than the free runs. The experiment does so with the own
// rank's heap and with a heap of another node, whose message about the failure takes a second round
// trip. The heap's size is that of the job: the curve over sizes is made of the results of several
// jobs. Rank 0 allocates, the others sleep. Each row ends after a fixed time at most, and says how
// many calls it has timed.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "os/clock.hpp"
#include "os/cpu_time.hpp"

#include "experiment.hpp"
#include "job.hpp"
#include "output.hpp"

namespace acp::bench {

namespace {

constexpr int fill_count = 5;
constexpr int fills[fill_count] = {50, 75, 90, 95, 99};

// All rows of two heaps take 2 minutes at most.
constexpr std::uint64_t row_ns_most = 9'000'000'000;
constexpr std::uint64_t quick_row_ns_most = 1'000'000'000;

class FullHeap {
public:
    FullHeap(const Job& job, bool is_quick, int owner)
        : job_(job), owner_(owner), is_here_(job.node_of(owner) == job.node_of(0)) {
        acp_heap_stat_t stat{};
        if (acp_heap_stat(owner, &stat) != 0) give_up(acp_error_message());
        limit_ = stat.limit;
        most_ = std::max<std::size_t>(limit_ / (is_here_ ? 4'096 : 64), 256);
        pairs_ = is_quick ? 2'000 : is_here_ ? 200'000 : 10'000;
        failures_ = is_quick ? 1'000 : is_here_ ? 10'000 : 2'000;
        row_ns_ = is_quick ? quick_row_ns_most : row_ns_most;
    }

    void run(std::vector<Row>& rows, Progress& progress) {
        for (const int percent : fills) {
            wanted_ = limit_ / 100 * static_cast<std::size_t>(percent);
            fill();
            rows.push_back(row_of(percent, times_of_failures()));
            progress.step(rows.back().name);
        }
        std::vector<acp_ga_t> all;
        for (const Block& block : blocks_) all.push_back(block.address);
        if (acp_free_many(all.size(), all.data()) != 0) give_up(acp_error_message());
    }

private:
    struct Block {
        acp_ga_t address;
        std::size_t bytes;
    };

    // A random size whose logarithm is uniformly distributed: each power of two is as frequent as
    // any other.
    std::size_t any_size(std::size_t least, std::size_t most) {
        std::uniform_real_distribution<double> any(std::log2(static_cast<double>(least)),
                                                   std::log2(static_cast<double>(most)));
        return static_cast<std::size_t>(std::exp2(any(random_)));
    }

    // Adds a block. false: there is no room for it.
    bool add(std::size_t bytes) {
        const acp_ga_t address = acp_malloc(bytes, owner_);
        if (address == ACP_GA_NULL) {
            if (acp_errno() != ACP_ERR_MEMORY) give_up(acp_error_message());
            return false;
        }
        const std::size_t usable = acp_usable_size(address);
        blocks_.push_back({address, usable});
        used_ += usable;
        return true;
    }

    void remove_any() {
        const std::size_t which = random_() % blocks_.size();
        used_ -= blocks_[which].bytes;
        if (acp_free(blocks_[which].address) != 0) give_up(acp_error_message());
        blocks_[which] = blocks_.back();
        blocks_.pop_back();
    }

    // Adds blocks until wanted_ bytes are in use. When a large block no longer fits, it halves the
    // size limit.
    void fill() {
        for (std::size_t most = most_; used_ < wanted_ && most >= 128;) {
            if (!add(any_size(64, most))) most /= 2;
        }
    }

    // Of failing calls: by the clock, and by the CPU time of the thread, which does not count when other processes have the core.
    struct Times {
        std::vector<double> us;
        std::vector<double> cpu_us;
    };

    Times times_of_failures() {
        Times times;
        const std::size_t apart = std::max<std::size_t>(1, pairs_ / failures_);
        const std::uint64_t end = os::now_ns() + row_ns_;
        for (std::size_t i = 0; i < pairs_ && os::now_ns() < end; ++i) {
            // The search for a size allocates and frees GiB, which takes the CPU's caches from the
            // heap's words: the pair comes after it, so the timed call finds them as a program does.
            const std::size_t bytes = i % apart == 0 ? size_without_room() : 0;
            remove_any();
            fill();
            if (bytes != 0) time_failure(times, bytes);
        }
        return times;
    }

    // A random size for which there is no room now.
    std::size_t size_without_room() {
        for (;;) {
            const std::size_t bytes = any_size(most_, limit_);
            const acp_ga_t address = acp_malloc(bytes, owner_);
            if (address == ACP_GA_NULL) return bytes;
            if (acp_free(address) != 0) give_up(acp_error_message());
        }
    }

    // Counts nothing when the block that the program has freed since has made room.
    void time_failure(Times& times, std::size_t bytes) const {
        const std::uint64_t cpu_start = os::own_cpu_ns();
        const std::uint64_t start = os::now_ns();
        const acp_ga_t address = acp_malloc(bytes, owner_);
        const std::uint64_t end = os::now_ns();
        const std::uint64_t cpu_end = os::own_cpu_ns();
        if (address == ACP_GA_NULL) {
            times.us.push_back(static_cast<double>(end - start) / 1e3);
            // CPU time contains two reads of the clocks, so the clock may show less.
            times.cpu_us.push_back(
                std::min(static_cast<double>(cpu_end - cpu_start) / 1e3, times.us.back()));
        } else if (acp_free(address) != 0) {
            give_up(acp_error_message());
        }
    }

    [[nodiscard]] Row row_of(int percent, const Times& times) const {
        Row row;
        row.experiment = "heap-full";
        row.name = std::string(is_here_ ? "own rank" : "another node") + ", " +
                   std::to_string(percent) + " %";
        row.mode = mode_by_environment();
        row.ranks = job_.ranks();
        row.nodes = job_.nodes();
        row.bytes = limit_;
        row.iterations = times.us.size();
        row.latency_us = summarize(times.us);
        row.extra = {
            {"p99.9_us", percentile(times.us, 0.999)},
            {"p99.9_cpu_us", percentile(times.cpu_us, 0.999)},
            {"blocks", static_cast<double>(blocks_.size())},
            {"used_percent", 100.0 * static_cast<double>(used_) / static_cast<double>(limit_)}};
        return row;
    }

    const Job& job_;
    int owner_;
    bool is_here_;
    std::size_t limit_ = 0;
    std::size_t most_ = 0;      // the largest block that the heap is filled with
    std::size_t pairs_ = 0;     // the most pairs of a free and an allocation
    std::size_t failures_ = 0;  // that are timed
    std::uint64_t row_ns_ = 0;  // the longest time of a row
    std::size_t wanted_ = 0;    // bytes in use
    std::size_t used_ = 0;
    std::vector<Block> blocks_;
    std::mt19937_64 random_{1};
};

}  // namespace

int run_heap_full(const Call& call) {
    Job job(call.argc, call.argv, 1, std::string(call.usage));
    if (!job.conducts()) {
        job.follow([](const Order&) {});
        return 0;
    }
    std::vector<Row> rows;
    const bool has_other = job.nodes() > 1;
    Progress progress("heap-full", (has_other ? 2 : 1) * fill_count);
    FullHeap(job, call.options.is_quick, 0).run(rows, progress);
    if (has_other) FullHeap(job, call.options.is_quick, job.partner()).run(rows, progress);
    return finish(call.options, rows);
}

}  // namespace acp::bench
