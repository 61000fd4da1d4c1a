// SPDX-License-Identifier: BSD-3-Clause
// The rail of each piece: the sources' choice is kept where it is good; otherwise both ends get
// about the same load on each rail, which the target alone could not achieve. Compared in the
// simulator of the whole network, where only rails are limits.
#include "exchange/rail_choice.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <utility>

#include "base/random.hpp"

#include "exchange_study/fluid.hpp"

namespace acp::exchange {
namespace {

using Pieces = std::vector<OfferedPiece>;
using Rails = std::vector<std::uint32_t>;

TEST(RailChoice, what_the_sources_chose_stays_where_all_send_the_same) {
    Pieces pieces;
    for (ModelNode node = 0; node < 6; ++node) {
        for (std::uint32_t rail = 0; rail < 3; ++rail)
            pieces.push_back({node, (node + rail + 1) % 6, 1000, (rail + 1) % 3});
    }
    const Rails rails = choose_rails(pieces, 6, 3);
    for (std::size_t i = 0; i < pieces.size(); ++i) EXPECT_EQ(rails[i], pieces[i].rail);
}

TEST(RailChoice, two_nodes_do_not_send_to_a_third_by_the_same_rail) {
    EXPECT_EQ(choose_rails(Pieces{{0, 2, 1000, 0}, {1, 2, 1000, 0}}, 3, 2), (Rails{0, 1}));
    EXPECT_EQ(choose_rails(Pieces{{0, 2, 1000, 0}, {1, 2, 1000, 0}}, 3, 1), (Rails{0, 0}));
    EXPECT_TRUE(choose_rails({}, 3, 2).empty());
}

// In bytes per microsecond; nodes reach each other at once.
NetworkModel network_of_rails(std::uint32_t nodes, std::uint32_t rails) {
    NodeRates node;
    node.engines = rails;
    node.engine_rate = 50;
    node.injection_rate = node.reception_rate = 50.0 * rails;
    return make_torus({nodes}, 1e6, node).value();
}

// The choice of one end alone: longest first, each to the rail with the least so far.
Rails balanced(const std::vector<std::uint64_t>& bytes, std::uint32_t rails) {
    std::vector<std::size_t> order(bytes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t one, std::size_t other) { return bytes[one] > bytes[other]; });
    Rails chosen(bytes.size());
    std::vector<std::uint64_t> load(rails);
    for (const std::size_t i : order) {
        const auto least = std::min_element(load.begin(), load.end());
        chosen[i] = static_cast<std::uint32_t>(least - load.begin());
        *least += bytes[i];
    }
    return chosen;
}

// No choice of rails takes less: each node sends and receives over all of them, and one message
// over one.
double bound_us(const NetworkModel& network, const Pieces& pieces) {
    std::vector<double> sent(network.nodes), received(network.nodes);
    double bound = 0;
    for (const OfferedPiece& piece : pieces) {
        const auto bytes = static_cast<double>(piece.bytes);
        sent[piece.from] += bytes;
        received[piece.to] += bytes;
        const double busiest = std::max(sent[piece.from], received[piece.to]);
        bound = std::max({bound, bytes / network.node.engine_rate,
                          busiest / (network.node.engine_rate * network.node.engines)});
    }
    return bound;
}

// Each node sends eight messages of 4 KiB .. 256 KiB to random nodes, each by the rail that it
// would choose alone.
Pieces uneven(const NetworkModel& network, base::Random& random) {
    Pieces pieces;
    for (ModelNode node = 0; node < network.nodes; ++node) {
        std::vector<std::uint64_t> messages;
        std::vector<ModelNode> targets;
        for (int i = 0; i < 8; ++i) {
            const auto step = 1 + static_cast<ModelNode>(random.below(network.nodes - 1));
            targets.push_back((node + step) % network.nodes);
            const auto bytes = static_cast<std::uint64_t>(
                std::exp2(12 + 6 * static_cast<double>(random.below(1'000'000)) / 1e6));
            messages.push_back(bytes);
        }
        const Rails rails = balanced(messages, network.node.engines);
        for (std::size_t i = 0; i < messages.size(); ++i)
            pieces.push_back({node, targets[i], messages[i], rails[i]});
    }
    return pieces;
}

// The rails that the targets choose on their own.
Rails chosen_by_targets(const NetworkModel& network, const Pieces& pieces) {
    Rails rails(pieces.size());
    for (ModelNode target = 0; target < network.nodes; ++target) {
        std::vector<std::uint64_t> bytes;
        for (const OfferedPiece& piece : pieces) {
            if (piece.to == target) bytes.push_back(piece.bytes);
        }
        const Rails next = balanced(bytes, network.node.engines);
        auto chosen = next.begin();
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            if (pieces[i].to == target) rails[i] = *chosen++;
        }
    }
    return rails;
}

double transfer_of(const NetworkModel& network, Pieces pieces, const Rails& rails) {
    for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i].rail = rails[i];
    std::stable_sort(pieces.begin(), pieces.end(),
                     [](const auto& one, const auto& other) { return one.bytes > other.bytes; });
    std::map<std::pair<ModelNode, std::uint32_t>, exchange_study::FluidQueue> queues;
    for (const OfferedPiece& piece : pieces) {
        exchange_study::FluidQueue& queue = queues[{piece.from, piece.rail}];
        queue.node = piece.from;
        queue.engine = piece.rail;
        queue.commands.push_back({piece.to, piece.rail, static_cast<double>(piece.bytes)});
    }
    std::vector<exchange_study::FluidQueue> all;
    for (auto& [where, queue] : queues) all.push_back(std::move(queue));
    return exchange_study::FluidSimulation(network).run(all).value().transfer_us;
}

TEST(RailChoice, uneven_exchanges_take_less_time_than_where_one_end_chooses) {
    for (const std::uint32_t nodes : {4U, 16U}) {
        const NetworkModel network = network_of_rails(nodes, 4);
        base::Random random(11);
        double sources = 0, targets = 0, together = 0;
        constexpr int patterns = 20;
        for (int i = 0; i < patterns; ++i) {
            const Pieces pieces = uneven(network, random);
            Rails offered;
            for (const OfferedPiece& piece : pieces) offered.push_back(piece.rail);
            const double bound = patterns * bound_us(network, pieces);
            sources += transfer_of(network, pieces, offered) / bound;
            targets += transfer_of(network, pieces, chosen_by_targets(network, pieces)) / bound;
            together += transfer_of(network, pieces, choose_rails(pieces, nodes, 4)) / bound;
        }
        std::printf("%u nodes, 4 rails: sources %.3f, targets %.3f, together %.3f of the bound\n",
                    nodes, sources, targets, together);
        EXPECT_LE(together, 1.25) << nodes;
        EXPECT_GE(sources / together, 1.3) << nodes;
        EXPECT_GE(targets / together, 1.3) << nodes;
    }
}

}  // namespace
}  // namespace acp::exchange
