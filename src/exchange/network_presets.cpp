// SPDX-License-Identifier: BSD-3-Clause
// Builds the shapes: torus, crossbar, dragonfly, fat tree. Any thread.
#include "exchange/network_presets.hpp"

#include <algorithm>

namespace acp::exchange {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr double nic_rate = 12'500;  // 100 Gb/s

// Two links, one each way.
void connect(NetworkModel& model, ModelNode one, ModelNode other, double rate) {
    model.links.push_back({one, other, rate});
    model.links.push_back({other, one, rate});
}

// Nodes on one non-blocking switch.
NetworkModel crossbar(std::uint32_t nodes, const NodeRates& node, double link_rate) {
    NetworkModel model;
    model.node = node;
    model.nodes = nodes;
    model.switches = 1;
    for (ModelNode i = 0; i < nodes; ++i) connect(model, i, nodes, link_rate);
    return model;
}

// A node has four adapters of 100 Gb/s on a host bus that carries less than all of them together.
NodeRates four_adapters() {
    NodeRates node;
    node.engines = 4;
    node.engine_rate = nic_rate * 0.97;
    node.injection_rate = node.reception_rate = 42'000;
    node.start_us = 3;
    node.command_us = 0.3;
    node.stair_us = 0.1;
    return node;
}

// One adapter of 100 Gb/s with four queues that work in parallel.
NodeRates one_adapter() {
    NodeRates node = four_adapters();
    node.engine_rate = 8'000;
    node.injection_rate = node.reception_rate = nic_rate * 0.97;
    return node;
}

NetworkModel gpu_node(std::uint32_t accelerators) {
    NodeRates node;
    node.engines = 4;
    node.engine_rate = 150'000;
    node.injection_rate = node.reception_rate = 430'000;
    node.start_us = 4;
    node.command_us = 1;
    node.stair_us = 0.5;
    return crossbar(accelerators, node, 450'000);
}

// Groups of routers. All routers of a group are connected with each other, and one link connects
// each two groups; each router has the same number of nodes. Node = (group * routers + router) *
// hosts + host.
NetworkModel dragonfly(std::uint32_t groups, std::uint32_t routers, std::uint32_t hosts) {
    NetworkModel model;
    model.node = one_adapter();
    model.nodes = groups * routers * hosts;
    model.switches = groups * routers;
    const auto router = [&](std::uint32_t group, std::uint32_t number) {
        return model.nodes + group * routers + number % routers;
    };
    for (ModelNode i = 0; i < model.nodes; ++i)
        connect(model, i, model.nodes + i / hosts, nic_rate);
    for (std::uint32_t group = 0; group < groups; ++group) {
        for (std::uint32_t a = 0; a < routers; ++a) {
            for (std::uint32_t b = a + 1; b < routers; ++b)
                connect(model, router(group, a), router(group, b), nic_rate);
        }
        // The links to other groups are spread over the routers of both groups.
        for (std::uint32_t other = group + 1; other < groups; ++other)
            connect(model, router(group, other - 1), router(other, group), nic_rate);
    }
    return model;
}

// Leaf switches with nodes below and a link to each spine.
NetworkModel fat_tree(std::uint32_t leaves, std::uint32_t hosts, std::uint32_t spines) {
    NetworkModel model;
    model.node = one_adapter();
    model.nodes = leaves * hosts;
    model.switches = leaves + spines;
    for (ModelNode i = 0; i < model.nodes; ++i)
        connect(model, i, model.nodes + i / hosts, nic_rate);
    for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
        for (std::uint32_t spine = 0; spine < spines; ++spine)
            connect(model, model.nodes + leaf, model.nodes + leaves + spine, nic_rate);
    }
    return model;
}

const std::vector<NetworkPreset>& presets() {
    static const std::vector<NetworkPreset> all = {
        {"tofu", "X Y ...", "a torus of nodes with 4 engines, as paper 003 measured it", {6, 8}},
        {"four-nic", "NODES", "nodes with 4 adapters of 100 Gb/s on one switch", {16}},
        {"gpu-node", "ACCELERATORS", "accelerators with 4 copy engines on one switch", {8}},
        {"dragonfly", "GROUPS ROUTERS HOSTS", "one adapter per node, minimal routes", {5, 4, 4}},
        {"fat-tree", "LEAVES HOSTS SPINES", "one adapter per node, spines by target", {4, 8, 4}},
    };
    return all;
}

// Whether the product of the sizes is an allowed number of nodes.
bool are_within_limits(const std::vector<std::uint32_t>& sizes) {
    std::uint64_t product = 1;
    for (const std::uint32_t size : sizes) {
        product *= size;
        if (product == 0 || product > model_nodes_max) return false;
    }
    return true;
}

}  // namespace

std::span<const NetworkPreset> network_presets() {
    return presets();
}

Result<NetworkModel> preset_network(std::string_view name, std::vector<std::uint32_t> sizes) {
    const auto found = std::find_if(presets().begin(), presets().end(),
                                    [name](const NetworkPreset& one) { return one.name == name; });
    if (found == presets().end()) {
        std::string names;
        for (const NetworkPreset& one : presets())
            names += (names.empty() ? "" : ", ") + std::string(one.name);
        return Status(Code::argument,
                      "there is no network \"" + std::string(name) + "\"; there are " + names);
    }
    if (sizes.empty()) sizes = found->default_sizes;
    const bool is_torus = name == "tofu";
    if (!is_torus && sizes.size() != found->default_sizes.size()) {
        return Status(Code::argument,
                      "network " + std::string(name) + " needs " + std::string(found->sizes));
    }
    // Each group of a dragonfly has a link between each two of its routers, and one to each other
    // group.
    const bool has_too_many_links =
        name == "dragonfly" && are_within_limits(sizes) &&
        std::uint64_t{sizes[0]} * (std::uint64_t{sizes[1]} * sizes[1] + sizes[0]) >
            model_links_max / 2;
    if (!are_within_limits(sizes) || has_too_many_links) {
        return Status(Code::limit, "network " + std::string(name) + " has 1 .. " +
                                       std::to_string(model_nodes_max) +
                                       " as the product of its sizes, and at most " +
                                       std::to_string(model_links_max) + " links");
    }
    if (is_torus) return make_torus(sizes, tofu_link_rate, {});
    NetworkModel model;
    if (name == "four-nic") model = crossbar(sizes[0], four_adapters(), 4 * nic_rate);
    if (name == "gpu-node") model = gpu_node(sizes[0]);
    if (name == "dragonfly") model = dragonfly(sizes[0], sizes[1], sizes[2]);
    if (name == "fat-tree") model = fat_tree(sizes[0], sizes[1], sizes[2]);
    Status status = check(model);
    if (!status.is_ok()) return status;
    return model;
}

}  // namespace acp::exchange
