// SPDX-License-Identifier: BSD-3-Clause
// The fluid simulator of a whole network: every engine of every node works its queue off in order, one command at a time, and the
// commands that run at once share links, injection, reception and receive engines max-min fairly. Virtual time; no packets, no
// latency. One thread per object.
// Source: paper 003's network as calibrated in docs/guide/exchange.md. Tests: tests/unit/exchange/fluid_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "exchange/max_min.hpp"
#include "exchange/network_model.hpp"

namespace acp::exchange {

inline constexpr std::uint32_t any_receive_engine = 0xFFFF'FFFFU;

struct FluidCommand {
    ModelNode target = 0;
    std::uint32_t receive_engine =
        any_receive_engine;  // of the target; any: no engine is the limit there
    double bytes = 0;
};

// The queue of one engine.
struct FluidQueue {
    ModelNode node = 0;
    std::uint32_t engine = 0;
    double begin_us = 0;  // not before; the engine's stair is added
    std::vector<FluidCommand> commands;
};

struct FluidTimes {
    double transfer_us = 0;  // until the last byte arrived
    double total_us =
        0;  // and start_us, and command_us for each command of the node that has most of them
    std::vector<double> node_end_us;                  // when the last command of a node ended
    std::vector<std::vector<double>> command_end_us;  // by queue and place
};

class FluidSimulation {
public:
    //   model  passed its check(); outlives the simulation
    explicit FluidSimulation(const NetworkModel& model);

    // Simulates the queues, of which no two are for one engine. Commands of 0 bytes end when they begin.
    // Errors: argument (no such node or engine, no route), limit.
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

    const NetworkModel& model_;
    MaxMinFair fair_;
    std::vector<std::vector<std::vector<std::uint32_t>>> paths_;  // resources by queue and place
    std::vector<Running> running_;
    std::vector<SharedPath> flows_;
    std::vector<std::size_t> flow_owner_;  // index in running_
    std::vector<double> rates_;
};

}  // namespace acp::exchange
