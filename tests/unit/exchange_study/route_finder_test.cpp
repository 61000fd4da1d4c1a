// SPDX-License-Identifier: BSD-3-Clause
// Routes on a torus, on trees, and listed ones.
#include "exchange_study/route_finder.hpp"

#include <gtest/gtest.h>
#include <set>

#include "exchange/network_presets.hpp"

namespace acp::exchange_study {
namespace {

using base::Code;

// Where a route ends; fails when its links do not follow each other.
exchange::ModelNode end_of(const exchange::NetworkModel& model,
                           exchange::ModelNode source,
                           const std::vector<exchange::ModelLinkIndex>& links) {
    exchange::ModelNode here = source;
    for (const exchange::ModelLinkIndex link : links) {
        EXPECT_EQ(model.links[link].from, here);
        here = model.links[link].to;
    }
    return here;
}

TEST(RouteFinder, goes_along_the_dimensions_of_a_torus_in_order) {
    const exchange::NetworkModel model = exchange::make_torus({5, 5}, 1, {}).value();
    RouteFinder finder(model);
    const auto route = finder.find(0, 4 + 5 * 2);  // one step to the west, two to the north
    ASSERT_TRUE(route.is_ok());
    ASSERT_EQ(route.value().size(), 3U);
    EXPECT_EQ(route.value()[0], 0U * 4 + 1);
    EXPECT_EQ(route.value()[1], 4U * 4 + 2);
    EXPECT_EQ(route.value()[2], 9U * 4 + 2);
}

TEST(RouteFinder, leads_from_every_node_of_every_preset_to_every_other) {
    for (const exchange::NetworkPreset& preset : exchange::network_presets()) {
        const exchange::NetworkModel model = exchange::preset_network(preset.name).value();
        RouteFinder finder(model);
        for (exchange::ModelNode source = 0; source < model.nodes; source += 3) {
            for (exchange::ModelNode target = 0; target < model.nodes; ++target) {
                const auto route = finder.find(source, target);
                ASSERT_TRUE(route.is_ok()) << preset.name;
                EXPECT_EQ(end_of(model, source, route.value()), target);
                EXPECT_EQ(route.value().empty(), source == target);
            }
        }
    }
}

TEST(RouteFinder, spreads_the_targets_of_a_fat_tree_over_its_spines) {
    const exchange::NetworkModel model = exchange::preset_network("fat-tree", {2, 4, 4}).value();
    RouteFinder finder(model);
    std::set<exchange::ModelNode> spines;
    for (exchange::ModelNode target = 4; target < 8; ++target) {
        const auto route = finder.find(0, target).value();
        ASSERT_EQ(route.size(), 4U);
        spines.insert(model.links[route[1]].to);
    }
    EXPECT_EQ(spines.size(), 4U);
}

TEST(RouteFinder, takes_one_global_link_of_a_dragonfly) {
    const exchange::NetworkModel model = exchange::preset_network("dragonfly", {5, 4, 4}).value();
    RouteFinder finder(model);
    for (exchange::ModelNode target = 16; target < model.nodes; ++target)
        EXPECT_LE(finder.find(0, target).value().size(), 5U);
}

TEST(RouteFinder, prefers_what_is_listed) {
    exchange::NetworkModel model;
    model.nodes = 3;
    model.links = {{0, 1, 1}, {0, 2, 1}, {2, 1, 1}};
    model.routes[{0, 1}] = {1, 2};
    ASSERT_TRUE(exchange::check(model).is_ok());
    RouteFinder finder(model);
    EXPECT_EQ(finder.find(0, 1).value(), (std::vector<exchange::ModelLinkIndex>{1, 2}));
}

TEST(RouteFinder, names_the_ends_between_which_there_is_no_way) {
    exchange::NetworkModel model;
    model.nodes = 3;
    model.links = {{0, 1, 1}};
    RouteFinder finder(model);
    EXPECT_EQ(finder.find(1, 0).failure().message(), "no links lead from 1 to 0");
    EXPECT_EQ(finder.find(0, 3).failure().code(), Code::argument);
}

TEST(RouteFinder, refuses_a_route_of_more_links_than_the_limit) {
    const exchange::NetworkModel model = exchange::make_torus({200}, 1, {}).value();
    RouteFinder finder(model);
    EXPECT_EQ(finder.find(0, exchange::route_links_max).value().size(), exchange::route_links_max);
    EXPECT_EQ(finder.find(0, exchange::route_links_max + 1).failure().code(), Code::limit);
}

}  // namespace
}  // namespace acp::exchange_study
