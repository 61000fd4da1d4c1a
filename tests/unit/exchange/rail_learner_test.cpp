// SPDX-License-Identifier: BSD-3-Clause
// Rails that lead to the same nodes: how pieces are assigned to them, and, in the simulator, how
// soon a rail that becomes slow gets less.
#include "exchange/rail_learner.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

#include "base/random.hpp"
#include "exchange/send_order.hpp"

#include "exchange_study/fluid.hpp"

namespace acp::exchange {
namespace {

using Pieces = std::vector<std::uint64_t>;

Pieces bytes_of(const Pieces& pieces, const std::vector<unsigned>& rail_of, unsigned rails) {
    Pieces bytes(rails);
    for (std::size_t i = 0; i < pieces.size(); ++i) bytes[rail_of[i]] += pieces[i];
    return bytes;
}

TEST(RailLearner, gives_all_rails_alike_where_nothing_is_known) {
    RailLearner learner(4);
    EXPECT_EQ(learner.assign(Pieces{10, 10, 10, 10, 0}), (std::vector<unsigned>{0, 1, 2, 3, 0}));
    EXPECT_EQ(learner.rate(0), 0);
    EXPECT_EQ(learner.rails(), 4U);
}

TEST(RailLearner, gives_by_the_rates_that_were_seen) {
    RailLearner learner(2);
    learner.note(0, 3000, 1);
    learner.note(1, 1000, 1);
    learner.note(1, 0, 1);     // says nothing
    learner.note(1, 1000, 0);  // neither
    const Pieces pieces(64, 1000);
    EXPECT_EQ(bytes_of(pieces, learner.assign(pieces), 2), (Pieces{48'000, 16'000}));
    learner.note(0, 1000, 1);
    EXPECT_EQ(learner.rate(0), 2000);
}

TEST(RailLearner, no_rail_ends_later_than_by_one_piece) {
    base::Random random(4);
    for (int round = 0; round < 1000; ++round) {
        const auto count = 1 + static_cast<unsigned>(random.below(4));
        RailLearner learner(count);
        double rates = 0;
        for (unsigned rail = 0; rail < count; ++rail) {
            learner.note(rail, 100 + random.below(900), 1);
            rates += learner.rate(rail);
        }
        Pieces pieces(1 + random.below(60));
        for (auto& bytes : pieces) bytes = 1 + random.below(1 << 16);
        const auto longest = static_cast<double>(*std::max_element(pieces.begin(), pieces.end()));
        const double total = std::accumulate(pieces.begin(), pieces.end(), 0.0);
        const Pieces bytes = bytes_of(pieces, learner.assign(pieces), count);
        // Each piece was assigned to the rail on which it ended first, so all other rails were busy
        // until a piece before that.
        for (unsigned rail = 0; rail < count; ++rail) {
            const double end = static_cast<double>(bytes[rail]) / learner.rate(rail);
            ASSERT_LE(end, (total + (count - 1) * longest) / rates + 1e-9);
        }
    }
}

TEST(RailLearner, a_rail_that_gets_nothing_is_tried_once_in_a_while) {
    RailLearner learner(2);
    learner.note(0, 1000, 1);
    learner.note(1, 1, 1);
    const Pieces pieces{30, 10, 20, 0};
    for (unsigned i = 1; i < RailLearner::idle_max; ++i)
        ASSERT_EQ(learner.assign(pieces), (std::vector<unsigned>{0, 0, 0, 0})) << i;
    EXPECT_EQ(learner.assign(pieces), (std::vector<unsigned>{0, 1, 0, 0}));
    EXPECT_EQ(learner.assign(pieces), (std::vector<unsigned>{0, 0, 0, 0}));
    RailLearner fresh(2);
    for (unsigned i = 0; i < 2 * RailLearner::idle_max; ++i)
        ASSERT_TRUE(fresh.assign(Pieces{}).empty());
}

constexpr ModelNode ring = 6;
constexpr unsigned rails = 4;
constexpr double rail_rate = 1000;

// A ring of nodes with four rails, each a network of its own: rail r of node i is the model's node
// r x ring + i.
NetworkModel rails_with(unsigned slow_rail, double slow_rate) {
    NetworkModel model;
    model.node.engines = 1;
    model.node.engine_rate = rail_rate;
    model.nodes = rails * ring;
    for (unsigned rail = 0; rail < rails; ++rail) {
        for (ModelNode i = 0; i < ring; ++i) {
            for (const ModelNode next : {(i + 1) % ring, (i + ring - 1) % ring}) {
                model.links.push_back({rail * ring + i, rail * ring + next,
                                       rail == slow_rail ? slow_rate : rail_rate});
            }
        }
    }
    return model;
}

// Nodes that exchange with both neighbours, each with a learner of its own.
class RingOfRails {
public:
    RingOfRails() : learners_(ring, RailLearner(rails)) {}

    // The time of an exchange relative to the best possible one; nodes measure with 3 % noise.
    double exchange(const NetworkModel& model, double rates_together) {
        const std::vector<SentMessage> messages{
            {1, 1'600'000}, {ring - 1, 1'000'000}, {1, 400'000}};
        const SendOrder order = longest_first(messages, rails);
        Pieces pieces;
        for (const SentPiece& piece : order.pieces) pieces.push_back(piece.bytes);
        std::vector<exchange_study::FluidQueue> queues;
        std::vector<std::uint64_t> sent;
        for (ModelNode i = 0; i < ring; ++i) {
            const auto rail_of = learners_[i].assign(pieces);
            const Pieces bytes = bytes_of(pieces, rail_of, rails);
            for (unsigned rail = 0; rail < rails; ++rail) {
                exchange_study::FluidQueue queue{rail * ring + i, 0, 0, {}};
                for (std::size_t k = 0; k < pieces.size(); ++k) {
                    if (rail_of[k] != rail) continue;
                    const ModelNode to = (i + messages[order.pieces[k].message].to) % ring;
                    queue.commands.push_back({rail * ring + to, exchange_study::any_receive_engine,
                                              static_cast<double>(pieces[k])});
                }
                queues.push_back(std::move(queue));
                sent.push_back(bytes[rail]);
            }
        }
        const auto times = exchange_study::FluidSimulation(model).run(queues).value();
        for (std::size_t i = 0; i < queues.size(); ++i) {
            const double noise = 0.97 + 0.06 * static_cast<double>(random_.below(1000)) / 1000;
            learners_[i / rails].note(static_cast<unsigned>(i % rails), sent[i],
                                      times.node_end_us[queues[i].node] * noise);
        }
        const double total = std::accumulate(pieces.begin(), pieces.end(), 0.0);
        return times.transfer_us / (total / rates_together);
    }

private:
    std::vector<RailLearner> learners_;
    base::Random random_{11};
};

TEST(RailLearner, ten_exchanges_after_a_rail_was_halved_little_is_lost) {
    RingOfRails nodes;
    const NetworkModel whole = rails_with(rails, rail_rate);
    for (int i = 0; i < 10; ++i) EXPECT_LE(nodes.exchange(whole, rails * rail_rate), 1.1) << i;
    const NetworkModel halved = rails_with(2, rail_rate / 2);
    const double halved_rates = (rails - 0.5) * rail_rate;
    EXPECT_GT(nodes.exchange(halved, halved_rates), 1.6);  // as if all were equal
    for (int i = 1; i < 10; ++i) (void)nodes.exchange(halved, halved_rates);
    for (int i = 10; i < 20; ++i) EXPECT_LE(nodes.exchange(halved, halved_rates), 1.1) << i;
    for (int i = 0; i < 10; ++i)
        (void)nodes.exchange(whole, rails * rail_rate);  // it has recovered
    EXPECT_LE(nodes.exchange(whole, rails * rail_rate), 1.1);
}

TEST(RailLearner, a_rail_that_was_as_good_as_dead_is_used_again) {
    RingOfRails nodes;
    const NetworkModel dead = rails_with(0, 0.001 * rail_rate);
    for (int i = 0; i < 20; ++i) (void)nodes.exchange(dead, (rails - 1) * rail_rate);
    EXPECT_LE(nodes.exchange(dead, (rails - 1) * rail_rate), 1.1);
    const NetworkModel whole = rails_with(rails, rail_rate);
    for (unsigned i = 0; i < RailLearner::idle_max + 10; ++i)
        (void)nodes.exchange(whole, rails * rail_rate);
    EXPECT_LE(nodes.exchange(whole, rails * rail_rate), 1.1);
}

}  // namespace
}  // namespace acp::exchange
