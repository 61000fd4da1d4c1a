// SPDX-License-Identifier: BSD-3-Clause
// All nodes take their steps in a model, where a message needs its sender and its receiver: every
// node gets the result, no node waits for ever, and steps and elements are as few as promised.
#include "team/node_steps.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

namespace acp::team {
namespace {

constexpr std::uint32_t nobody = NodeStep::nobody;

std::vector<std::uint32_t> node_counts() {
    std::vector<std::uint32_t> counts;
    for (std::uint32_t nodes = 1; nodes <= 40; ++nodes) counts.push_back(nodes);
    counts.insert(counts.end(), {63, 64, 65, 127, 333, 1000, 1024, 1100});
    return counts;
}

// The nodes whose elements are combined in a value.
struct Combined {
    std::uint32_t first = 0;
    std::uint32_t behind = 0;

    bool operator==(const Combined&) const = default;
};

// Runs the steps of all nodes on values of their own.
class Model {
public:
    using Values = std::vector<Combined>;

    // Each node begins with `count` values of its own.
    Model(std::uint32_t nodes, std::uint64_t count) : states_(nodes) {
        for (std::uint32_t node = 0; node < nodes; ++node)
            states_[node].values.assign(count, Combined{node, node + 1});
    }

    // Each node begins with its own one of `nodes` values, and lacks the others.
    explicit Model(std::uint32_t nodes) : states_(nodes) {
        for (std::uint32_t node = 0; node < nodes; ++node) {
            states_[node].values.resize(nodes);
            states_[node].values[node] = {node, node + 1};
        }
    }

    void add(std::uint32_t node, std::vector<NodeStep> steps) {
        states_[node].steps = std::move(steps);
    }

    // False: a step never ends.
    bool run() {
        bool has_moved = true;
        while (has_moved) {
            has_moved = false;
            for (std::uint32_t node = 0; node < states_.size(); ++node) {
                while (move(node)) has_moved = true;
            }
        }
        return std::all_of(states_.begin(), states_.end(),
                           [](const State& state) { return state.current() == nullptr; });
    }

    [[nodiscard]] const Values& values(std::uint32_t node) const { return states_[node].values; }

    [[nodiscard]] std::uint64_t received(std::uint32_t node) const {
        return states_[node].received_count;
    }

private:
    struct State {
        std::vector<NodeStep> steps;
        std::size_t at = 0;
        bool has_sent = false;
        bool has_received = false;
        Values values;
        Values arrived;
        std::uint64_t received_count = 0;

        [[nodiscard]] const NodeStep* current() const {
            return at < steps.size() ? &steps[at] : nullptr;
        }
    };

    // Sends a node's message if it can be received, or ends the node's step. False: neither.
    bool move(std::uint32_t node) {
        State& state = states_[node];
        const NodeStep* const step = state.current();
        if (step == nullptr) return false;
        if (step->to != nobody && !state.has_sent && send(node, *step, states_[step->to]))
            return true;
        if ((step->to != nobody && !state.has_sent) ||
            (step->from != nobody && !state.has_received))
            return false;
        if (step->from != nobody) take(state, *step);
        ++state.at;
        state.has_sent = state.has_received = false;
        return true;
    }

    bool send(std::uint32_t node, const NodeStep& step, State& target) {
        const NodeStep* const other = target.current();
        if (other == nullptr || other->from != node || target.has_received) return false;
        EXPECT_EQ(other->received.begin, step.sent.begin);
        EXPECT_EQ(other->received.count, step.sent.count);
        State& state = states_[node];
        target.arrived.clear();
        for (std::uint64_t i = 0; i < step.sent.count; ++i)
            target.arrived.push_back(state.values[(step.sent.begin + i) % state.values.size()]);
        state.has_sent = target.has_received = true;
        return true;
    }

    static void take(State& state, const NodeStep& step) {
        state.received_count += step.received.count;
        for (std::uint64_t i = 0; i < step.received.count; ++i) {
            Combined& own = state.values[(step.received.begin + i) % state.values.size()];
            const Combined other = state.arrived[i];
            ASSERT_NE(step.how, Received::none);
            if (step.how == Received::is_result) {
                ASSERT_NE(other, Combined{}) << "the sender lacks it";
                own = other;
            } else {
                const bool is_first = step.how == Received::is_first;
                const Combined& first = is_first ? other : own;
                const Combined& second = is_first ? own : other;
                ASSERT_EQ(first.behind, second.first) << "not in the order of the nodes";
                own = {first.first, second.behind};
            }
        }
    }

    std::vector<State> states_;
};

std::uint64_t log2_up(std::uint32_t nodes) {
    return static_cast<std::uint64_t>(std::bit_width(nodes - 1));
}

TEST(NodeSteps, an_all_reduce_combines_all_nodes_in_order_on_all) {
    for (const std::uint32_t nodes : node_counts()) {
        SCOPED_TRACE(nodes);
        constexpr std::uint64_t count = 3;
        Model model(nodes, count);
        for (std::uint32_t node = 0; node < nodes; ++node) {
            auto steps = all_reduce_steps(nodes, node, count, false);
            EXPECT_LE(steps.size(), log2_up(nodes) + 1);
            model.add(node, std::move(steps));
        }
        ASSERT_TRUE(model.run());
        for (std::uint32_t node = 0; node < nodes; ++node)
            ASSERT_EQ(model.values(node), Model::Values(count, Combined{0, nodes})) << node;
    }
}

TEST(NodeSteps, a_split_all_reduce_brings_each_element_to_a_node_at_most_thrice) {
    for (const std::uint32_t nodes : node_counts()) {
        for (const std::uint64_t count : {std::uint64_t{nodes}, std::uint64_t{nodes} + 5}) {
            SCOPED_TRACE(nodes);
            Model model(nodes, count);
            for (std::uint32_t node = 0; node < nodes; ++node) {
                auto steps = all_reduce_steps(nodes, node, count, true);
                EXPECT_LE(steps.size(), 2 * log2_up(nodes) + 1);
                model.add(node, std::move(steps));
            }
            ASSERT_TRUE(model.run());
            for (std::uint32_t node = 0; node < nodes; ++node) {
                ASSERT_EQ(model.values(node), Model::Values(count, Combined{0, nodes})) << node;
                // halves of odd numbers of elements are rounded up
                EXPECT_LE(model.received(node), 3 * count + log2_up(nodes));
            }
        }
    }
}

TEST(NodeSteps, fewer_elements_than_nodes_are_not_split) {
    EXPECT_EQ(all_reduce_steps(64, 5, 63, true).size(), all_reduce_steps(64, 5, 63, false).size());
    EXPECT_EQ(all_reduce_steps(64, 5, 64, true).size(), 12U);
}

TEST(NodeSteps, a_reduction_brings_the_result_to_any_root) {
    for (const std::uint32_t nodes : node_counts()) {
        for (const std::uint32_t root : {std::uint32_t{0}, nodes / 2, nodes - 1}) {
            SCOPED_TRACE(nodes);
            Model model(nodes, 2);
            for (std::uint32_t node = 0; node < nodes; ++node) {
                auto steps = reduce_steps(nodes, node, 2, root);
                EXPECT_LE(steps.size(), log2_up(nodes) + 2);
                model.add(node, std::move(steps));
            }
            ASSERT_TRUE(model.run());
            EXPECT_EQ(model.values(root), Model::Values(2, Combined{0, nodes}));
        }
    }
}

TEST(NodeSteps, a_gathering_brings_each_node_each_other_part_once) {
    for (const std::uint32_t nodes : node_counts()) {
        SCOPED_TRACE(nodes);
        Model model(nodes);
        for (std::uint32_t node = 0; node < nodes; ++node) {
            auto steps = gather_steps(nodes, node);
            EXPECT_EQ(steps.size(), log2_up(nodes));
            model.add(node, std::move(steps));
        }
        ASSERT_TRUE(model.run());
        for (std::uint32_t node = 0; node < nodes; ++node) {
            EXPECT_EQ(model.received(node), nodes - 1);
            for (std::uint32_t part = 0; part < nodes; ++part)
                ASSERT_EQ(model.values(node)[part], (Combined{part, part + 1})) << node;
        }
    }
}

}  // namespace
}  // namespace acp::team
