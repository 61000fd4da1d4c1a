// SPDX-License-Identifier: BSD-3-Clause
// The text that describes a plan: counts with their units, one line for each direction that has
// messages, and predictions and rails where the plan has them.
#include "execution/explanation.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace acp::execution {
namespace {

Partner partner(std::uint32_t rank, BlockHead* head, PartnerFlow sent, PartnerFlow received) {
    Partner one;
    one.rank = rank;
    one.head = head;
    one.sent = sent;
    one.received = received;
    return one;
}

RoutedParcel parcel(std::uint32_t rail, std::uint64_t bytes) {
    RoutedParcel one;
    one.rail = rail;
    one.bytes = bytes;
    return one;
}

TEST(Explanation, of_an_empty_plan_is_one_line) {
    EXPECT_EQ(explain({}, {}, RailBalance(1, {})),
              "sends 0 messages of 0 bytes, receives 0 messages of 0 bytes, takes 0 bytes of the "
              "heap\n");
}

TEST(Explanation, has_a_line_for_each_direction_that_has_messages) {
    BlockHead here;
    PlanRoutes routes;
    routes.heap_bytes = 1;
    routes.partners.push_back(partner(3, &here, {1, 1, 0, 0}, {2, 7, 2, 0}));
    routes.partners.push_back(partner(0, nullptr, {5, ~std::uint64_t{0} >> 1, 1, 1}, {}));
    EXPECT_EQ(explain(routes, {}, RailBalance(1, {})),
              "sends 6 messages of 9223372036854775808 bytes, receives 2 messages of 7 bytes, "
              "takes 1 byte of the heap\n"
              "to member 3 on this node: 1 message of 1 byte\n"
              "from member 3 on this node: 2 messages of 7 bytes, 2 in place\n"
              "to member 0 on another node: 5 messages of 9223372036854775807 bytes, 1 in place, "
              "in 1 parcel\n");
}

TEST(Explanation, has_the_prediction_and_its_gap) {
    exchange::SendOrder order;
    order.predicted_us = 150;
    order.bound_us = 100;
    const std::string text = explain({}, order, RailBalance(1, {}));
    EXPECT_NE(text.find("predicted: 150.00 us; no plan takes less than 100.00 us; gap at most "
                        "50.00 %\n"),
              std::string::npos)
        << text;
}

TEST(Explanation, has_the_bytes_of_each_planned_rail_and_what_was_learned) {
    PlanRoutes routes;
    routes.rails = {3, 2};
    routes.parcels = {parcel(0, 100'000), parcel(2, 50'000), parcel(0, 1)};
    const std::vector<std::uint64_t> bytes{100'000, 50'000, 1};
    const std::string text = explain(routes, {}, RailBalance(3, bytes));
    EXPECT_NE(text.find("bytes by rail, as planned: 100001, 0, 50000\n"), std::string::npos)
        << text;
    EXPECT_NE(text.find("rails, by how fast they were lately: unknown, unknown, unknown\n"),
              std::string::npos)
        << text;
    // On one rail, or without a network, nothing was planned.
    routes.rails = {1, 2};
    EXPECT_EQ(explain(routes, {}, RailBalance(1, bytes)).find("rail"), std::string::npos);
    routes.rails = {3, 0};
    EXPECT_EQ(explain(routes, {}, RailBalance(3, bytes)).find("as planned"), std::string::npos);
}

}  // namespace
}  // namespace acp::execution
