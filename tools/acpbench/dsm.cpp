// SPDX-License-Identifier: BSD-3-Clause
// Experiment `dsm`: rank 0 measures the accesses and calls of shared pages for which programs wait.
// On several nodes it measures faults, prefetches and first writes beside acp_get and the kernel's
// own faults. It measures barriers beside acp_sync, and on one node loops on shared pages beside
// loops on private memory. Each round measures everything once, the yardstick of a figure next to
// it; a ratio is the median of the rounds' ratios.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "os/clock.hpp"
#include "os/cpu.hpp"

#include "cpu_share.hpp"
#include "dsm_player.hpp"
#include "experiment.hpp"
#include "output.hpp"
#include "paper.hpp"
#include "threads_time.hpp"
#include "watched_pages.hpp"

namespace acp::bench {

namespace {

// The figures of a round, in ns.
struct DsmRound {
    double get = 0;               // acp_get of 4 KiB from the partner, which waits
    double small_get = 0;         // acp_get of 8 bytes
    double present_fault = 0;     // S: a fault on a page that is there, and its repair; 0: unknown
    double minor_fault[2] = {};   // F: the kernel's, with 1 and 2 threads
    double first_write[2] = {};   // B
    double fault = 0;             // the median of faults, while the partner waits
    double computing_fault = 0;   // while it computes
    double prefetch = 0;          // acp_prefetch_dsm of a block's pages
    double present_prefetch = 0;  // the same, if the node has the pages
    double sync = 0;
    double barrier = 0;
    double noticed = 0;  // a barrier with notices of about 1 KiB of each node
    double loops = 0;
    double private_loops = 0;
    double cpu_share = 0;  // the part of a CPU that rank 0 gets while it computes
};

using Figure = double (*)(const DsmRound& round);

struct DsmTarget {
    const char* name;
    std::uint64_t bytes;
    Figure figure;
    const char* yardstick_name;
    Figure yardstick;
    double at_most;  // target of the ratio; 0: there is none
};

constexpr double block_pages_as_number = static_cast<double>(dsm_block_pages);

constexpr DsmTarget between_nodes[] = {
    {"get of a page", dsm_page_bytes, [](const DsmRound& r) { return r.get; }, "acp_get of 8 bytes",
     [](const DsmRound& r) { return r.small_get; }, 0},
    {"fault, peer waiting", dsm_page_bytes, [](const DsmRound& r) { return r.fault; }, "get + 2 S",
     [](const DsmRound& r) { return r.get + 2 * r.present_fault; }, 1},
    {"fault, peer computing", dsm_page_bytes, [](const DsmRound& r) { return r.computing_fault; },
     "get + 2 S", [](const DsmRound& r) { return r.get + 2 * r.present_fault; }, 2},
    {"prefetch of 16 pages", dsm_block_pages* dsm_page_bytes,
     [](const DsmRound& r) { return r.prefetch; }, "16 faults",
     [](const DsmRound& r) { return block_pages_as_number * r.fault; }, 0.25},
    {"prefetch of 16 pages of the node", dsm_block_pages* dsm_page_bytes,
     [](const DsmRound& r) { return r.present_prefetch; }, "16 S",
     [](const DsmRound& r) { return block_pages_as_number * r.present_fault; }, 0.2},
    {"first write, 1 thread", dsm_page_bytes, [](const DsmRound& r) { return r.first_write[0]; },
     "minor fault (F)", [](const DsmRound& r) { return r.minor_fault[0]; }, 4.5},
    {"first write, 2 threads", dsm_page_bytes, [](const DsmRound& r) { return r.first_write[1]; },
     "minor fault (F)", [](const DsmRound& r) { return r.minor_fault[1]; }, 4.5},
};

constexpr DsmTarget everywhere[] = {
    {"empty barrier", 0, [](const DsmRound& r) { return r.barrier; }, "acp_sync",
     [](const DsmRound& r) { return r.sync; }, 1.3},
};

constexpr DsmTarget with_notices[] = {
    {"barrier with 944 bytes of notices a node", 0, [](const DsmRound& r) { return r.noticed; },
     "acp_sync", [](const DsmRound& r) { return r.sync; }, 1.5},
};

constexpr DsmTarget on_one_node[] = {
    {"loops on one node", 0, [](const DsmRound& r) { return r.loops; },
     "the same on private memory", [](const DsmRound& r) { return r.private_loops; }, 1.02},
};

void touch(const char* address) {
    (void)*static_cast<const volatile char*>(address);
}

void dirty(char* address) {
    *static_cast<volatile char*>(address) = 1;
}

class DsmMeter {
public:
    DsmMeter(Job& job, DsmPlayer& player) : job_(job), player_(player), copy_(dsm_page_bytes) {}

    DsmRound measure() {
        DsmRound round;
        round.cpu_share = share_of_cpu();
        measure_barriers(round);
        if (job_.is_one_node()) {
            round.loops = time_loops(DsmPlayer::loops_shared);
            round.private_loops = time_loops(DsmPlayer::loops_private);
            return round;
        }
        measure_kernel(round);
        measure_gets(round);
        round.fault = measure_faults(false);
        round.computing_fault = measure_faults(true);
        measure_prefetches(round);
        measure_first_writes(round);
        return round;
    }

    // The times of all faults while the partner waited.
    [[nodiscard]] const std::vector<double>& faults() const { return all_faults_; }

private:
    // While all other ranks wait.
    [[nodiscard]] static double share_of_cpu() {
        constexpr std::uint64_t computed_ns = 20'000'000;
        const CpuShare cpu;
        while (cpu.elapsed_ns() < computed_ns) os::relax();
        return static_cast<double>(cpu.in_thousandths()) / 1000;
    }

    inline static constexpr std::uint64_t barrier_count = 50;
    inline static constexpr std::uint64_t get_count = 32;
    inline static constexpr std::uint64_t write_count = 256;
    inline static constexpr std::uint64_t watched_count = 128;
    inline static constexpr std::uint64_t loop_steps = 10;

    double play(DsmPlayer::What what, std::uint64_t count) {
        player_.play(job_, what, count);
        const double ns = player_.took_ns();
        job_.join();
        return ns;
    }

    void measure_barriers(DsmRound& round) {
        round.sync = play(DsmPlayer::syncs, barrier_count);
        round.barrier = play(DsmPlayer::barriers, barrier_count);
        if (!job_.is_one_node()) round.noticed = play(DsmPlayer::noticed, barrier_count);
    }

    // The slowest rank's time: the loops are no barrier.
    double time_loops(DsmPlayer::What what) { return play(what, loop_steps); }

    // Where the kernel refuses the calls there is no S.
    void measure_kernel(DsmRound& round) {
        auto opened = WatchedPages::open(os::WriteTracking::async, watched_count);
        if (!opened.is_ok()) return;
        WatchedPages& pages = *opened.value();
        if (!pages.make_absent().is_ok()) return;
        round.present_fault =
            time_of(1, watched_count, [&](std::uint64_t i) { touch(pages.watched(i)); });
        for (const int threads : {1, 2}) {
            if (!pages.unmap_plain().is_ok()) return;
            round.minor_fault[threads - 1] =
                time_of(threads, watched_count, [&](std::uint64_t i) { dirty(pages.plain(i)); });
        }
    }

    // The partner waits in the next order's barrier.
    void measure_gets(DsmRound& round) {
        const acp_ga_t source = acp_query_ga_dsm(player_.word_of(0));
        must(source != ACP_GA_NULL);
        for (const std::uint64_t bytes : {std::uint64_t{8}, dsm_page_bytes}) {
            std::vector<double> ns;
            for (std::uint64_t i = 0; i < get_count; ++i) {
                const std::uint64_t start = os::now_ns();
                must(acp_wait(acp_get(copy_.data(), source, bytes, ACP_HANDLE_NULL), -1) == 0);
                ns.push_back(static_cast<double>(os::now_ns() - start));
            }
            (bytes == 8 ? round.small_get : round.get) = median_of(std::move(ns));
        }
    }

    // The partner has written the pages, and rank 0 has no copies.
    void let_partner_write(std::uint64_t stride, bool then_computes) {
        ++value_;
        player_.play(job_, DsmPlayer::write_pages, value_, stride, then_computes ? 1 : 0);
    }

    void check_word(std::uint64_t number) const {
        if (*player_.word_of(number) != value_)
            give_up("dsm: a page has a value of an earlier barrier");
    }

    // The blocks in an order without a stride: of a stream, faults fetch the next pages too.
    static std::vector<std::uint64_t> scattered_blocks() {
        std::vector<std::uint64_t> blocks(dsm_blocks);
        std::iota(blocks.begin(), blocks.end(), 0);
        std::sort(blocks.begin(), blocks.end(),
                  [](std::uint64_t a, std::uint64_t b) { return base::mix64(a) < base::mix64(b); });
        return blocks;
    }

    // One page of each block, whose neighbours were never touched.
    double measure_faults(bool is_partner_computing) {
        let_partner_write(dsm_block_pages, is_partner_computing);
        std::vector<double> ns;
        for (const std::uint64_t block : scattered_blocks()) {
            const std::uint64_t first = block * dsm_block_pages;
            const std::uint64_t start = os::now_ns();
            touch(reinterpret_cast<const char*>(player_.word_of(first)));
            ns.push_back(static_cast<double>(os::now_ns() - start));
            check_word(first);
        }
        if (is_partner_computing) player_.release();
        job_.join();
        if (!is_partner_computing) all_faults_.insert(all_faults_.end(), ns.begin(), ns.end());
        return median_of(std::move(ns));
    }

    // acp_put from shared pages fetches them for the node, and does not map them.
    void measure_prefetches(DsmRound& round) {
        let_partner_write(1, false);
        std::vector<double> ns;
        std::vector<double> present_ns;
        constexpr std::uint64_t bytes = dsm_block_pages * dsm_page_bytes;
        const acp_ga_t target = acp_query_ga_dsm(player_.written_page(0));
        must(target != ACP_GA_NULL);
        for (std::uint64_t block = 0; block < dsm_blocks; ++block) {
            std::uint64_t* const begin = player_.word_of(block * dsm_block_pages);
            const bool is_present = block % 2 == 1;
            if (is_present) must(acp_wait(acp_put(target, begin, bytes, ACP_HANDLE_NULL), -1) == 0);
            const std::uint64_t start = os::now_ns();
            must(acp_prefetch_dsm(begin, bytes) == 0);
            (is_present ? present_ns : ns).push_back(static_cast<double>(os::now_ns() - start));
            check_word(block * dsm_block_pages + dsm_block_pages - 1);
        }
        job_.join();
        round.prefetch = median_of(std::move(ns));
        round.present_prefetch = median_of(std::move(present_ns));
    }

    // Of pages that are mapped and protected. The barrier sends what was written.
    void measure_first_writes(DsmRound& round) {
        for (const int threads : {1, 2}) {
            must(acp_prefetch_dsm(player_.written_page(0), write_count * dsm_page_bytes) == 0);
            round.first_write[threads - 1] = time_of(
                threads, write_count, [&](std::uint64_t i) { dirty(player_.written_page(i)); });
            play(DsmPlayer::barriers, 1);
        }
    }

    Job& job_;
    DsmPlayer& player_;
    std::vector<char> copy_;
    std::vector<double> all_faults_;
    std::uint64_t value_ = 0;
};

// Ranks that take turns on CPUs show how the scheduler divides them.
bool has_cpus(const Job& job) {
    return job.ranks() <= os::usable_cpus();
}

Row named_row(const Job& job, std::string name, std::uint64_t bytes) {
    Row row;
    row.experiment = "dsm";
    row.name = std::move(name);
    row.ranks = job.ranks();
    row.nodes = job.nodes();
    row.bytes = bytes;
    return row;
}

Row row_of_target(const Job& job, const std::vector<DsmRound>& rounds, const DsmTarget& target) {
    Row row = named_row(job, target.name, target.bytes);
    std::vector<double> us;
    std::vector<double> yardstick_us;
    std::vector<double> ratios;
    std::vector<double> shares;
    for (const DsmRound& round : rounds) {
        shares.push_back(round.cpu_share);
        us.push_back(target.figure(round) / 1e3);
        yardstick_us.push_back(target.yardstick(round) / 1e3);
        ratios.push_back(us.back() / yardstick_us.back());
    }
    row.iterations = rounds.size();
    row.latency_us = summarize(us);
    row.extra.emplace_back("cpu_share", median_of(std::move(shares)));
    if (target.bytes > 0)
        row.bandwidth_mb_per_s = static_cast<double>(target.bytes) / row.latency_us.median;
    row.paper = paper_001_at(row.experiment, row.name, row.bytes);
    const double yardstick = median_of(std::move(yardstick_us));
    if (!(yardstick > 0)) return row;
    row.yardstick = Yardstick{target.yardstick_name, yardstick, "us"};
    row.ratio = median_of(std::move(ratios));
    if (target.at_most > 0 && has_cpus(job)) row.extra.emplace_back("at_most", target.at_most);
    return row;
}

// How far the slowest faults are from the others.
Row row_of_slow_faults(const Job& job, const std::vector<double>& faults, double cpu_share) {
    Row row = named_row(job, "slowest of 100 faults, peer waiting", dsm_page_bytes);
    std::vector<double> us;
    for (const double ns : faults) us.push_back(ns / 1e3);
    row.iterations = us.size();
    const double slow = percentile(us, 0.99);
    const double median = median_of(us);
    row.latency_us = summarize({slow});
    row.yardstick = Yardstick{"median fault", median, "us"};
    row.ratio = slow / median;
    row.extra.emplace_back("cpu_share", cpu_share);
    if (has_cpus(job)) row.extra.emplace_back("at_most", 4);
    return row;
}

std::uint64_t count_own_faults() {
    acp_stats_dsm_t now{};
    must(acp_query_stats_dsm(&now, sizeof now) == 0);
    return now.faults;
}

std::vector<Row> measure_dsm(const Options& options, Job& job, DsmPlayer& player) {
    const int rounds = options.slices > 0 ? options.slices : options.is_quick ? 3 : 31;
    DsmMeter meter(job, player);
    (void)meter.measure();  // makes pages present and caches warm
    std::vector<DsmRound> all;
    Progress progress("dsm", rounds);
    for (int i = 0; i < rounds; ++i) {
        all.push_back(meter.measure());
        progress.step(show_us(all.back().barrier / 1e3) + " a barrier");
    }
    std::vector<Row> rows;
    const auto add = [&](const DsmTarget& target) {
        rows.push_back(row_of_target(job, all, target));
    };
    for (const DsmTarget& target : everywhere) add(target);
    if (job.is_one_node()) {
        for (const DsmTarget& target : on_one_node) add(target);
        rows.back().extra.emplace_back("faults", static_cast<double>(count_own_faults()));
        return rows;
    }
    for (const DsmTarget& target : with_notices) add(target);
    for (const DsmTarget& target : between_nodes) add(target);
    rows.push_back(row_of_slow_faults(job, meter.faults(), extra_of(rows.back(), "cpu_share")));
    return rows;
}

}  // namespace

int run_dsm(const Call& call) {
    Job job(call.argc, call.argv, 1, std::string(call.usage));
    auto player = std::make_unique<DsmPlayer>(job);
    if (!job.conducts()) {
        job.follow([&](const Order& order) {
            if (order.what == DsmPlayer::close) {
                player.reset();
            } else {
                player->follow(order);
            }
        });
        return 0;
    }
    const std::vector<Row> rows = measure_dsm(call.options, job, *player);
    job.give(Order{DsmPlayer::close, 0, {}});
    player.reset();
    return finish(call.options, rows);
}

}  // namespace acp::bench
