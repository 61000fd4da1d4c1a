// SPDX-License-Identifier: BSD-3-Clause
// Checks a model, and makes a torus. Any thread.
#include "exchange/network_model.hpp"

#include <cmath>
#include <cstddef>

namespace acp::exchange {

using base::Code;
using base::Result;
using base::Status;

namespace {

Status check_number(const char* name, double value, double least, double most) {
    if (std::isfinite(value) && value >= least && value <= most) return {};
    return {Code::argument, std::string(name) + " is " + std::to_string(value) + ", not " +
                                std::to_string(least) + " .. " + std::to_string(most)};
}

Status check_node(const NodeRates& node) {
    if (node.engines == 0 || node.engines > engines_max) {
        return {Code::limit, "a node has 1 .. " + std::to_string(engines_max) + " engines, not " +
                                 std::to_string(node.engines)};
    }

    const struct {
        const char* name;
        double value;
        double least;
        double most;
    } numbers[] = {
        {"engine_rate", node.engine_rate, 1e-6, rate_max},
        {"injection_rate", node.injection_rate, 1e-6, rate_max},
        {"reception_rate", node.reception_rate, 1e-6, rate_max},
        {"start_us", node.start_us, 0, cost_us_max},
        {"command_us", node.command_us, 0, cost_us_max},
        {"stair_us", node.stair_us, 0, cost_us_max},
        {"link_loss", node.link_loss, 0, 0.1},
    };

    for (const auto& number : numbers) {
        Status status = check_number(number.name, number.value, number.least, number.most);
        if (!status.is_ok()) return status;
    }
    return {};
}

Status check_links(const NetworkModel& model) {
    if (model.links.size() > model_links_max) {
        return {Code::limit, "a network has at most " + std::to_string(model_links_max) + " links"};
    }
    const std::uint32_t vertices = model.nodes + model.switches;
    for (std::size_t i = 0; i < model.links.size(); ++i) {
        const ModelLink& link = model.links[i];
        if (link.from >= vertices || link.to >= vertices) {
            return {Code::argument, "link " + std::to_string(i) + " leads from " +
                                        std::to_string(link.from) + " to " +
                                        std::to_string(link.to) + " in a network of " +
                                        std::to_string(vertices) + " nodes and switches"};
        }
        Status status = check_number("a link's rate", link.rate, 1e-6, rate_max);
        if (!status.is_ok()) return status;
    }
    return {};
}

Status check_routes(const NetworkModel& model) {
    if (model.routes.size() > model_routes_max) {
        return {Code::limit, "at most " + std::to_string(model_routes_max) + " routes are listed"};
    }
    for (const auto& [ends, links] : model.routes) {
        ModelNode here = ends.first;
        bool is_good = links.size() <= route_links_max && ends.first < model.nodes;
        for (std::size_t i = 0; is_good && i < links.size(); ++i) {
            is_good = links[i] < model.links.size() && model.links[links[i]].from == here;
            if (is_good) here = model.links[links[i]].to;
        }
        if (!is_good || here != ends.second || here >= model.nodes) {
            return {Code::argument, "the links of the route from " + std::to_string(ends.first) +
                                        " to " + std::to_string(ends.second) +
                                        " do not lead there"};
        }
    }
    return {};
}

Status check_torus(const NetworkModel& model) {
    if (model.torus.empty()) return {};
    std::uint64_t nodes = 1;
    for (const std::uint32_t size : model.torus) nodes *= size;
    if (nodes != model.nodes || model.switches != 0 ||
        model.links.size() != nodes * 2 * model.torus.size()) {
        return {Code::argument, "a torus has two links per node and dimension, and no switch"};
    }
    return {};
}

}  // namespace

Status check(const NetworkModel& model) {
    if (model.nodes == 0 || model.nodes > model_nodes_max || model.switches > model_nodes_max) {
        return {Code::limit, "a network has 1 .. " + std::to_string(model_nodes_max) +
                                 " nodes and at most as many switches, not " +
                                 std::to_string(model.nodes) + " and " +
                                 std::to_string(model.switches)};
    }
    Status status = check_node(model.node);
    if (status.is_ok()) status = check_links(model);
    if (status.is_ok()) status = check_torus(model);
    if (status.is_ok()) status = check_routes(model);
    return status;
}

Result<NetworkModel> make_torus(const std::vector<std::uint32_t>& sizes,
                                double link_rate,
                                const NodeRates& node) {
    if (sizes.empty() || sizes.size() > torus_dimensions_max) {
        return Status(Code::limit, "a torus has 1 .. " + std::to_string(torus_dimensions_max) +
                                       " dimensions, not " + std::to_string(sizes.size()));
    }
    std::uint64_t nodes = 1;
    for (const std::uint32_t size : sizes) {
        nodes *= size;
        if (nodes == 0 || nodes > model_nodes_max) {
            return Status(Code::limit, "a torus has 1 .. " + std::to_string(model_nodes_max) +
                                           " nodes: the product of its sizes");
        }
    }
    NetworkModel model;
    model.node = node;
    model.nodes = static_cast<std::uint32_t>(nodes);
    model.torus = sizes;
    model.links.reserve(nodes * 2 * sizes.size());
    for (ModelNode here = 0; here < model.nodes; ++here) {
        auto place = place_of(model, here);
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            const std::uint32_t at = place[i];
            for (const std::uint32_t next : {(at + 1) % sizes[i], (at + sizes[i] - 1) % sizes[i]}) {
                place[i] = next;
                model.links.push_back({here, node_at(model, place), link_rate});
            }
            place[i] = at;
        }
    }
    Status status = check(model);
    if (!status.is_ok()) return status;
    return model;
}

std::array<std::uint32_t, torus_dimensions_max> place_of(const NetworkModel& torus,
                                                         ModelNode node) {
    std::array<std::uint32_t, torus_dimensions_max> place{};
    for (std::size_t i = 0; i < torus.torus.size(); ++i) {
        place[i] = node % torus.torus[i];
        node /= torus.torus[i];
    }
    return place;
}

ModelNode node_at(const NetworkModel& torus,
                  const std::array<std::uint32_t, torus_dimensions_max>& place) {
    ModelNode node = 0;
    for (std::size_t i = torus.torus.size(); i-- > 0;) node = node * torus.torus[i] + place[i];
    return node;
}

std::int32_t steps_between(std::uint32_t from, std::uint32_t to, std::uint32_t ring) {
    const std::uint32_t forward = to >= from ? to - from : to + ring - from;
    if (forward <= ring / 2) return static_cast<std::int32_t>(forward);
    return -static_cast<std::int32_t>(ring - forward);
}

}  // namespace acp::exchange
