// SPDX-License-Identifier: BSD-3-Clause
// The chain experiment: process 0 copies from each node to the next, and notes when each chain has
// ended. One thread.
#include "sim/chain.hpp"

#include <algorithm>

namespace acp::sim {

namespace {

constexpr std::uint64_t copy_bytes = 4096;
constexpr Time time_max = 10'000 * s;

std::uint32_t parts_of_million(double share) {
    return static_cast<std::uint32_t>(share * million);
}

Plan make_chain_plan(const ChainOptions& options) {
    Plan plan;
    plan.seed = options.seed;
    plan.nodes = options.nodes;
    for (NodeId node = 0; node <= plan.nodes; ++node) plan.first_process.push_back(node);
    plan.manners.assign(plan.nodes, MemoryManner::prompt);
    plan.link.delay_ns = 20 * us;
    // Each datagram in a burst ends it with probability `leave`. Bursts begin as often as gives the
    // share of loss asked for.
    const double leave = 1.0 / options.burst;
    plan.link.burst_leave_ppm = parts_of_million(leave);
    plan.link.burst_enter_ppm =
        parts_of_million(std::min(1.0, options.loss * leave / (1 - options.loss)));
    plan.link.duplicate_ppm = parts_of_million(options.doubled);
    plan.link.duplicate_late_ns = 100 * us;
    plan.link.reorder_ppm = parts_of_million(options.overtaken);
    plan.link.reorder_span = options.overtaken_by;
    plan.steps = options.chains * options.copies;
    plan.copy_bytes_max = copy_bytes;
    plan.gap_ns_max = 0;
    plan.faults_end = time_max;
    return plan;
}

Workplan make_chain_work(const Plan& plan) {
    Workplan work;
    work.memory_bytes.assign(plan.nodes, 2 * copy_bytes);
    work.programs.resize(plan.nodes);
    for (std::uint32_t i = 0; i < plan.steps; ++i) {
        ProgramStep step;
        step.source = {i % plan.nodes, 0, copy_bytes};
        step.target = {(i + 1) % plan.nodes, copy_bytes, copy_bytes};
        step.command.bytes = copy_bytes;
        if (i != 0) step.after = i - 1;
        work.programs[0].push_back(step);
    }
    return work;
}

}  // namespace

ChainResult run_chains(const ChainOptions& options) {
    const Plan plan = make_chain_plan(options);
    WorldOptions looks;
    looks.story = options.story;
    World world(plan, make_chain_work(plan), looks);
    ChainResult result;
    Time began = 0;
    if (world.begin()) {
        while (result.took.size() < options.chains && world.now() < time_max && world.advance()) {
            const std::uint64_t ended = world.referee().bytes_of(0) / (copy_bytes * options.copies);
            if (ended <= result.took.size()) continue;
            result.took.push_back(world.now() - began);
            began = world.now();
        }
    }
    result.violation = world.verdict().violation;
    if (result.violation.empty() && result.took.size() < options.chains) {
        result.violation = std::to_string(result.took.size()) + " of " +
                           std::to_string(options.chains) + " chains ended";
    }
    // The first chain also pays for the handshakes.
    if (!result.took.empty()) result.took.erase(result.took.begin());
    std::sort(result.took.begin(), result.took.end());
    return result;
}

}  // namespace acp::sim
