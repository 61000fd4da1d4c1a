// SPDX-License-Identifier: BSD-3-Clause
// The fluid simulator of a whole network: every engine of every node sends its queue in order, one
// command at a time, and running commands share links, injection, reception and receive engines
// max-min fairly. Virtual time; no packets, no latency. One thread per object.
// Source: paper 003's network as calibrated in docs/guide/exchange.md. Tests:
// tests/unit/exchange_study/fluid_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "exchange/network_model.hpp"

#include "exchange_study/max_min.hpp"

namespace acp::exchange_study {

inline constexpr std::uint32_t any_receive_engine = 0xFFFF'FFFFU;

struct FluidCommand {
    exchange::ModelNode target = 0;
    // An engine of the target; any_receive_engine: no receive engine limits the command.
    std::uint32_t receive_engine = any_receive_engine;
    double bytes = 0;
};

// The queue of one engine.
struct FluidQueue {
    exchange::ModelNode node = 0;
    std::uint32_t engine = 0;
    double begin_us = 0;  // the earliest start; the engine's stair is added
    std::vector<FluidCommand> commands;
};

struct FluidTimes {
    double transfer_us = 0;  // when the last byte arrived
    // transfer_us, plus start_us, plus command_us for each command of the node with the most.
    double total_us = 0;
    std::vector<double> node_end_us;                  // when the last command of each node ended
    std::vector<std::vector<double>> command_end_us;  // indexed by queue and place
};

class FluidSimulation {
public:
    //   model  passed its check(); must outlive the simulation
    explicit FluidSimulation(const exchange::NetworkModel& model);

    // Simulates queues, at most one per engine. Commands of 0 bytes end when they start. Errors:
    // argument (no such node or engine, no route), limit.
    [[nodiscard]] base::Result<FluidTimes> run(const std::vector<FluidQueue>& queues);

private:
    struct Running {
        std::size_t queue = 0;
        std::size_t place = 0;
        double left = 0;
        bool is_active = false;
        double ready_us = 0;
    };

    [[nodiscard]] base::Status find_paths(const std::vector<FluidQueue>& queues);
    void begin_commands(const std::vector<FluidQueue>& queues, double now, double& next);
    void move(const std::vector<FluidQueue>& queues, double now, double elapsed, FluidTimes& times);

    const exchange::NetworkModel& model_;
    MaxMinFair fair_;
    // resources, indexed by queue and place
    std::vector<std::vector<std::vector<std::uint32_t>>> paths_;
    std::vector<Running> running_;
    std::vector<SharedPath> flows_;
    std::vector<std::size_t> flow_owner_;  // index in running_
    std::vector<double> rates_;
};

}  // namespace acp::exchange_study
