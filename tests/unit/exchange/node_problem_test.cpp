// SPDX-License-Identifier: BSD-3-Clause
// One node's problem: routes as bits, and rates as max-min fairness gives them.
#include "exchange/node_problem.hpp"

#include <gtest/gtest.h>
#include <map>
#include <vector>

#include "base/random.hpp"
#include "exchange/network_presets.hpp"

#include "exchange_study/max_min.hpp"

namespace acp::exchange {
namespace {

using base::Code;

NodeProblem problem_of(const std::vector<std::uint32_t>& sizes,
                       const std::vector<OffsetMessage>& messages,
                       const NodeRates& node = {}) {
    auto problem =
        NodeProblem::symmetric(make_torus(sizes, tofu_link_rate, node).value(), messages);
    EXPECT_TRUE(problem.is_ok());
    return std::move(problem).value();
}

TEST(NodeProblem, names_directions_and_sorts_diagonals_last) {
    const auto problem = problem_of({6, 8}, {{{-1, 1}, 5}, {{1, 0}, 7}, {{0, -1}, 9}, {{1, 0}, 3}});
    ASSERT_EQ(problem.classes().size(), 3U);
    EXPECT_EQ(problem.classes()[0].name, "E");
    EXPECT_EQ(problem.classes()[1].name, "S");
    EXPECT_EQ(problem.classes()[2].name, "NW");
    EXPECT_EQ(problem.classes()[2].links, 2U | 4U);
    EXPECT_EQ(problem.classes()[2].dimensions, 2);
    EXPECT_EQ(problem.messages()[0].route_class, 2);
    EXPECT_EQ(problem.messages()[3].route_class, 0);
    EXPECT_EQ(problem.messages()[3].bytes, 3);
}

TEST(NodeProblem, goes_the_short_way_and_counts_the_hops) {
    const auto problem = problem_of({6, 8}, {{{4, 0}, 5}, {{2, 3}, 5}, {{-3, 0}, 5}});
    EXPECT_EQ(problem.classes()[0].name, "(-2,0)");
    EXPECT_EQ(problem.uses(0, 1), 2U);
    EXPECT_EQ(problem.classes()[0].rate_max, tofu_link_rate / 2);
    EXPECT_EQ(problem.classes()[1].name, "(-3,0)");
    EXPECT_EQ(problem.classes()[2].hops, 5);
    EXPECT_EQ(problem.uses(2, 0), 2U);
    EXPECT_EQ(problem.uses(2, 2), 3U);
}

TEST(NodeProblem, refuses_bad_patterns) {
    const NetworkModel torus = make_torus({6, 8}, 5000, {}).value();
    const auto code_of = [&](const std::vector<OffsetMessage>& messages) {
        return NodeProblem::symmetric(torus, messages).failure().code();
    };
    EXPECT_EQ(code_of({}), Code::limit);
    EXPECT_EQ(code_of({{{6, 8}, 5}}), Code::argument);
    EXPECT_EQ(code_of({{{1, 0}, 0}}), Code::argument);
    EXPECT_EQ(code_of({{{1, 0}, message_bytes_max + 1}}), Code::argument);
    EXPECT_EQ(code_of(std::vector<OffsetMessage>(pattern_messages_max + 1, {{1}, 5})), Code::limit);
    EXPECT_EQ(NodeProblem::symmetric(preset_network("four-nic").value(),
                                     std::vector<OffsetMessage>{{{1}, 5}})
                  .failure()
                  .code(),
              Code::argument);
}

// The quick rates of few flows are those of the general algorithm over the same resources.
TEST(NodeProblem, shares_as_max_min_fairness_does) {
    base::Random random(11);
    for (int round = 0; round < 2000; ++round) {
        NodeRates node;
        node.engines = static_cast<std::uint32_t>(1 + random.below(engines_max));
        node.injection_rate = 4000 + static_cast<double>(random.below(20'000));
        node.reception_rate = node.injection_rate;
        std::vector<OffsetMessage> messages;
        const auto reach = static_cast<std::int32_t>(1 + random.below(2));
        // A flow that uses a link twice has losses there as two flows in one of both algorithms:
        // not in question here.
        node.link_loss = reach == 1 && random.below(2) == 0 ? 0.01 : 0;
        while (messages.size() < 12) {
            OffsetMessage message{{}, 100};
            for (int i = 0; i < 3; ++i) {
                message.offset[static_cast<std::size_t>(i)] =
                    static_cast<std::int32_t>(
                        random.below(2 * static_cast<std::uint64_t>(reach) + 1)) -
                    reach;
            }
            if (message.offset != decltype(message.offset){}) messages.push_back(message);
        }
        auto torus = make_torus({7, 7, 7}, tofu_link_rate, node).value();
        if (random.below(2) == 0) torus.links[2].rate = 3000;
        const auto problem = NodeProblem::symmetric(torus, messages).value();
        std::vector<double> capacities = problem.link_rates();
        capacities.push_back(node.injection_rate);
        exchange_study::MaxMinFair fair(capacities, 6, node.link_loss);
        const auto count = static_cast<unsigned>(1 + random.below(node.engines));
        std::vector<ClassIndex> flows(count);
        std::vector<std::vector<std::uint32_t>> paths(count);
        std::vector<exchange_study::SharedPath> shared;
        for (unsigned i = 0; i < count; ++i) {
            flows[i] = static_cast<ClassIndex>(random.below(problem.classes().size()));
            paths[i].push_back(6);
            for (unsigned link = 0; link < 6; ++link)
                paths[i].insert(paths[i].end(), problem.uses(flows[i], link), link);
            shared.push_back({paths[i], node.engine_rate});
        }
        std::vector<double> expected;
        fair.share(shared, expected);
        double rates[engines_max];
        problem.share(flows.data(), count, rates);
        for (unsigned i = 0; i < count; ++i)
            ASSERT_NEAR(rates[i], expected[i], 1e-3) << "round " << round;
    }
}

// The shares for each key that occurs with random sets of flows.
std::map<std::uint64_t, std::vector<double>> shares_by_key(const NodeProblem& problem) {
    base::Random random(5);
    std::map<std::uint64_t, std::vector<double>> shares;
    for (int i = 0; i < 50'000; ++i) {
        std::vector<ClassIndex> flows(1 + random.below(keyed_flows_max));
        for (ClassIndex& flow : flows)
            flow = static_cast<ClassIndex>(random.below(problem.classes().size()));
        const auto count = static_cast<unsigned>(flows.size());
        std::vector<double> rates(count);
        problem.share(flows.data(), count, rates.data());
        const std::uint64_t key = problem.sharing_key(flows.data(), count);
        EXPECT_NE(key, 0U);
        EXPECT_EQ(shares.try_emplace(key, rates).first->second, rates) << "key " << key;
    }
    return shares;
}

std::vector<OffsetMessage> to_all_neighbours() {
    std::vector<OffsetMessage> messages;
    for (int way = 0; way < 27; ++way) {
        const OffsetMessage message{{way % 3 - 1, way / 3 % 3 - 1, way / 9 - 1}, 100};
        if (message.offset != OffsetMessage{}.offset) messages.push_back(message);
    }
    return messages;
}

TEST(NodeProblem, flows_with_the_same_key_share_alike_and_there_are_few_keys) {
    const NodeProblem problem = problem_of({8, 8, 8}, to_all_neighbours());
    ASSERT_EQ(problem.classes().size(), 26U);
    EXPECT_LT(shares_by_key(problem).size(), 500U);
}

TEST(NodeProblem,
     flows_with_the_same_key_share_alike_where_links_differ_or_lose_or_are_used_twice) {
    auto torus = make_torus({8, 8, 8}, tofu_link_rate, {}).value();
    torus.links[2].rate = 4500;  // more than an engine, so all flows have one rate alone
    (void)shares_by_key(NodeProblem::symmetric(torus, to_all_neighbours()).value());
    NodeRates node;
    node.link_loss = 0.02;
    (void)shares_by_key(problem_of({8, 8, 8}, to_all_neighbours(), node));
    std::vector<OffsetMessage> messages = to_all_neighbours();
    messages.push_back({{2, 0, 0}, 100});
    (void)shares_by_key(problem_of({8, 8, 8}, messages));
}

}  // namespace
}  // namespace acp::exchange
