// SPDX-License-Identifier: BSD-3-Clause
// Experiment `collective`: the collective calls of the team of all ranks, by size, as the OSU
// benchmarks measure those of MPI. A call that synchronizes all members is repeated without a
// pause. Before each other call the members pass a barrier. The barrier is timed only if ranks
// outnumber CPUs: then the scheduler decides whether a member waits in the barrier or in the call.
// A time is the mean over all members. Beside them stand a cache line's round trip, acp_sync, or
// memcpy of as many bytes. All ranks.
#include <algorithm>
#include <array>
#include <string>

#include "os/clock.hpp"
#include "os/cpu.hpp"

#include <acp.h>

#include "copy.hpp"
#include "experiment.hpp"
#include "output.hpp"
#include "slices.hpp"

namespace acp::bench {

namespace {

constexpr std::uint32_t order_calls = 1;
// the most bytes that one member sends to one other member
constexpr std::uint64_t call_bytes_most = 16 << 20;
constexpr std::uint64_t buffer_bytes_most = 256 << 20;
constexpr std::uint64_t long_bytes = 8 << 10;  // from here on a call is compared with memcpy
constexpr std::array<std::uint64_t, 5> call_sizes{8, 1 << 10, 32 << 10, 256 << 10, 1 << 20};

struct Buffers {
    char* send = nullptr;
    char* recv = nullptr;
    std::uint64_t bytes = 0;  // the bytes that one member contributes
};

struct CollectiveCall {
    const char* name = nullptr;
    int (*make)(acp_team_t team, const Buffers& buffers) = nullptr;
    bool has_size = true;
    bool meets = false;       // no member leaves before all have come
    bool is_for_all = false;  // takes as many bytes for each member
};

std::size_t words_in(const Buffers& buffers) {
    return buffers.bytes / sizeof(std::int64_t);
}

constexpr CollectiveCall collective_calls[] = {
    {"acp_sync", [](acp_team_t, const Buffers&) { return acp_sync(); }, false, true, false},
    {"sync", [](acp_team_t team, const Buffers&) { return acp_sync_team(team); }, false, true,
     false},
    {"broadcast", [](acp_team_t team,
                     const Buffers& b) { return acp_broadcast_team(team, b.send, b.bytes, 0); }},
    {"reduce",
     [](acp_team_t team, const Buffers& b) {
         return acp_reduce_team(team, b.send, b.recv, words_in(b), ACP_INT64, ACP_SUM, 0);
     }},
    {"allreduce",
     [](acp_team_t team, const Buffers& b) {
         return acp_allreduce_team(team, b.send, b.recv, words_in(b), ACP_INT64, ACP_SUM);
     },
     true, true, false},
    {"gather",
     [](acp_team_t team, const Buffers& b) {
         return acp_gather_team(team, b.send, b.bytes, b.recv, 0);
     },
     true, false, true},
    {"allgather",
     [](acp_team_t team, const Buffers& b) {
         return acp_allgather_team(team, b.send, b.bytes, b.recv);
     },
     true, true, true},
    {"scatter",
     [](acp_team_t team, const Buffers& b) {
         return acp_scatter_team(team, b.send, b.bytes, b.recv, 0);
     },
     true, false, true},
    {"alltoall",
     [](acp_team_t team, const Buffers& b) {
         return acp_alltoall_team(team, b.send, b.bytes, b.recv);
     },
     true, true, true},
    {"scan",
     [](acp_team_t team, const Buffers& b) {
         return acp_scan_team(team, b.send, b.recv, words_in(b), ACP_INT64, ACP_SUM);
     }},
};

// Nanoseconds of one call on this rank.   is_crowded  the meeting before a call is timed too
double time_calls(const CollectiveCall& call,
                  const Buffers& buffers,
                  std::uint64_t count,
                  bool is_crowded) {
    const acp_team_t team = acp_world_team();
    const auto make = [&] {
        if (call.make(team, buffers) != 0) give_up(acp_error_message());
    };
    const auto each = static_cast<double>(count);
    if (acp_sync_team(team) != 0) give_up(acp_error_message());
    if (call.meets) {
        const std::uint64_t start = os::now_ns();
        for (std::uint64_t i = 0; i < count; ++i) make();
        return static_cast<double>(os::now_ns() - start) / each;
    }
    if (is_crowded) {
        const std::uint64_t start = os::now_ns();
        for (std::uint64_t i = 0; i < count; ++i) {
            if (acp_sync_team(team) != 0) give_up(acp_error_message());
            make();
        }
        return static_cast<double>(os::now_ns() - start) / each;
    }
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        if (acp_sync_team(team) != 0) give_up(acp_error_message());
        const std::uint64_t start = os::now_ns();
        make();
        sum += os::now_ns() - start;
    }
    return static_cast<double>(sum) / each;
}

class Collectives {
public:
    Collectives(Job& job, const Options& options) : job_(job), options_(options) {}

    std::vector<Row> run() {
        std::vector<std::uint64_t> sizes = options_.sizes;
        if (sizes.empty()) sizes.assign(call_sizes.begin(), call_sizes.end());
        if (sizes.front() < sizeof(std::int64_t) || sizes.back() > call_bytes_most)
            give_up("collective calls are measured with 8 B to 16 MiB");
        std::vector<Row> rows;
        Progress progress("collective", static_cast<int>(std::size(collective_calls)));
        for (std::size_t i = 0; i < std::size(collective_calls); ++i) {
            const CollectiveCall& call = collective_calls[i];
            for (const std::uint64_t bytes : sizes) {
                if (!call.has_size && bytes != sizes.front()) break;
                if (bytes_of_buffers(call, bytes) > buffer_bytes_most) break;
                rows.push_back(measure_call(i, call.has_size ? bytes : 0));
            }
            progress.step(call.name);
        }
        return rows;
    }

    // Any other rank: its part of a case; rank 0: too, with its time.
    double play(std::uint64_t call_number, std::uint64_t bytes, std::uint64_t count) {
        const CollectiveCall& call = collective_calls[call_number];
        const std::uint64_t room = bytes_of_buffers(call, bytes);
        if (send_.size() < room) {
            send_.assign(room, 1);
            recv_.assign(room, 2);
        }
        return time_calls(call, {send_.data(), recv_.data(), bytes}, count, is_crowded());
    }

private:
    [[nodiscard]] std::uint64_t bytes_of_buffers(const CollectiveCall& call,
                                                 std::uint64_t bytes) const {
        return call.is_for_all ? bytes * static_cast<std::uint64_t>(job_.ranks()) : bytes;
    }

    // What all ranks measured in one slice.
    struct SliceTimes {
        double mean_ns = 0;
        double slowest_ns = 0;
    };

    SliceTimes run_slice(std::uint64_t call_number, std::uint64_t bytes, std::uint64_t count) {
        job_.give({order_calls, 0, {call_number, bytes, count}});
        const double own_ns = play(call_number, bytes, count);
        job_.join();
        SliceTimes times{own_ns, own_ns};
        for (int rank = 1; rank < job_.ranks(); ++rank) {
            const auto its_ns = static_cast<double>(job_.result(rank).values[0]);
            times.mean_ns += its_ns;
            times.slowest_ns = std::max(times.slowest_ns, its_ns);
        }
        times.mean_ns /= job_.ranks();
        return times;
    }

    Row measure_call(std::uint64_t call_number, std::uint64_t bytes) {
        const double slice_ns = options_.is_quick ? 1e6 : 10e6;
        std::uint64_t count = 1;
        double first_ns = run_slice(call_number, bytes, count).mean_ns;  // memory is touched
        for (; count < 1000; count *= 4) {
            first_ns = run_slice(call_number, bytes, count).mean_ns;
            if (first_ns * static_cast<double>(count) > slice_ns / 4) break;
        }
        count = std::max<std::uint64_t>(4, static_cast<std::uint64_t>(slice_ns / first_ns));
        const int slices = options_.slices > 0 ? options_.slices : options_.is_quick ? 3 : 11;
        std::vector<double> means;
        std::vector<double> slowest;
        std::vector<double> ratios;
        std::vector<double> yardsticks;
        for (int i = 0; i < slices; ++i) {
            yardsticks.push_back(yardstick_ns(bytes));
            const SliceTimes times = run_slice(call_number, bytes, count);
            means.push_back(times.mean_ns);
            slowest.push_back(times.slowest_ns);
            ratios.push_back(times.mean_ns / yardsticks.back());
        }
        Comparison comparison;
        comparison.distance = classify(job_.is_one_node() ? job_.round_trip_ns(20e3) : 0,
                                       far_boundary_ns(job_.round_trips()));
        comparison.ratio = median_of(std::move(ratios));
        comparison.operations = count * static_cast<std::uint64_t>(slices);
        comparison.test_ns = summarize(std::move(means));
        comparison.yardstick_ns = summarize(std::move(yardsticks));
        Row row;
        row.experiment = "collective";
        const CollectiveCall& call = collective_calls[call_number];
        row.name = is_crowded() && !call.meets ? std::string("sync+") + call.name : call.name;
        row.mode = mode_by_environment();
        row.ranks = job_.ranks();
        row.nodes = job_.nodes();
        row.bytes = bytes;
        fill(row, comparison);
        row.ratio = comparison.ratio;
        row.yardstick =
            Yardstick{yardstick_name(bytes), comparison.yardstick_ns.median / 1e3, "us"};
        row.extra.emplace_back("slowest_rank_us", median_of(std::move(slowest)) / 1e3);
        return row;
    }

    [[nodiscard]] bool is_crowded() const {
        return job_.is_one_node() && job_.ranks() > os::usable_cpus();
    }

    [[nodiscard]] bool is_pair_on_node() const { return job_.is_one_node() && job_.ranks() == 2; }

    [[nodiscard]] std::string yardstick_name(std::uint64_t bytes) const {
        if (bytes >= long_bytes) return "memcpy";
        return is_pair_on_node() ? "cache-line round trip" : "acp_sync";
    }

    double yardstick_ns(std::uint64_t bytes) {
        if (bytes >= long_bytes) {
            yard_.resize(2 * call_bytes_most, 3);
            constexpr int copies = 8;
            const std::uint64_t start = os::now_ns();
            for (int i = 0; i < copies; ++i)
                copy_by_memcpy(yard_.data(), yard_.data() + call_bytes_most, bytes, 1);
            return static_cast<double>(os::now_ns() - start) / copies;
        }
        if (is_pair_on_node()) return job_.round_trip_ns(50e3);
        constexpr std::uint64_t meetings = 20;
        return run_slice(0, 0, meetings).mean_ns;
    }

    Job& job_;
    const Options& options_;
    std::vector<char> send_;
    std::vector<char> recv_;
    std::vector<char> yard_;
};

}  // namespace

int run_collective(const Call& call) {
    Job job(call.argc, call.argv, 2, std::string(call.usage));
    Collectives collectives(job, call.options);
    if (job.conducts()) return finish(call.options, collectives.run());
    job.follow([&](const Order& order) {
        if (order.what != order_calls) return;
        RankResult mine{};
        mine.values[0] = static_cast<std::uint64_t>(
            collectives.play(order.arguments[0], order.arguments[1], order.arguments[2]));
        job.tell(mine);
    });
    return 0;
}

}  // namespace acp::bench
