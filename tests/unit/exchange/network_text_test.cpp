// SPDX-License-Identifier: BSD-3-Clause
// Networks as text: read, shown, read again, refused.
#include "exchange/network_text.hpp"

#include <gtest/gtest.h>

#include "exchange/network_presets.hpp"

namespace acp::exchange {
namespace {

std::string refusal_of(std::string_view text) {
    const auto read = network_from_text(text);
    return read.is_ok() ? "it was read" : std::string(read.failure().message());
}

TEST(NetworkText, reads_a_preset_and_what_differs_from_it) {
    const auto read = network_from_text(
        "# the machine next door\n"
        "preset tofu 4 4\n"
        "engine_rate 3900.5   # measured\n"
        "stair_us 1e0\n"
        "\n"
        "rate 3 2500");
    ASSERT_TRUE(read.is_ok());
    const NetworkModel& model = read.value();
    EXPECT_EQ(model.nodes, 16U);
    EXPECT_EQ(model.node.engine_rate, 3900.5);
    EXPECT_EQ(model.node.injection_rate, 14025);
    EXPECT_EQ(model.node.stair_us, 1);
    EXPECT_EQ(model.links[2].rate, tofu_link_rate);
    EXPECT_EQ(model.links[3].rate, 2500);
}

TEST(NetworkText, reads_a_graph_with_a_listed_route) {
    const auto read = network_from_text(
        "nodes 2\nswitches 1\nengines 2\nlink 0 2 10\nlink 2 1 20\nlink 1 0 5\nroute 0 1 0 1\n");
    ASSERT_TRUE(read.is_ok());
    EXPECT_EQ(read.value().switches, 1U);
    EXPECT_EQ(read.value().links[1].rate, 20);
    EXPECT_EQ((read.value().routes.at({0, 1})), (std::vector<ModelLinkIndex>{0, 1}));
}

TEST(NetworkText, is_read_back_as_it_was_shown) {
    for (const NetworkPreset& preset : network_presets()) {
        NetworkModel model = preset_network(preset.name).value();
        model.node.command_us = 0.1;
        model.links[1].rate = 1.0 / 3;
        const std::string shown = text_of(model);
        const auto again = network_from_text(shown);
        ASSERT_TRUE(again.is_ok()) << preset.name << ": " << again.failure().message();
        EXPECT_EQ(text_of(again.value()), shown);
        EXPECT_EQ(again.value().links[1].rate, 1.0 / 3);
        EXPECT_EQ(again.value().nodes, model.nodes);
    }
}

TEST(NetworkText, names_the_statement_that_it_refuses) {
    const auto form = [](const std::string& words) {
        return "the form of this statement is \"" + words + "\"";
    };
    EXPECT_EQ(refusal_of("nodes 2\nspeed 3\n"),
              "line 2, \"speed 3\": there is no statement \"speed\"");
    EXPECT_EQ(refusal_of("preset tofu\nlink 0 1 5\n"),
              "line 2, \"link 0 1 5\": a torus has its links");
    EXPECT_EQ(refusal_of("preset tofu\nnodes 4\n"),
              "line 2, \"nodes 4\": the network has begun already");
    EXPECT_EQ(refusal_of("nodes 2\nlink 0 1 fast\n"),
              "line 2, \"link 0 1 fast\": " + form("link FROM TO RATE"));
    EXPECT_EQ(refusal_of("torus blah"), "line 1, \"torus blah\": " + form("torus RATE SIZE ..."));
    EXPECT_EQ(refusal_of("nodes 2\nrate 0 5\n"),
              "line 2, \"rate 0 5\": the network has 0 links so far");
    EXPECT_EQ(refusal_of("engine_rate nan\n"),
              "line 1, \"engine_rate nan\": " + form("engine_rate NUMBER"));
    EXPECT_EQ(refusal_of("switches 1\nnodes 1\n"),
              "line 1, \"switches 1\": \"nodes COUNT\" comes first");
    EXPECT_EQ(refusal_of("route 0 1 0\nroute 0 1 0\n"),
              "line 2, \"route 0 1 0\": this route has been listed already");
    EXPECT_EQ(refusal_of("# nothing\n"),
              "no statement begins a network: \"nodes COUNT\", \"torus RATE SIZE ...\" and "
              "\"preset NAME SIZE ...\" do");
}

TEST(NetworkText, refuses_a_network_that_does_not_pass_its_check) {
    EXPECT_NE(refusal_of(""), "it was read");
    EXPECT_NE(refusal_of("nodes 2\nlink 0 2 5\n"), "it was read");
    EXPECT_NE(refusal_of("nodes 2\nengines 9\n"), "it was read");
    EXPECT_NE(refusal_of("nodes 2\nlink_loss 0.5\n"), "it was read");
}

TEST(NetworkText, refuses_a_line_of_too_many_words) {
    std::string route = "route 0 1";
    for (std::uint32_t i = 0; i <= route_links_max; ++i) route += " 0";
    EXPECT_EQ(refusal_of("nodes 2\n" + route + "\n"),
              "line 2, \"" + route.substr(0, 60) + "...\": too many words");
}

}  // namespace
}  // namespace acp::exchange
