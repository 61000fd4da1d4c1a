// SPDX-License-Identifier: BSD-3-Clause
// Experiment `net`: what crosses between nodes. One rank alone against idle ranks of other nodes,
// beside bare datagrams between the same two processes on the same cores; then all ranks at once,
// and with the ranks of the other nodes computing. Slices of the library and of the yardstick take
// turns. All ranks.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>

#include "os/clock.hpp"
#include "os/cpu.hpp"

#include "bare_udp.hpp"
#include "copy.hpp"
#include "experiment.hpp"
#include "net_rounds.hpp"
#include "net_sizes.hpp"
#include "output.hpp"
#include "system.hpp"
#include "verdict.hpp"

namespace acp::bench {

namespace {

constexpr std::uint32_t order_crowd = 1;

constexpr std::uint64_t crowd_bytes = 1024;
constexpr std::uint64_t stream_bytes = 1 << 20;
constexpr std::uint64_t pipeline_depth = 4096;
constexpr int crowd_slices = 50;
// What was measured before left its traces: after a bare stream, which never yields, the library
// sleeps for a while instead of yielding.
constexpr std::uint64_t crowd_warm_up_ns = 80'000'000;

// What a rank's part in a crowd is.
enum class Crowd : std::uint64_t { all_active, others_compute, target_computes };

struct Sites {
    int near = 0;    // the conductor
    int far = -1;    // a rank of another node
    int third = -1;  // a rank of yet another one; -1: there is none
};

Sites sites_of(const Job& job, const Regions& memory) {
    Sites sites;
    const auto is_remote = [&](int a, int b) {
        return std::string(acp_path(memory.target_ga(a), memory.source_ga(b)).name) == "remote";
    };
    std::uint64_t last_node = 0;
    for (int rank = 1; rank < job.ranks(); ++rank) {
        if (!is_remote(rank, sites.near)) continue;
        const std::uint64_t node = job.node_of(rank);
        if (sites.far < 0) {
            sites.far = rank;
            last_node = node;
        } else if (node != last_node) {
            sites.third = rank;
            break;
        }
    }
    return sites;
}

void compute_until(std::uint64_t end_ns) {
    while (os::now_ns() < end_ns) {
        for (int i = 0; i < 1000; ++i) asm volatile("");
    }
}

// Copies until the clock says so, to one rank or (< 0) to those of other nodes in turn; durations
// of each.
std::vector<double> copy_until(const Job& job,
                               const Regions& memory,
                               int only,
                               std::uint64_t end_ns) {
    std::vector<double> each_ns;
    int target = only < 0 ? job.rank() : only;
    std::uint64_t before = os::now_ns();
    do {
        while (only < 0) {
            target = (target + 1) % job.ranks();
            if (job.node_of(target) != job.node_of(job.rank())) break;
        }
        copy_and_complete(memory.target_ga(target), memory.source_ga(job.rank()), crowd_bytes, 1);
        const std::uint64_t now = os::now_ns();
        each_ns.push_back(static_cast<double>(now - before));
        before = now;
    } while (before < end_ns);
    return each_ns;
}

// A rank's part of an order in which all take part.
void take_part_in_crowd(Job& job, const Regions& memory, const Order& order) {
    sync_all();
    const std::uint64_t begin = os::now_ns() + crowd_warm_up_ns;
    const std::uint64_t end = begin + order.arguments[0];
    const auto what = static_cast<Crowd>(order.arguments[1]);
    const auto far = static_cast<int>(order.arguments[2]);
    const bool is_one = what == Crowd::target_computes;
    const bool is_active = what == Crowd::all_active ||
                           (is_one ? job.conducts() : job.node_of(job.rank()) == job.node_of(0));
    const bool computes = is_one ? job.rank() == far : !is_active;
    RankResult mine{};
    if (is_active) {
        copy_until(job, memory, is_one ? far : -1, begin);
        std::vector<double> each_ns = copy_until(job, memory, is_one ? far : -1, end);
        mine.values[0] = each_ns.size();
        const Summary summary = summarize(std::move(each_ns));
        mine.values[1] = static_cast<std::uint64_t>(std::llround(summary.median));
        mine.values[2] = static_cast<std::uint64_t>(std::llround(summary.p99));
        mine.values[3] = static_cast<std::uint64_t>(std::llround(summary.mean));
        mine.values[4] = static_cast<std::uint64_t>(std::llround(summary.min));
    }
    if (computes) compute_until(end);
    job.tell(mine);
}

class Net {
public:
    Net(Job& job, const Options& options, const Regions& memory, BareUdp& bare, Sites sites)
        : job_(job),
          memory_(memory),
          sites_(sites),
          rounds_(job, bare, sites.far, options),
          sizes_tries_(options.is_quick ? 1 : tries_max),
          has_sizes_(job.ranks() == 2) {}

    std::vector<Row> run() {
        const bool has_third = sites_.third >= 0;
        const std::vector<std::uint64_t> sizes =
            has_sizes_ ? net_sizes(memory_.bytes()) : std::vector<std::uint64_t>{};
        Progress progress("net", (has_third ? 12 : 8) + 2 * static_cast<int>(sizes.size()));
        std::vector<Row> rows;
        const auto add = [&](const std::function<Row()>& measure_one, int tries = tries_max) {
            rows.push_back(measure_credibly(measure_one, tries));
            progress.step(rows.back().name);
        };
        const acp_ga_t own_source = memory_.source_ga(0);
        const acp_ga_t own_target = memory_.target_ga(0);
        const acp_ga_t far_source = memory_.source_ga(sites_.far);
        const acp_ga_t far_target = memory_.target_ga(sites_.far);
        add([&] { return latency("put", far_target, own_source); });
        add([&] { return latency("get", own_target, far_source); });
        add([&] { return atomic(); });
        add([&] { return stream(); });
        add([&] { return pipelined(); });
        if (has_third) {
            const acp_ga_t third_target = memory_.target_ga(sites_.third);
            add([&] { return latency("third-party copy", third_target, far_source); });
            for (const std::uint64_t bytes :
                 {std::uint64_t{65536}, stream_bytes, 4 * stream_bytes}) {
                if (bytes > memory_.bytes()) continue;
                add([&] { return third_party(bytes, third_target, far_source); });
            }
        }
        add([&] { return crowd("all ranks copy 1 KiB", Crowd::all_active); });
        add([&] { return crowd("copy 1 KiB to a rank that computes", Crowd::target_computes); });
        add([&] { return crowd("node 0 copies 1 KiB, others compute", Crowd::others_compute); });
        for (const std::uint64_t bytes : sizes) {
            add([&] { return put_of_size(rounds_, far_target, own_source, bytes); }, sizes_tries_);
            add([&] { return stream_of_size(rounds_, far_target, own_source, bytes); },
                sizes_tries_);
        }
        return rows;
    }

private:
    [[nodiscard]] Row new_row(const std::string& name, std::uint64_t bytes) const {
        return rounds_.new_row("net", name, bytes);
    }

    Row latency(const std::string& name, acp_ga_t target, acp_ga_t source) {
        return rounds_.beside_round_trips(new_row(name, small_bytes), [=](std::uint64_t count) {
            copy_and_complete(target, source, small_bytes, count);
        });
    }

    Row atomic() {
        const acp_ga_t old = memory_.target_ga(0);
        const acp_ga_t word = memory_.target_ga(sites_.far) + small_bytes;
        return rounds_.beside_round_trips(new_row("add8", small_bytes), [=](std::uint64_t count) {
            for (std::uint64_t i = 0; i < count; ++i)
                acp_complete(acp_add8(old, word, 1, ACP_HANDLE_NULL));
        });
    }

    // Times a stream of long copies, many of them in flight, beside a stream of bare datagrams of
    // the size that the library uses.
    Row stream() {
        const std::uint64_t bytes = std::min<std::uint64_t>(stream_bytes, memory_.bytes());
        return rounds_.beside_stream(
            new_row("stream of puts", bytes),
            [&](std::uint64_t count) {
                copy_deep(memory_.target_ga(sites_.far), memory_.source_ga(0), bytes, count);
            },
            copies_under_way);
    }

    Row pipelined() {
        const acp_ga_t target = memory_.target_ga(sites_.far);
        const acp_ga_t source = memory_.source_ga(0);
        const Work work = [=](std::uint64_t count) {
            copy_streamed(target, source, small_bytes, count);
        };
        work(pipeline_depth);
        std::vector<double> each_ns;
        for (int i = 0; i < rounds_.slices(); ++i) {
            for (const double ns : rounds_.rounds(work, pipeline_depth)) each_ns.push_back(ns);
        }
        Row row = new_row("small puts, pipelined", small_bytes);
        row.iterations = each_ns.size() * pipeline_depth;
        row.latency_us = in_us(summarize(each_ns));
        row.extra.emplace_back("M/s", 1e3 / median_of(each_ns));
        return row;
    }

    // Beside a get and a put through memory of one's own.
    Row third_party(std::uint64_t bytes, acp_ga_t target, acp_ga_t source) {
        const acp_ga_t own = memory_.target_ga(0);
        Pair pair;
        pair.test = [=](std::uint64_t count) { copy_and_complete(target, source, bytes, count); };
        pair.yardstick = [=](std::uint64_t count) {
            for (std::uint64_t i = 0; i < count; ++i) {
                copy_and_complete(own, source, bytes, 1);
                copy_and_complete(target, own, bytes, 1);
            }
        };
        Plan plan;
        plan.slices = rounds_.slices();
        plan.slice_ns = 4 * rounds_.slice_ns();
        plan.round_ns = 1e6;
        plan.rounds_min = 60;
        Row row = new_row("third-party copy", bytes);
        const Comparison comparison = measure_and_compare(pair, plan);
        fill(row, comparison);
        row.yardstick = Yardstick{"get, then put", comparison.yardstick_ns.median / 1e3, "us"};
        row.ratio = comparison.ratio;
        return row;
    }

    Row crowd(const std::string& name, Crowd what) {
        Order order{order_crowd, 0, {}};
        order.arguments[0] = static_cast<std::uint64_t>(crowd_slices * rounds_.slice_ns());
        order.arguments[1] = static_cast<std::uint64_t>(what);
        order.arguments[2] = static_cast<std::uint64_t>(sites_.far);
        job_.give(order);
        take_part_in_crowd(job_, memory_, order);
        job_.join();
        std::vector<double> medians;
        std::vector<double> p99s;
        std::vector<double> means;
        std::vector<double> mins;
        std::vector<double> counts;
        Row row = new_row(name, crowd_bytes);
        for (int rank = 0; rank < job_.ranks(); ++rank) {
            const RankResult& its = job_.result(rank);
            if (its.values[0] == 0) continue;
            row.iterations += its.values[0];
            counts.push_back(static_cast<double>(its.values[0]));
            medians.push_back(static_cast<double>(its.values[1]) / 1e3);
            p99s.push_back(static_cast<double>(its.values[2]) / 1e3);
            means.push_back(static_cast<double>(its.values[3]) / 1e3);
            mins.push_back(static_cast<double>(its.values[4]) / 1e3);
        }
        row.latency_us.median = median_of(medians);
        row.latency_us.p99 = *std::max_element(p99s.begin(), p99s.end());
        row.latency_us.mean = median_of(means);
        row.latency_us.min = *std::min_element(mins.begin(), mins.end());
        const auto [slowest, fastest] = std::minmax_element(counts.begin(), counts.end());
        row.extra.emplace_back("slowest_of_fastest", *slowest / *fastest);
        return row;
    }

    Job& job_;
    const Regions& memory_;
    Sites sites_;
    NetRounds rounds_;
    int sizes_tries_;
    // only with two ranks: the latencies of single sizes do not depend on the number of ranks
    bool has_sizes_;
};

// All ranks of a job on one node end alike, in order; one of them says why.
void refuse_one_node(const Job& job, std::string_view usage) {
    if (!job.is_one_node()) return;
    if (job.rank() == 0) {
        std::fprintf(
            stderr, "acpbench: this measures between nodes and all ranks are on one; type:\n  %s\n",
            std::string(usage).c_str());
    }
    acp_finalize();
    end_process(2);
}

}  // namespace

int run_net(const Call& call) {
    Job job(call.argc, call.argv, 2, std::string(call.usage));
    const Regions memory(job, Regions::Kind::starter, 4 * stream_bytes);
    const Sites sites = sites_of(job, memory);
    refuse_one_node(job, call.usage);
    BareUdp bare(job);
    if (!job.conducts()) {
        job.follow([&](const Order& order) {
            if (NetRounds::answer_bare(job, bare, order)) return;
            if (order.what == order_crowd) take_part_in_crowd(job, memory, order);
        });
        return 0;
    }
    bare.connect(sites.far);
    return finish(call.options, Net(job, call.options, memory, bare, sites).run());
}

}  // namespace acp::bench
