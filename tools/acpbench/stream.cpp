// SPDX-License-Identifier: BSD-3-Clause
// Experiment `stream`: rank 0 reads shared pages of another node at a steady stride, forward, backward
// and with gaps. The yardstick is pages at random, which faults fetch one by one. The share of the fetch time that the fetch ahead hides is that of the time beyond the same reads of
// pages that are there. Also the same pages by one acp_prefetch_dsm. Each round has new shared pages,
// for a rank's faults teach it which pages come together.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "os/clock.hpp"

#include "experiment.hpp"
#include "job.hpp"
#include "output.hpp"

namespace acp::bench {

namespace {

constexpr std::uint32_t order_round = 1;

constexpr std::size_t shared_page_bytes = 4096;
constexpr std::size_t shared_page_words = shared_page_bytes / sizeof(std::uint64_t);

// A way to read `count` pages of a region of its own.
struct Way {
    const char* name;
    std::int64_t stride;  // 0: at random
    std::size_t area;     // pages of the region, as a multiple of those read
    bool is_prefetched;
};

constexpr std::array<Way, 6> ways = {{{"at random", 0, 16, false},
                                      {"forward", 1, 1, false},
                                      {"backward", -1, 1, false},
                                      {"every third page", 3, 3, false},
                                      {"every third page backward", -3, 3, false},
                                      {"by acp_prefetch_dsm", 1, 1, true}}};
constexpr std::size_t random_way = 0;

std::vector<std::size_t> order_of(const Way& way, std::size_t count, std::uint64_t seed) {
    std::vector<std::size_t> order;
    const std::size_t area = way.area * count;
    if (way.stride == 0) {
        // One page of each 16, in any order.
        for (std::size_t i = 0; i < count; ++i)
            order.push_back(i * way.area + base::mix64(seed + i) % way.area);
        for (std::size_t i = count; i > 1; --i)
            std::swap(order[i - 1], order[base::mix64(~seed + i) % i]);
        return order;
    }
    const auto step = static_cast<std::size_t>(way.stride < 0 ? -way.stride : way.stride);
    for (std::size_t i = 0; i < count; ++i)
        order.push_back(way.stride < 0 ? area - 1 - i * step : i * step);
    return order;
}

class Stream {
public:
    Stream(const Job& job, std::size_t count) : job_(job), count_(count) {}

    // All ranks take part. The last one writes pages whose home its node is, then rank 0 reads them.
    void run(std::uint64_t seed) {
        std::size_t pages = 0;
        for (const Way& way : ways) pages += way.area * count_;
        must(acp_init_dsm(pages * shared_page_bytes) == 0);
        for (std::size_t i = 0; i < ways.size(); ++i) run(i, seed);
        must(acp_finalize_dsm() == 0);
    }

    // Rank 0: microseconds for each page, of each round.
    [[nodiscard]] const std::vector<double>& times(std::size_t way) const { return times_[way]; }

    [[nodiscard]] const std::vector<double>& present(std::size_t way) const {
        return present_[way];
    }

    [[nodiscard]] double faults_a_page(std::size_t way) const { return faults_[way]; }

private:
    void run(std::size_t index, std::uint64_t seed) {
        const Way& way = ways[index];
        const std::size_t bytes = way.area * count_ * shared_page_bytes;
        const int writer = job_.ranks() - 1;
        auto* const words = static_cast<std::uint64_t*>(
            acp_alloc_home_dsm(bytes, ACP_HOME_RANK, static_cast<std::uint64_t>(writer)));
        must(words != nullptr);
        for (std::size_t i = 0; i < way.area * count_ && job_.rank() == writer; ++i) {
            for (std::size_t at = 0; at < shared_page_words; at += 8)
                words[i * shared_page_words + at] = i + at;
        }
        must(acp_barrier_dsm() == 0);
        if (job_.conducts()) {
            const std::vector<std::size_t> order = order_of(way, count_, seed);
            const std::uint64_t faults = faults_so_far();
            const std::uint64_t start = os::now_ns();
            if (way.is_prefetched) must(acp_prefetch_dsm(words, bytes) == 0);
            read(words, order);
            times_[index].push_back(us_since(start));
            faults_[index] =
                static_cast<double>(faults_so_far() - faults) / static_cast<double>(count_);
            const std::uint64_t again = os::now_ns();
            read(words, order);
            present_[index].push_back(us_since(again));
        }
        must(acp_barrier_dsm() == 0);
    }

    // Reads a word of each cache line.
    void read(const std::uint64_t* words, const std::vector<std::size_t>& order) const {
        std::uint64_t sum = 0;
        std::uint64_t expected = 0;
        for (const std::size_t page : order) {
            for (std::size_t at = 0; at < shared_page_words; at += 8)
                sum += words[page * shared_page_words + at];
            expected +=
                shared_page_words / 8 * page + (shared_page_words / 8 - 1) * shared_page_words / 2;
        }
        if (sum != expected) give_up("stream: wrong bytes");
    }

    static std::uint64_t faults_so_far() {
        acp_stats_dsm_t stats;
        must(acp_query_stats_dsm(&stats, sizeof stats) == 0);
        return stats.faults;
    }

    [[nodiscard]] double us_since(std::uint64_t start) const {
        return static_cast<double>(os::now_ns() - start) / 1e3 / static_cast<double>(count_);
    }

    const Job& job_;
    std::size_t count_;
    std::array<std::vector<double>, ways.size()> times_;
    std::array<std::vector<double>, ways.size()> present_;
    std::array<double, ways.size()> faults_{};  // signals for each page in the last round
};

Row row_of(const Job& job, const Stream& stream, std::size_t way) {
    const double one_by_one = summarize(stream.times(random_way)).median;
    const double present = summarize(stream.present(way)).median;
    Row row;
    row.experiment = "stream";
    row.name = ways[way].name;
    row.ranks = job.ranks();
    row.nodes = job.nodes();
    row.bytes = shared_page_bytes;
    row.iterations = stream.times(way).size();
    row.latency_us = summarize(stream.times(way));
    row.yardstick = Yardstick{"a page at random", one_by_one, "us"};
    row.ratio = row.latency_us.median / one_by_one;
    row.extra.emplace_back("present_us", present);
    row.extra.emplace_back("hidden_percent", 100 * (one_by_one - row.latency_us.median) /
                                                 std::max(one_by_one - present, 1e-3));
    row.extra.emplace_back("faults_a_page", stream.faults_a_page(way));
    return row;
}

}  // namespace

int run_stream(const Call& call) {
    const Options& options = call.options;
    Job job(call.argc, call.argv, 2, std::string(call.usage));
    Stream stream(job, options.is_quick ? 64 : 1024);
    if (!job.conducts()) {
        job.follow([&](const Order& order) { stream.run(order.arguments[0]); });
        return 0;
    }
    const int rounds = options.slices > 0 ? options.slices : options.is_quick ? 3 : 15;
    Progress progress("stream", rounds);
    for (int round = 0; round < rounds; ++round) {
        Order order{order_round, 0, {}};
        order.arguments[0] = static_cast<std::uint64_t>(round);
        job.give(order);
        stream.run(order.arguments[0]);
        job.join();
        progress.step(show_us(stream.times(1).back()) + " a page");
    }
    std::vector<Row> rows;
    for (std::size_t way = 0; way < ways.size(); ++way) rows.push_back(row_of(job, stream, way));
    return finish(options, rows);
}

}  // namespace acp::bench
