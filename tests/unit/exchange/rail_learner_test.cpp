// SPDX-License-Identifier: BSD-3-Clause
// Rails that lead to the same places: how messages are divided, and in the simulator, how soon a rail that becomes slow gets less.
#include "exchange/rail_learner.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

#include "base/random.hpp"
#include "exchange/fluid.hpp"

namespace acp::exchange {
namespace {

using Messages = std::vector<std::uint64_t>;

std::vector<std::uint64_t> bytes_of(const std::vector<std::vector<SentPiece>>& rails) {
    std::vector<std::uint64_t> bytes;
    for (const auto& pieces : rails) {
        bytes.push_back(std::accumulate(
            pieces.begin(), pieces.end(), std::uint64_t{0},
            [](std::uint64_t sum, const SentPiece& piece) { return sum + piece.bytes; }));
    }
    return bytes;
}

TEST(RailLearner, divides_equally_where_nothing_is_known) {
    const RailLearner learner(4);
    const auto rails = learner.divide(Messages{4096, 2048, 2048});
    EXPECT_EQ(bytes_of(rails), (Messages{2048, 2048, 2048, 2048}));
    EXPECT_EQ(rails[1], (std::vector<SentPiece>{{0, 2048, 2048}}));
    EXPECT_EQ(learner.rate(0), 0);
}

TEST(RailLearner, divides_by_the_rates_that_were_seen) {
    RailLearner learner(2);
    learner.note(0, 3000, 1);
    learner.note(1, 1000, 1);
    learner.note(1, 0, 1);     // says nothing
    learner.note(1, 1000, 0);  // neither
    EXPECT_EQ(bytes_of(learner.divide(Messages{64'000})), (Messages{48'000, 16'000}));
    learner.note(0, 1000, 1);
    EXPECT_EQ(learner.rate(0), 2000);
}

TEST(RailLearner, every_byte_is_sent_once_and_few_messages_are_cut) {
    base::Random random(4);
    for (int round = 0; round < 1000; ++round) {
        const auto count = 1 + static_cast<unsigned>(random.below(8));
        RailLearner learner(count);
        for (unsigned rail = 0; rail < count; ++rail) learner.note(rail, 1 + random.below(5000), 1);
        Messages messages(random.below(12));
        for (auto& bytes : messages)
            bytes = random.below(3) == 0 ? random.below(100) : random.below(1 << 20);
        Messages next(messages.size());
        std::size_t pieces = 0;
        for (const auto& rail : learner.divide(messages)) {
            for (const SentPiece& piece : rail) {
                ASSERT_EQ(piece.offset_bytes, next[piece.message]);
                ASSERT_NE(piece.bytes, 0U);
                next[piece.message] += piece.bytes;
                ++pieces;
            }
        }
        ASSERT_EQ(next, messages);
        ASSERT_LE(pieces, messages.size() + count - 1);
    }
}

constexpr ModelNode ring = 6;
constexpr unsigned rails = 4;
constexpr double rail_rate = 1000;

// A ring of nodes with four rails, each a network of its own: rail r of node i is the model's node r x ring + i.
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

    // The time of an exchange over the best one; the nodes measure with 3 % noise.
    double exchange(const NetworkModel& model, double rates_together) {
        const Messages messages{400'000, 250'000, 100'000};
        std::vector<FluidQueue> queues;
        std::vector<std::uint64_t> sent;
        for (ModelNode i = 0; i < ring; ++i) {
            const auto divided = learners_[i].divide(messages);
            for (unsigned rail = 0; rail < rails; ++rail) {
                FluidQueue queue{rail * ring + i, 0, 0, {}};
                for (const SentPiece& piece : divided[rail]) {
                    const ModelNode to = (i + (piece.message == 1 ? ring - 1 : 1)) % ring;
                    queue.commands.push_back(
                        {rail * ring + to, any_receive_engine, static_cast<double>(piece.bytes)});
                }
                queues.push_back(std::move(queue));
                sent.push_back(bytes_of(divided)[rail]);
            }
        }
        const auto times = FluidSimulation(model).run(queues).value();
        for (std::size_t i = 0; i < queues.size(); ++i) {
            const double noise = 0.97 + 0.06 * static_cast<double>(random_.below(1000)) / 1000;
            learners_[i / rails].note(static_cast<unsigned>(i % rails), sent[i],
                                      times.node_end_us[queues[i].node] * noise);
        }
        const double total = std::accumulate(messages.begin(), messages.end(), 0.0);
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
    const NetworkModel whole = rails_with(rails, rail_rate);
    for (int i = 0; i < 20; ++i) (void)nodes.exchange(whole, rails * rail_rate);
    EXPECT_LE(nodes.exchange(whole, rails * rail_rate), 1.1);
}

}  // namespace
}  // namespace acp::exchange
