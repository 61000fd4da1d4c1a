// SPDX-License-Identifier: BSD-3-Clause
// The order in which a member's messages are sent.
#include "exchange/send_order.hpp"

#include <array>
#include <gtest/gtest.h>
#include <map>

#include "exchange/network_presets.hpp"

#include "exchange_study/paper_patterns.hpp"

namespace acp::exchange {
namespace {

// Checks that the pieces make up all messages, each byte once.
void expect_whole(const SendOrder& order, const std::vector<SentMessage>& messages) {
    std::map<std::uint32_t, std::map<std::uint64_t, std::uint64_t>> pieces;
    for (const SentPiece& piece : order.pieces)
        EXPECT_TRUE(pieces[piece.message].emplace(piece.offset_bytes, piece.bytes).second);
    for (std::uint32_t i = 0; i < messages.size(); ++i) {
        std::uint64_t end = 0;
        for (const auto& [offset, bytes] : pieces[i]) {
            EXPECT_EQ(offset, end) << "message " << i;
            end += bytes;
        }
        EXPECT_EQ(end, messages[i].bytes) << "message " << i;
    }
}

// The messages of the paper for all eight directions, as node 0 of the torus sends them.
std::vector<SentMessage> messages_of_paper(const NetworkModel& torus, std::uint32_t grid) {
    std::vector<SentMessage> messages;
    for (const OffsetMessage& message :
         exchange_study::paper_messages(exchange_study::PaperPattern::eight, grid)) {
        std::array<std::uint32_t, torus_dimensions_max> place{};
        for (std::size_t d = 0; d < torus.torus.size(); ++d) {
            const auto size = static_cast<std::int32_t>(torus.torus[d]);
            place[d] = static_cast<std::uint32_t>((message.offset[d] + size) % size);
        }
        messages.push_back({node_at(torus, place), message.bytes});
    }
    return messages;
}

TEST(SendOrderTest, without_a_network_the_longest_goes_first_and_whole) {
    const std::vector<SentMessage> messages{{1, 10}, {2, 0}, {1, 30}, {3, 20}, {2, 30}};
    const SendOrder order = longest_first(messages);
    const std::vector<SentPiece> expected{{2, 0, 30}, {4, 0, 30}, {3, 0, 20}, {0, 0, 10}};
    EXPECT_EQ(order.pieces, expected);
    EXPECT_EQ(order.predicted_us, 0);
}

TEST(SendOrderTest, for_several_rails_the_pieces_of_a_plan_are_cut_and_keep_their_engines) {
    const NetworkModel torus = make_torus({4, 4}, 5067, {}).value();
    const auto messages = messages_of_paper(torus, 872);
    const SendOrder whole = planned_order(torus, 0, messages).value();
    const SendOrder cut = planned_order(torus, 0, messages, 4).value();
    expect_whole(cut, messages);
    EXPECT_EQ(cut.predicted_us, whole.predicted_us);
    EXPECT_EQ(cut.engines, 4U);
    EXPECT_GT(cut.pieces.size(), whole.pieces.size());
    std::array<std::uint64_t, 4> bytes_whole{}, bytes_cut{};
    for (const SentPiece& piece : whole.pieces) bytes_whole[piece.engine] += piece.bytes;
    for (const SentPiece& piece : cut.pieces) {
        bytes_cut[piece.engine] += piece.bytes;
        EXPECT_LE(piece.bytes, rail_piece_bytes_min);
    }
    EXPECT_EQ(bytes_cut, bytes_whole);
}

TEST(SendOrderTest, for_several_rails_long_messages_are_cut_into_pieces) {
    const std::vector<SentMessage> messages{{1, 100}, {2, 10'000'001}, {1, 70'000}};
    for (const unsigned rails : {2U, 4U}) {
        const SendOrder order = longest_first(messages, rails);
        expect_whole(order, messages);
        EXPECT_GE(order.pieces.size(), 14 * rails);
        EXPECT_LE(order.pieces.size(), 18 * rails);
        for (const SentPiece& piece : order.pieces) EXPECT_EQ(piece.offset_bytes % 4096, 0U);
    }
    const SendOrder few = longest_first(std::vector<SentMessage>{{1, 70'000}}, 4);
    const std::vector<SentPiece> expected{{0, 0, 32'768}, {0, 32'768, 32'768}, {0, 65'536, 4464}};
    EXPECT_EQ(few.pieces, expected);
}

TEST(SendOrderTest, the_planner_orders_cuts_and_predicts) {
    auto torus = preset_network("tofu");
    ASSERT_TRUE(torus.is_ok());
    const auto messages = messages_of_paper(torus.value(), 872);
    const auto order = planned_order(torus.value(), 0, messages);
    ASSERT_TRUE(order.is_ok()) << order.failure().message();
    expect_whole(order.value(), messages);
    // docs/guide/exchange.md: no plan takes less than 103.77 us, BLbased(4) 106.8.
    EXPECT_GT(order.value().bound_us, 103.7);
    EXPECT_LT(order.value().predicted_us, 106.8);
    EXPECT_GE(order.value().predicted_us, order.value().bound_us);
}

TEST(SendOrderTest, messages_of_no_bytes_and_to_the_own_node_take_no_time) {
    auto torus = make_torus({4}, 5000, {});
    ASSERT_TRUE(torus.is_ok());
    const std::vector<SentMessage> own{{1, 100}, {1, 0}};
    const auto order = planned_order(torus.value(), 1, own);
    ASSERT_TRUE(order.is_ok());
    EXPECT_EQ(order.value().pieces, (std::vector<SentPiece>{{0, 0, 100}}));
    EXPECT_EQ(order.value().predicted_us, 0);
}

TEST(SendOrderTest, what_cannot_be_planned_is_refused) {
    auto torus = make_torus({4}, 5000, {});
    ASSERT_TRUE(torus.is_ok());
    const std::vector<SentMessage> far{{4, 100}};
    EXPECT_EQ(planned_order(torus.value(), 0, far).failure().code(), base::Code::argument);
    auto tree = preset_network("fat-tree");
    ASSERT_TRUE(tree.is_ok());
    EXPECT_EQ(planned_order(tree.value(), 0, {}).failure().code(), base::Code::argument);
}

}  // namespace
}  // namespace acp::exchange
