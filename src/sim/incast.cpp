// SPDX-License-Identifier: BSD-3-Clause
// The incast experiment: senders 1 .. n, receiver 0, a switch with one port per node. One thread.
#include "sim/incast.hpp"

#include <utility>

namespace acp::sim {

namespace {

constexpr std::uint32_t copies_under_way = 16;  // copies that each sender has in progress
constexpr std::uint64_t ns_per_kib = 819;       // 10 Gb/s

Plan make_incast_plan(const IncastOptions& options) {
    Plan plan;
    plan.seed = options.seed;
    plan.nodes = options.senders + 1;
    plan.silent_nodes = options.silent_nodes;
    for (NodeId node = 0; node <= plan.nodes; ++node) plan.first_process.push_back(node);
    plan.manners.assign(plan.nodes, MemoryManner::prompt);
    plan.send_buffers = 2048;
    plan.receive_bytes = options.receive_bytes;
    plan.datagram_bytes_max = options.datagram_bytes_max;
    plan.commands_max = 256;
    plan.executions_max = 256;
    plan.link.delay_ns = 10 * us;
    plan.link.ns_per_kib = ns_per_kib;
    plan.link.queue_bytes = 4U << 20;
    plan.copy_bytes_max = options.copy_bytes;
    // More copies than the link could carry if one sender had it alone, so that no sender runs out
    // of them.
    plan.steps = static_cast<std::uint32_t>(
        (options.warm_up_ns + options.duration_ns) / (options.copy_bytes * ns_per_kib / 1024) + 64);
    plan.gap_ns_max = 0;
    plan.faults_end = 0;
    const Time end = options.pause_ns == 0 ? 0 : options.warm_up_ns + options.duration_ns;
    for (Time from = ms; from < end; from += 3 * options.pause_ns) {
        plan.faults.push_back({FaultKind::pause, 0, 0, 0, from, from + options.pause_ns});
    }
    return plan;
}

Workplan make_incast_work(const Plan& plan) {
    Workplan work;
    const std::uint64_t block = plan.copy_bytes_max;
    work.memory_bytes.assign(plan.nodes, block * copies_under_way);
    work.memory_bytes[0] = block * copies_under_way * plan.nodes;
    work.programs.resize(plan.nodes);
    for (std::uint32_t sender = 1; sender < plan.nodes; ++sender) {
        for (std::uint32_t i = 0; i < plan.steps; ++i) {
            ProgramStep step;
            const std::uint64_t slot = i % copies_under_way;
            step.source = {sender, slot * block, block};
            step.target = {0, (std::uint64_t{sender} * copies_under_way + slot) * block, block};
            step.command.bytes = block;
            if (i >= copies_under_way) step.after = i - copies_under_way;
            work.programs[sender].push_back(step);
        }
    }
    return work;
}

double jain(const std::vector<std::uint64_t>& shares) {
    double sum = 0;
    double squares = 0;
    for (const std::uint64_t share : shares) {
        const auto value = static_cast<double>(share);
        sum += value;
        squares += value * value;
    }
    return squares == 0 ? 0 : sum * sum / (static_cast<double>(shares.size()) * squares);
}

}  // namespace

IncastResult run_incast(const IncastOptions& options) {
    const Plan plan = make_incast_plan(options);
    World world(plan, make_incast_work(plan), {});
    world.network().use_ports();
    IncastResult result;
    std::vector<std::uint64_t> before(options.senders);
    NetworkCounts warm;
    const auto run_to = [&world](Time until) {
        while (world.now() < until && world.advance()) {
        }
    };
    if (world.begin()) {
        run_to(options.warm_up_ns);
        warm = world.network().counts();
        for (NodeId i = 0; i < options.senders; ++i) before[i] = world.referee().bytes_of(i + 1);
        run_to(options.warm_up_ns + options.duration_ns);
    }
    const NetworkCounts& counts = world.network().counts();
    std::uint64_t total = 0;
    for (NodeId i = 0; i < options.senders; ++i) {
        result.bytes.push_back(world.referee().bytes_of(i + 1) - before[i]);
        total += result.bytes.back();
    }
    result.violation = world.verdict().violation;
    result.socket_full_warm_up = warm.socket_full;
    result.socket_full = counts.socket_full - warm.socket_full;
    result.queue_full = counts.queue_full - warm.queue_full;
    result.fairness = jain(result.bytes);
    result.share_of_link = static_cast<double>(total) * static_cast<double>(ns_per_kib) / 1024 /
                           static_cast<double>(options.duration_ns);
    return result;
}

}  // namespace acp::sim
