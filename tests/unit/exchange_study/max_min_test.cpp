// SPDX-License-Identifier: BSD-3-Clause
// Max-min fairness, by examples and by its definition.
#include "exchange_study/max_min.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace acp::exchange_study {
namespace {

std::vector<double> shares(MaxMinFair& fair,
                           const std::vector<std::vector<std::uint32_t>>& paths,
                           double most) {
    std::vector<SharedPath> flows;
    for (const auto& path : paths) flows.push_back({path, most});
    std::vector<double> rates;
    fair.share(flows, rates);
    return rates;
}

TEST(MaxMinFair, halves_a_link_and_gives_the_rest_to_a_flow_with_room) {
    MaxMinFair fair({10, 8});
    const auto rates = shares(fair, {{0}, {0, 1}, {1}, {1}}, 100);
    EXPECT_DOUBLE_EQ(rates[1], 8.0 / 3);
    EXPECT_DOUBLE_EQ(rates[2], 8.0 / 3);
    EXPECT_DOUBLE_EQ(rates[0], 10 - 8.0 / 3);
}

TEST(MaxMinFair, gives_no_flow_more_than_its_own_rate) {
    MaxMinFair fair({10});
    EXPECT_EQ(shares(fair, {{0}, {0}}, 3), (std::vector<double>{3, 3}));
    EXPECT_EQ(shares(fair, {{}}, 7), (std::vector<double>{7}));
}

TEST(MaxMinFair, counts_a_resource_twice_that_a_flow_uses_twice) {
    MaxMinFair fair({12});
    const auto rates = shares(fair, {{0, 0}, {0}}, 100);
    EXPECT_DOUBLE_EQ(rates[0], 4);
    EXPECT_DOUBLE_EQ(rates[1], 4);
}

TEST(MaxMinFair, takes_a_share_of_a_lossy_resource_for_each_further_flow) {
    MaxMinFair fair({100, 100}, 1, 0.01);
    EXPECT_DOUBLE_EQ(shares(fair, {{0}}, 1000)[0], 100);
    EXPECT_DOUBLE_EQ(shares(fair, {{0}, {0}, {0}}, 1000)[0], 98.0 / 3);
    EXPECT_DOUBLE_EQ(shares(fair, {{1}, {1}}, 1000)[0], 50);
}

// Every flow has its own rate, or a full resource on which no flow gets more than it.
TEST(MaxMinFair, leaves_no_flow_that_could_have_more_without_taking_from_a_smaller_one) {
    base::Random random(7);
    for (int round = 0; round < 300; ++round) {
        std::vector<double> capacities(6);
        for (double& capacity : capacities) capacity = 1 + static_cast<double>(random.below(1000));
        MaxMinFair fair(capacities);
        std::vector<std::vector<std::uint32_t>> paths(1 + random.below(12));
        for (auto& path : paths) {
            for (std::uint32_t r = 0; r < 6; ++r) {
                if (random.below(3) == 0) path.push_back(r);
            }
        }
        const double most = 1 + static_cast<double>(random.below(500));
        const auto rates = shares(fair, paths, most);
        std::vector<double> load(6);
        for (std::size_t i = 0; i < paths.size(); ++i) {
            for (const std::uint32_t r : paths[i]) load[r] += rates[i];
        }
        for (std::size_t i = 0; i < paths.size(); ++i) {
            bool is_limited = rates[i] >= most * (1 - 1e-6);
            for (const std::uint32_t r : paths[i]) {
                EXPECT_LE(load[r], capacities[r] * (1 + 1e-6));
                bool is_largest = load[r] >= capacities[r] * (1 - 1e-6);
                for (std::size_t k = 0; k < paths.size(); ++k) {
                    const bool is_here = std::count(paths[k].begin(), paths[k].end(), r) != 0;
                    if (is_here && rates[k] > rates[i] * (1 + 1e-6)) is_largest = false;
                }
                is_limited = is_limited || is_largest;
            }
            EXPECT_TRUE(is_limited) << "round " << round << ", flow " << i;
        }
    }
}

}  // namespace
}  // namespace acp::exchange_study
