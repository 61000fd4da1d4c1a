// SPDX-License-Identifier: BSD-3-Clause
// The model's checks, and the torus.
#include "exchange/network_model.hpp"

#include <gtest/gtest.h>

namespace acp::exchange {
namespace {

using base::Code;

NetworkModel two_nodes() {
    NetworkModel model;
    model.nodes = 2;
    model.links = {{0, 1, 100}, {1, 0, 100}};
    return model;
}

TEST(NetworkModel, is_refused_out_of_its_limits) {
    EXPECT_TRUE(check(two_nodes()).is_ok());
    NetworkModel model = two_nodes();
    model.nodes = 0;
    EXPECT_EQ(check(model).code(), Code::limit);
    model = two_nodes();
    model.node.engines = engines_max;
    EXPECT_TRUE(check(model).is_ok());
    model.node.engines = engines_max + 1;
    EXPECT_EQ(check(model).code(), Code::limit);
    model = two_nodes();
    model.links[1].to = 2;
    EXPECT_EQ(check(model).code(), Code::argument);
    model = two_nodes();
    model.links[0].rate = 0;
    EXPECT_EQ(check(model).code(), Code::argument);
    model = two_nodes();
    model.node.injection_rate = -1;
    EXPECT_EQ(check(model).message().substr(0, 14), "injection_rate");
}

TEST(NetworkModel, is_refused_with_a_route_that_leads_elsewhere) {
    NetworkModel model = two_nodes();
    model.routes[{0, 1}] = {0};
    EXPECT_TRUE(check(model).is_ok());
    model.routes[{0, 1}] = {1};
    EXPECT_EQ(check(model).code(), Code::argument);
    model.routes[{0, 1}] = {0, 1};
    EXPECT_EQ(check(model).code(), Code::argument);
    model.routes[{0, 1}] = {7};
    EXPECT_EQ(check(model).code(), Code::argument);
}

TEST(NetworkModel, connects_each_node_of_a_torus_with_both_neighbours_in_each_dimension) {
    const auto torus = make_torus({3, 4}, 50, {});
    ASSERT_TRUE(torus.is_ok());
    const NetworkModel& model = torus.value();
    EXPECT_EQ(model.nodes, 12U);
    ASSERT_EQ(model.links.size(), 48U);
    // Node 5 is at (2, 1).
    EXPECT_EQ(model.links[5 * 4 + 0].to, 3U);
    EXPECT_EQ(model.links[5 * 4 + 1].to, 4U);
    EXPECT_EQ(model.links[5 * 4 + 2].to, 8U);
    EXPECT_EQ(model.links[5 * 4 + 3].to, 2U);
    for (ModelNode node = 0; node < 12; ++node)
        EXPECT_EQ(node_at(model, place_of(model, node)), node);
}

TEST(NetworkModel, goes_the_short_way_round_a_ring) {
    EXPECT_EQ(steps_between(0, 2, 5), 2);
    EXPECT_EQ(steps_between(0, 3, 5), -2);
    EXPECT_EQ(steps_between(4, 0, 5), 1);
    EXPECT_EQ(steps_between(0, 3, 6), 3);
    EXPECT_EQ(steps_between(2, 2, 6), 0);
}

TEST(NetworkModel, refuses_a_torus_without_nodes_and_one_that_is_too_large) {
    EXPECT_EQ(make_torus({}, 1, {}).failure().code(), Code::limit);
    EXPECT_EQ(make_torus({4, 0}, 1, {}).failure().code(), Code::limit);
    EXPECT_EQ(make_torus({65'536, 65'536}, 1, {}).failure().code(), Code::limit);
    EXPECT_EQ(make_torus({2, 2, 2, 2, 2, 2, 2}, 1, {}).failure().code(), Code::limit);
}

}  // namespace
}  // namespace acp::exchange
