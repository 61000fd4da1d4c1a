// SPDX-License-Identifier: BSD-3-Clause
// Resources are numbered: the links, then injection and reception of each node, then its receive
// engines. One thread.
#include "exchange_study/fluid.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "exchange_study/route_finder.hpp"

namespace acp::exchange_study {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr double never_us = 1e300;
constexpr double bytes_nearly = 1e-3;  // fewer bytes than this count as none

std::uint32_t injection_of(const exchange::NetworkModel& model, exchange::ModelNode node) {
    return static_cast<std::uint32_t>(model.links.size()) + node;
}

std::uint32_t reception_of(const exchange::NetworkModel& model, exchange::ModelNode node) {
    return injection_of(model, model.nodes) + node;
}

std::uint32_t receive_engine_of(const exchange::NetworkModel& model,
                                exchange::ModelNode node,
                                std::uint32_t engine) {
    return reception_of(model, model.nodes) + node * model.node.engines + engine;
}

std::vector<double> capacities_of(const exchange::NetworkModel& model) {
    std::vector<double> capacities;
    for (const exchange::ModelLink& link : model.links) capacities.push_back(link.rate);
    capacities.insert(capacities.end(), model.nodes, model.node.injection_rate);
    capacities.insert(capacities.end(), model.nodes, model.node.reception_rate);
    capacities.insert(capacities.end(), std::size_t{model.nodes} * model.node.engines,
                      model.node.engine_rate);
    return capacities;
}

// The resources that a command uses.
Result<std::vector<std::uint32_t>> path_of(const exchange::NetworkModel& model,
                                           RouteFinder& finder,
                                           exchange::ModelNode source,
                                           const FluidCommand& command) {
    auto path = finder.find(source, command.target);
    if (!path.is_ok()) return path;
    path.value().push_back(injection_of(model, source));
    path.value().push_back(reception_of(model, command.target));
    if (command.receive_engine == any_receive_engine) return path;
    if (command.receive_engine >= model.node.engines) {
        return Status(Code::argument,
                      "there is no receive engine " + std::to_string(command.receive_engine));
    }
    path.value().push_back(receive_engine_of(model, command.target, command.receive_engine));
    return path;
}

}  // namespace

FluidSimulation::FluidSimulation(const exchange::NetworkModel& model)
    : model_(model), fair_(capacities_of(model), model.links.size(), model.node.link_loss) {}

Result<FluidTimes> FluidSimulation::run(const std::vector<FluidQueue>& queues) {
    Status status = find_paths(queues);
    if (!status.is_ok()) return status;
    FluidTimes times;
    times.node_end_us.assign(model_.nodes, 0);
    running_.clear();
    for (std::size_t i = 0; i < queues.size(); ++i) {
        times.command_end_us.emplace_back(queues[i].commands.size());
        const double stair = model_.node.stair_us * queues[i].engine;
        running_.push_back({i, 0, 0, false, queues[i].begin_us + stair});
    }
    for (double now = 0;;) {
        double next = never_us;
        begin_commands(queues, now, next);
        if (flows_.empty()) {
            if (next >= never_us) break;
            now = next;
            continue;
        }
        fair_.share(flows_, rates_);
        double elapsed = next - now;
        for (std::size_t i = 0; i < flows_.size(); ++i)
            elapsed = std::min(elapsed, running_[flow_owner_[i]].left / rates_[i]);
        now += elapsed;
        move(queues, now, elapsed, times);
        times.transfer_us = now;
    }
    std::vector<std::size_t> commands(model_.nodes);
    for (const FluidQueue& queue : queues) commands[queue.node] += queue.commands.size();
    const auto most = static_cast<double>(*std::max_element(commands.begin(), commands.end()));
    times.total_us = times.transfer_us + model_.node.start_us + model_.node.command_us * most;
    return times;
}

Status FluidSimulation::find_paths(const std::vector<FluidQueue>& queues) {
    paths_.assign(queues.size(), {});
    RouteFinder finder(model_);
    std::set<std::pair<exchange::ModelNode, std::uint32_t>> engines;
    for (std::size_t i = 0; i < queues.size(); ++i) {
        const FluidQueue& queue = queues[i];
        if (queue.node >= model_.nodes || queue.engine >= model_.node.engines ||
            !engines.emplace(queue.node, queue.engine).second) {
            return {Code::argument, "queue " + std::to_string(i) + " is for engine " +
                                        std::to_string(queue.engine) + " of node " +
                                        std::to_string(queue.node) +
                                        ", which is not there or has a queue already"};
        }
        for (const FluidCommand& command : queue.commands) {
            auto path = path_of(model_, finder, queue.node, command);
            if (!path.is_ok()) return std::move(path).failure();
            paths_[i].push_back(std::move(path).value());
        }
    }
    return {};
}

// Starts the commands that can start, and collects the flows.
//   next  set to the next time at which a queue becomes ready
void FluidSimulation::begin_commands(const std::vector<FluidQueue>& queues,
                                     double now,
                                     double& next) {
    flows_.clear();
    flow_owner_.clear();
    for (Running& one : running_) {
        const auto& commands = queues[one.queue].commands;
        if (one.place == commands.size()) continue;
        if (!one.is_active) {
            if (one.ready_us > now + 1e-9) {
                next = std::min(next, one.ready_us);
                continue;
            }
            one.is_active = true;
            one.left = std::max(commands[one.place].bytes, 0.0);
        }
        flows_.push_back({paths_[one.queue][one.place], model_.node.engine_rate});
        flow_owner_.push_back(static_cast<std::size_t>(&one - running_.data()));
    }
}

void FluidSimulation::move(const std::vector<FluidQueue>& queues,
                           double now,
                           double elapsed,
                           FluidTimes& times) {
    for (std::size_t i = 0; i < flows_.size(); ++i) {
        Running& one = running_[flow_owner_[i]];
        one.left -= rates_[i] * elapsed;
        if (one.left > bytes_nearly) continue;
        times.command_end_us[one.queue][one.place] = now;
        times.node_end_us[queues[one.queue].node] = now;
        one.is_active = false;
        one.ready_us = now;
        ++one.place;
    }
}

}  // namespace acp::exchange_study
