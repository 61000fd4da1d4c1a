// SPDX-License-Identifier: BSD-3-Clause
// Experiment `idle`: after some traffic all ranks sleep. The CPU time that ranks, agent and acprun
// use during that sleep is the cost of the library while no rank calls it. All ranks.
#include "os/clock.hpp"

#include "child.hpp"
#include "copy.hpp"
#include "experiment.hpp"
#include "output.hpp"
#include "slices.hpp"
#include "system.hpp"

namespace acp::bench {

namespace {

constexpr std::uint64_t traffic_copies = 2000;
constexpr std::uint64_t traffic_bytes = 1024;
constexpr std::uint64_t settle_ns = 200'000'000;  // threads that have just worked go to sleep

// Copies to the next rank in both kinds of memory, so that whatever starts on demand has started.
void make_traffic(const Job& job, const Regions& starter, const Regions& registered) {
    const int next = (job.rank() + 1) % job.ranks();
    for (const Regions* regions : {&starter, &registered}) {
        copy_and_complete(regions->target_ga(next), regions->source_ga(job.rank()), traffic_bytes,
                          traffic_copies);
    }
    sync_all();
}

}  // namespace

int run_idle(const Call& call) {
    Job job(call.argc, call.argv, 4, std::string(call.usage));
    const Regions starter(job, Regions::Kind::starter, traffic_bytes);
    const Regions registered(job, Regions::Kind::registered, traffic_bytes);
    make_traffic(job, starter, registered);
    sleep_ns(settle_ns);
    const int agent = parent_of(own_process_id());
    const int launcher = parent_of(agent);
    const std::uint64_t seconds =
        call.options.is_quick ? 1 : static_cast<std::uint64_t>(call.options.seconds);
    const std::uint64_t agent_before = cpu_ns(agent);
    const std::uint64_t launcher_before = cpu_ns(launcher);
    const std::uint64_t own_before = own_cpu_ns();
    const std::uint64_t start = os::now_ns();
    sleep_ns(seconds * 1'000'000'000);
    const std::uint64_t own = own_cpu_ns() - own_before;
    const std::uint64_t slept = os::now_ns() - start;
    RankResult mine{};
    mine.values[0] = own;
    mine.values[1] = cpu_ns(agent) - agent_before;
    mine.values[2] = cpu_ns(launcher) - launcher_before;
    job.tell(mine);
    sync_all();
    if (!job.conducts()) {
        job.follow([](const Order&) {});
        return 0;
    }
    double ranks_ns = 0;
    for (int rank = 0; rank < job.ranks(); ++rank) {
        ranks_ns += static_cast<double>(job.result(rank).values[0]);
    }
    const double agent_ns =
        static_cast<double>(mine.values[1]) + static_cast<double>(mine.values[2]);
    const auto percent = [slept](double ns) { return 100 * ns / static_cast<double>(slept); };
    Row row;
    row.experiment = "idle";
    row.name = "all ranks sleep";
    row.mode = mode_by_environment();
    row.ranks = job.ranks();
    row.nodes = job.nodes();
    row.iterations = 1;
    row.yardstick = Yardstick{"one CPU", static_cast<double>(slept) / 1e3, "us"};
    row.ratio = (ranks_ns + agent_ns) / static_cast<double>(slept);
    row.extra = {{"percent_of_a_CPU", percent(ranks_ns + agent_ns)},
                 {"ranks_percent", percent(ranks_ns)},
                 {"agent_and_launcher_percent", percent(agent_ns)}};
    return finish(call.options, {row});
}

}  // namespace acp::bench
