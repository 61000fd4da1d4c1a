// SPDX-License-Identifier: BSD-3-Clause
// Routes on a torus, on trees, and listed ones.
#include "exchange/route_finder.hpp"

#include <gtest/gtest.h>
#include <set>

#include "exchange/network_presets.hpp"

namespace acp::exchange {
namespace {

using base::Code;

// Where a route ends; fails when its links do not follow each other.
ModelNode end_of(const NetworkModel& model,
                 ModelNode source,
                 const std::vector<ModelLinkIndex>& links) {
    ModelNode here = source;
    for (const ModelLinkIndex link : links) {
        EXPECT_EQ(model.links[link].from, here);
        here = model.links[link].to;
    }
    return here;
}

TEST(RouteFinder, goes_along_the_dimensions_of_a_torus_in_order) {
    const NetworkModel model = make_torus({5, 5}, 1, {}).value();
    RouteFinder finder(model);
    const auto route = finder.find(0, 4 + 5 * 2);  // one step to the west, two to the north
    ASSERT_TRUE(route.is_ok());
    ASSERT_EQ(route.value().size(), 3U);
    EXPECT_EQ(route.value()[0], 0U * 4 + 1);
    EXPECT_EQ(route.value()[1], 4U * 4 + 2);
    EXPECT_EQ(route.value()[2], 9U * 4 + 2);
}

TEST(RouteFinder, leads_from_every_node_of_every_preset_to_every_other) {
    for (const NetworkPreset& preset : network_presets()) {
        const NetworkModel model = preset_network(preset.name).value();
        RouteFinder finder(model);
        for (ModelNode source = 0; source < model.nodes; source += 3) {
            for (ModelNode target = 0; target < model.nodes; ++target) {
                const auto route = finder.find(source, target);
                ASSERT_TRUE(route.is_ok()) << preset.name;
                EXPECT_EQ(end_of(model, source, route.value()), target);
                EXPECT_EQ(route.value().empty(), source == target);
            }
        }
    }
}

TEST(RouteFinder, spreads_the_targets_of_a_fat_tree_over_its_spines) {
    const NetworkModel model = preset_network("fat-tree", {2, 4, 4}).value();
    RouteFinder finder(model);
    std::set<ModelNode> spines;
    for (ModelNode target = 4; target < 8; ++target) {
        const auto route = finder.find(0, target).value();
        ASSERT_EQ(route.size(), 4U);
        spines.insert(model.links[route[1]].to);
    }
    EXPECT_EQ(spines.size(), 4U);
}

TEST(RouteFinder, takes_one_global_link_of_a_dragonfly) {
    const NetworkModel model = preset_network("dragonfly", {5, 4, 4}).value();
    RouteFinder finder(model);
    for (ModelNode target = 16; target < model.nodes; ++target)
        EXPECT_LE(finder.find(0, target).value().size(), 5U);
}

TEST(RouteFinder, prefers_what_is_listed) {
    NetworkModel model;
    model.nodes = 3;
    model.links = {{0, 1, 1}, {0, 2, 1}, {2, 1, 1}};
    model.routes[{0, 1}] = {1, 2};
    ASSERT_TRUE(check(model).is_ok());
    RouteFinder finder(model);
    EXPECT_EQ(finder.find(0, 1).value(), (std::vector<ModelLinkIndex>{1, 2}));
}

TEST(RouteFinder, names_the_ends_between_which_there_is_no_way) {
    NetworkModel model;
    model.nodes = 3;
    model.links = {{0, 1, 1}};
    RouteFinder finder(model);
    EXPECT_EQ(finder.find(1, 0).failure().message(), "no links lead from 1 to 0");
    EXPECT_EQ(finder.find(0, 3).failure().code(), Code::argument);
}

TEST(RouteFinder, refuses_a_route_of_more_links_than_the_limit) {
    const NetworkModel model = make_torus({200}, 1, {}).value();
    RouteFinder finder(model);
    EXPECT_EQ(finder.find(0, route_links_max).value().size(), route_links_max);
    EXPECT_EQ(finder.find(0, route_links_max + 1).failure().code(), Code::limit);
}

}  // namespace
}  // namespace acp::exchange
