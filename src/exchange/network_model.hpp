// SPDX-License-Identifier: BSD-3-Clause
// A network as the planner and the simulator see it: nodes with engines, switches, directed links with rates, static routes, and
// what commands cost. Numbers alone: whose network it is, and how fast it really is, is not known here. Rates are in bytes per
// microsecond (which is MB/s), times in microseconds. Values; any thread.
// Source: paper 003 and its calibration (docs/guide/exchange.md). Tests: tests/unit/exchange/network_model_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"

namespace acp::exchange {

inline constexpr std::uint32_t engines_max = 8;             // of one node
inline constexpr std::uint32_t model_nodes_max = 1U << 16;  // and as many switches
inline constexpr std::uint32_t model_links_max = 1U << 20;
inline constexpr std::uint32_t model_routes_max = 1U << 20;  // routes that are listed one by one
inline constexpr std::uint32_t route_links_max = 64;
inline constexpr std::uint32_t torus_dimensions_max = 6;
inline constexpr double rate_max = 1e9;  // bytes per microsecond
inline constexpr double cost_us_max = 1e9;

using ModelNode = std::uint32_t;  // nodes are 0 .. nodes - 1; switches follow
using ModelLinkIndex = std::uint32_t;

// What is the same on every node. An engine works on one command at a time, in the order in which they were queued.
struct NodeRates {
    std::uint32_t engines = 4;
    double engine_rate = 4096;      // of one engine, sending or receiving
    double injection_rate = 14025;  // of all engines of a node together, sending
    double reception_rate = 14025;  // of all engines of a node together, receiving
    double start_us = 14.6;         // of an exchange, whatever it moves
    double command_us = 1.23;       // of each command of a node, whichever engine runs it
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
    // The sizes of a torus, whose routes go along the dimensions in order; empty: the graph is no torus. Link
    // node * 2 d + 2 i leads to the next node in dimension i, and the one after it to the previous node.
    std::vector<std::uint32_t> torus;
    std::vector<ModelLink> links;
    std::map<std::pair<ModelNode, ModelNode>, std::vector<ModelLinkIndex>>
        routes;  // listed one by one
};

// Whether a model is within its limits and its routes lead from their source to their target.
// Errors: argument, limit.
[[nodiscard]] base::Status check(const NetworkModel& model);

// A torus with links of one rate, two per node and dimension.   sizes  1 .. torus_dimensions_max of them, each >= 1
// Errors: argument, limit.
[[nodiscard]] base::Result<NetworkModel> make_torus(const std::vector<std::uint32_t>& sizes,
                                                    double link_rate,
                                                    const NodeRates& node);

// The place of a node of a torus in each dimension, and the node at a place.
[[nodiscard]] std::array<std::uint32_t, torus_dimensions_max> place_of(const NetworkModel& torus,
                                                                       ModelNode node);
[[nodiscard]] ModelNode node_at(const NetworkModel& torus,
                                const std::array<std::uint32_t, torus_dimensions_max>& place);

// Signed steps from one place of a ring to another the short way round; of two equal ways the positive one.
[[nodiscard]] std::int32_t steps_between(std::uint32_t from, std::uint32_t to, std::uint32_t ring);

}  // namespace acp::exchange
