// SPDX-License-Identifier: BSD-3-Clause
// A network as the planner and the simulator model it: nodes with engines, switches, directed links
// with rates, static routes, and the costs of commands. It has numbers only, and does not know
// which real network they describe. Rates are in bytes per microsecond (which is MB/s), times in
// microseconds. Values; any thread.
// Source: paper 003 and its calibration (docs/guide/exchange.md). Tests:
// tests/unit/exchange/network_model_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"

namespace acp::exchange {

inline constexpr std::uint32_t engines_max = 8;             // engines per node
inline constexpr std::uint32_t model_nodes_max = 1U << 16;  // the most nodes, and the most switches
inline constexpr std::uint32_t model_links_max = 1U << 20;
inline constexpr std::uint32_t model_routes_max = 1U << 20;  // routes that are listed one by one
inline constexpr std::uint32_t route_links_max = 64;
inline constexpr std::uint32_t torus_dimensions_max = 6;
inline constexpr double rate_max = 1e9;  // bytes per microsecond
inline constexpr double cost_us_max = 1e9;

using ModelNode = std::uint32_t;  // nodes are 0 .. nodes - 1; switches follow
using ModelLinkIndex = std::uint32_t;

// The numbers that all nodes share. An engine works on one command at a time, in the order of its
// queue.
struct NodeRates {
    std::uint32_t engines = 4;
    double engine_rate = 4096;      // an engine's, sending or receiving
    double injection_rate = 14025;  // a node's, for all its engines together, sending
    double reception_rate = 14025;  // a node's, for all its engines together, receiving
    double start_us = 14.6;         // cost of an exchange, whatever it moves
    double command_us = 1.23;       // cost of each command of a node, on any of its engines
    double stair_us = 0;            // engine e begins e times this after engine 0
    double link_loss = 0;           // the share of a link's rate that each further flow on it costs
};

struct ModelLink {
    ModelNode from = 0;
    ModelNode to = 0;
    double rate = 0;
};

struct NetworkModel {
    NodeRates node;
    std::uint32_t nodes = 0;
    std::uint32_t switches = 0;
    // The sizes of a torus, whose routes follow the dimensions in order; empty: no torus. Link node
    // * 2 d + 2 i leads to the next node in dimension i, and the link after it to the previous
    // node.
    std::vector<std::uint32_t> torus;
    std::vector<ModelLink> links;
    std::map<std::pair<ModelNode, ModelNode>, std::vector<ModelLinkIndex>>
        routes;  // listed one by one
};

// Checks that a model is within its limits and that its routes lead from their source to their
// target.
// Errors: argument, limit.
[[nodiscard]] base::Status check(const NetworkModel& model);

// A torus with links of one rate, two per node and dimension.
//   sizes  1 .. torus_dimensions_max of them, each >= 1
// Errors: argument, limit.
[[nodiscard]] base::Result<NetworkModel> make_torus(const std::vector<std::uint32_t>& sizes,
                                                    double link_rate,
                                                    const NodeRates& node);

// place_of: the coordinates of a node of a torus. node_at: the node at these coordinates.
[[nodiscard]] std::array<std::uint32_t, torus_dimensions_max> place_of(const NetworkModel& torus,
                                                                       ModelNode node);
[[nodiscard]] ModelNode node_at(const NetworkModel& torus,
                                const std::array<std::uint32_t, torus_dimensions_max>& place);

// Signed steps from one place of a ring to another by the shorter way; if both are equal, the
// positive one.
[[nodiscard]] std::int32_t steps_between(std::uint32_t from, std::uint32_t to, std::uint32_t ring);

}  // namespace acp::exchange
