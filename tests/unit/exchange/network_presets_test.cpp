// SPDX-License-Identifier: BSD-3-Clause
// Networks by name.
#include "exchange/network_presets.hpp"

#include <gtest/gtest.h>

namespace acp::exchange {
namespace {

using base::Code;

TEST(NetworkPresets, are_models_that_pass_their_check) {
    for (const NetworkPreset& preset : network_presets()) {
        const auto model = preset_network(preset.name);
        ASSERT_TRUE(model.is_ok()) << preset.name;
        EXPECT_TRUE(check(model.value()).is_ok()) << preset.name;
        std::uint32_t product = 1;
        if (preset.name != "fat-tree") {
            for (const std::uint32_t size : preset.default_sizes) product *= size;
            EXPECT_EQ(model.value().nodes, product) << preset.name;
        }
    }
}

TEST(NetworkPresets, have_the_rates_that_were_fitted_to_the_paper) {
    const NetworkModel model = preset_network("tofu").value();
    EXPECT_EQ(model.torus, (std::vector<std::uint32_t>{6, 8}));
    EXPECT_EQ(model.node.engines, 4U);
    EXPECT_EQ(model.links.front().rate, 5067);
    EXPECT_EQ(model.node.engine_rate, 4096);
    EXPECT_EQ(model.node.injection_rate, 14025);
}

TEST(NetworkPresets, connect_each_two_groups_of_a_dragonfly_once_each_way) {
    const NetworkModel model = preset_network("dragonfly", {5, 4, 2}).value();
    const auto group_of = [&](ModelNode router) { return (router - model.nodes) / 4; };
    std::vector<int> count(25);
    for (const ModelLink& link : model.links) {
        if (link.from < model.nodes || link.to < model.nodes) continue;
        ++count[group_of(link.from) * 5 + group_of(link.to)];
    }
    for (std::size_t i = 0; i < count.size(); ++i) EXPECT_EQ(count[i], i / 5 == i % 5 ? 12 : 1);
}

TEST(NetworkPresets, list_the_presets_and_their_missing_numbers) {
    EXPECT_EQ(
        preset_network("ring").failure().message(),
        "there is no network \"ring\"; there are tofu, four-nic, gpu-node, dragonfly, fat-tree");
    EXPECT_EQ(preset_network("fat-tree", {4}).failure().message(),
              "network fat-tree needs LEAVES HOSTS SPINES");
    EXPECT_EQ(preset_network("four-nic", {65'537}).failure().code(), Code::limit);
    EXPECT_EQ(preset_network("dragonfly", {1, 65'536, 1}).failure().code(), Code::limit);
    EXPECT_EQ(preset_network("dragonfly", {65'536, 1, 1}).failure().code(), Code::limit);
}

}  // namespace
}  // namespace acp::exchange
