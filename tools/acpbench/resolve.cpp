// SPDX-License-Identifier: BSD-3-Clause
// Experiment `resolve`: how long acp_query_address takes for an address of rank 1 while rank 1
// registers and unregisters other memory as fast as it can, beside the same while rank 1 sleeps.
// All ranks.
#include <vector>

#include "os/clock.hpp"
#include "os/cpu.hpp"

#include "experiment.hpp"
#include "job.hpp"
#include "opaque.hpp"
#include "output.hpp"
#include "slices.hpp"

namespace acp::bench {

namespace {

constexpr std::uint32_t order_register = 1;
constexpr std::uint64_t resolves_per_round = 20'000;

ACP_OPAQUE void resolve(acp_ga_t ga, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        const void* address = acp_query_address(ga);
        asm volatile("" ::"r"(address) : "memory");
    }
}

double resolve_ns(acp_ga_t ga) {
    const std::uint64_t start = os::now_ns();
    resolve(ga, resolves_per_round);
    return static_cast<double>(os::now_ns() - start) / resolves_per_round;
}

// Until rank 0 says stop (go != 0); counts its registrations in `word`.
void churn(Job& job) {
    static char memory[4][4096];
    Control& control = job.control();
    // relaxed, here and in rank 0's looks: a flag and a count, and nothing else is handed over by
    // them.
    for (std::uint64_t done = 1; control.go.load(std::memory_order_relaxed) == 0; ++done) {
        const acp_atkey_t key = acp_register_memory(memory[done % 4], sizeof memory[0], 0);
        if (key == ACP_ATKEY_NULL || acp_unregister_memory(key) != 0) {
            give_up(std::string("registering: ") + acp_error_message());
        }
        control.word.store(done, std::memory_order_relaxed);
    }
}

// Waits until rank 1 has counted beyond `old`; it may share this rank's core.
std::uint64_t wait_for_registration(const Job& job, std::uint64_t old) {
    for (;;) {
        const std::uint64_t count = job.control().word.load(std::memory_order_relaxed);
        if (count > old) return count;
        os::yield_cpu();
    }
}

// One slice: quiet rounds, then rounds while rank 1 registers.
Slice run_slice(Job& job, double duration_ns, double& registrations_per_ns) {
    const acp_ga_t ga = job.starter_ga(1);
    Slice slice;
    slice.test_operations = resolves_per_round;
    slice.round_trip_ns = job.round_trip_ns(50e3);
    const std::uint64_t quiet = os::now_ns();
    while (static_cast<double>(os::now_ns() - quiet) < duration_ns)
        slice.yardstick_ns.push_back(resolve_ns(ga));
    job.control().go.store(0, std::memory_order_relaxed);
    job.control().word.store(0, std::memory_order_relaxed);
    job.give({order_register, 0, {}});
    const std::uint64_t first = wait_for_registration(job, 0);
    const std::uint64_t busy = os::now_ns();
    while (static_cast<double>(os::now_ns() - busy) < duration_ns)
        slice.test_ns.push_back(resolve_ns(ga));
    const std::uint64_t last = wait_for_registration(job, first);
    const auto lasted = static_cast<double>(os::now_ns() - busy);
    job.control().go.store(1, std::memory_order_relaxed);
    job.join();
    registrations_per_ns = static_cast<double>(last - first) / lasted;
    return slice;
}

}  // namespace

int run_resolve(const Call& call) {
    Job job(call.argc, call.argv, 2, std::string(call.usage));
    job.need_one_node("resolve");
    if (!job.conducts()) {
        job.follow([&](const Order&) {
            if (job.rank() == 1) churn(job);
        });
        return 0;
    }
    const int slices = call.options.slices > 0 ? call.options.slices
                       : call.options.is_quick ? 2
                                               : 60;
    Progress progress("resolve", slices);
    std::vector<Slice> done;
    std::vector<double> rates;
    for (int i = 0; i < slices; ++i) {
        double rate = 0;
        done.push_back(run_slice(job, call.options.is_quick ? 2e6 : 10e6, rate));
        rates.push_back(rate * 1e3);
        progress.step("");
    }
    const Comparison comparison = compare(done, far_boundary_ns(job.round_trips()));
    Row row;
    row.experiment = "resolve";
    row.name = "while its owner registers";
    row.ranks = job.ranks();
    row.nodes = job.nodes();
    fill(row, comparison);
    fill_yardstick(row, comparison, "while its owner sleeps");
    row.extra = {{"ns", comparison.test_ns.median}, {"registrations_M/s", median_of(rates)}};
    return finish(call.options, {row});
}

}  // namespace acp::bench
