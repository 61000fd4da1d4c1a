// SPDX-License-Identifier: BSD-3-Clause
// Experiment `mailbox`: commands that the owner of registered memory runs. One rank alone against
// an idle owner, beside a cache-line round trip; all ranks at once; and one rank while all owners
// compute. Needs ACP_INTRANODE=mailbox. All ranks.
#include "os/clock.hpp"
#include "os/cpu.hpp"

#include "copy.hpp"
#include "experiment.hpp"
#include "output.hpp"
#include "slices.hpp"

namespace acp::bench {

namespace {

constexpr std::uint32_t order_all_active = 1;
constexpr std::uint32_t order_compute = 2;
constexpr std::uint64_t command_bytes = 1024;

// Copies to each other rank's registered memory in turn until the clock says so, one at least;
// commands done.
std::uint64_t send_until(const Job& job, const Regions& memory, std::uint64_t end_ns) {
    std::uint64_t done = 0;
    do {
        const int step = 1 + static_cast<int>(done % static_cast<std::uint64_t>(job.ranks() - 1));
        const int target = (job.rank() + step) % job.ranks();
        copy_and_complete(memory.target_ga(target), memory.source_ga(job.rank()), command_bytes, 1);
        ++done;
    } while (os::now_ns() < end_ns);
    return done;
}

// A rank's part of an order: send as all others do, or compute without a call.
void take_part(Job& job, const Regions& memory, const Order& order) {
    sync_all();
    const std::uint64_t start = os::now_ns();
    const std::uint64_t end = start + order.arguments[0];
    RankResult mine{};
    if (order.what == order_all_active || job.conducts()) {
        mine.values[0] = send_until(job, memory, end);
    } else {
        while (os::now_ns() < end) {
            for (int i = 0; i < 1000; ++i) asm volatile("");
        }
    }
    mine.values[1] = os::now_ns() - start;
    job.tell(mine);
}

Row of_slices(const Job& job,
              const std::string& name,
              std::uint64_t bytes,
              const Comparison& comparison) {
    Row row;
    row.experiment = "mailbox";
    row.name = name;
    row.mode = mode_by_environment();
    row.ranks = job.ranks();
    row.nodes = job.nodes();
    row.bytes = bytes;
    fill(row, comparison);
    row.extra.emplace_back("mean_us", comparison.test_ns.mean / 1e3);
    fill_round_trip(row, comparison);
    return row;
}

Row alone(Job& job, const Regions& memory, int slices) {
    Pair pair;
    pair.test = [&](std::uint64_t count) {
        copy_and_complete(memory.target_ga(1), memory.source_ga(0), small_bytes, count);
    };
    Plan plan;
    plan.slices = slices;
    plan.round_ns = 100e3;
    return of_slices(job, "own cores, one active", small_bytes,
                     measure_and_compare(job, pair, plan));
}

// Mean time per command over all senders, one value per slice.
Row crowd(
    Job& job, const Regions& memory, std::uint32_t what, const std::string& name, int slices) {
    std::vector<Slice> done;
    for (int i = 0; i < slices; ++i) {
        Slice slice;
        slice.round_trip_ns = job.round_trip_ns(20e3);
        Order order{what, 0, {}};
        order.arguments[0] = 40'000'000;
        job.give(order);
        take_part(job, memory, order);
        job.join();
        double commands = 0;
        double busy_ns = 0;
        for (int rank = 0; rank < job.ranks(); ++rank) {
            const RankResult& its = job.result(rank);
            if (its.values[0] == 0) continue;
            commands += static_cast<double>(its.values[0]);
            busy_ns += static_cast<double>(its.values[1]);
        }
        slice.test_operations = static_cast<std::uint64_t>(commands);
        slice.test_ns.push_back(busy_ns / commands);
        done.push_back(std::move(slice));
    }
    return of_slices(job, name, command_bytes, compare(done, far_boundary_ns(job.round_trips())));
}

}  // namespace

int run_mailbox(const Call& call) {
    Job job(call.argc, call.argv, 2, std::string(call.usage));
    const Regions memory(job, Regions::Kind::registered, 4096);
    if (!job.conducts()) {
        job.follow([&](const Order& order) { take_part(job, memory, order); });
        return 0;
    }
    const std::string path = acp_path(memory.target_ga(1), memory.source_ga(0)).name;
    if (path != "mailbox" && path != "udp") {
        give_up("copies to registered memory take the path \"" + path + "\" here; type:\n  " +
                std::string(call.usage));
    }
    const int slices = call.options.slices > 0 ? call.options.slices
                       : call.options.is_quick ? 2
                                               : 30;
    Progress progress("mailbox", 3);
    std::vector<Row> rows;
    rows.push_back(alone(job, memory, slices));
    progress.step(rows.back().name);
    rows.push_back(crowd(job, memory, order_all_active, "all ranks active", slices));
    progress.step(rows.back().name);
    rows.push_back(crowd(job, memory, order_compute, "owners computing", slices));
    progress.step(rows.back().name);
    return finish(call.options, rows);
}

}  // namespace acp::bench
