// SPDX-License-Identifier: BSD-3-Clause
// The channel ends of a team on two ranks of one process: made by their first use, one for each
// direction, used by several messages at once, given up, and freed together with the partner's.
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "message/pairing.hpp"
#include "team/far_message.hpp"

#include "support/rank_node.hpp"

namespace acp::team {
namespace {

using base::Code;
using message::ChannelEnd;
using message::Side;

constexpr std::uint64_t team_number = 77;
const Signature signature(CollectiveCall::broadcast, 8);

struct TeamSide {
    explicit TeamSide(acp::test::NodeRank& rank)
        : pairing(*rank.gma, *rank.hashed), tools{*rank.gma, *rank.allocator, pairing, {}} {}

    ChannelEnd& end(std::uint32_t process, Side side) {
        auto found = ends.end(process, side);
        EXPECT_TRUE(found.is_ok()) << found.failure().message();
        return *found.value();
    }

    message::Pairing pairing;
    message::ChannelTools tools;
    FarEnds ends{tools, team_number};
};

class FarEndsTest : public testing::Test {
protected:
    // Passes over all messages until each has ended.
    static void finish(const std::vector<FarMessage*>& messages) {
        for (std::uint32_t i = 0; i < passes_max; ++i) {
            bool have_all = true;
            for (FarMessage* message : messages) have_all = message->has_ended() && have_all;
            if (have_all) return;
        }
        FAIL() << "a message never ends";
    }

    // Frees the ends of both sides. Returns the number of passes.
    std::uint32_t free_all() {
        for (TeamSide& side : sides_) side.ends.begin_free();
        std::uint32_t passes = 0;
        for (bool are_freed = false; !are_freed && passes < passes_max; ++passes) {
            are_freed = true;
            for (TeamSide& side : sides_) {
                if (passes % 16 == 15) side.ends.look_thoroughly();
                are_freed = side.ends.are_freed() && are_freed;
            }
        }
        return passes;
    }

    // Sends from rank 0 to rank 1 and expects the bytes there.
    void expect_delivery(std::uint64_t bytes) {
        const std::vector<char> source(bytes, 'b');
        std::vector<char> target(bytes, 'a');
        FarMessage sent;
        FarMessage received;
        sent.begin_send(sides_[0].end(1, Side::sender), 1, signature, source.data(), bytes);
        received.begin_receive(sides_[1].end(0, Side::receiver), 0, signature, target.data(),
                               bytes);
        finish({&sent, &received});
        EXPECT_EQ(sent.code(), Code::ok) << sent.reason();
        EXPECT_EQ(received.code(), Code::ok) << received.reason();
        EXPECT_EQ(target, source);
    }

    static constexpr std::uint32_t passes_max = 100'000;

    acp::test::RankNode ranks_{2};
    TeamSide sides_[2] = {TeamSide(ranks_[0]), TeamSide(ranks_[1])};
};

TEST_F(FarEndsTest, an_end_is_made_by_its_first_use_one_for_each_direction) {
    ChannelEnd& sender = sides_[0].end(1, Side::sender);
    ChannelEnd& receiver = sides_[0].end(1, Side::receiver);
    EXPECT_NE(&sender, &receiver);
    EXPECT_EQ(&sides_[0].end(1, Side::sender), &sender);
    EXPECT_EQ(&sides_[0].end(1, Side::receiver), &receiver);
    EXPECT_EQ(sender.partner(), 1U);
    EXPECT_EQ(receiver.partner(), 1U);
}

TEST_F(FarEndsTest, messages_of_one_end_are_in_flight_at_once_and_arrive_in_their_order) {
    const std::vector<std::uint64_t> lengths{5000, 0, 8, FarMessage::packed_bytes_max, 100'000, 1};
    std::vector<std::vector<char>> sources;
    std::vector<std::vector<char>> targets;
    std::vector<FarMessage> sent(lengths.size());
    std::vector<FarMessage> received(lengths.size());
    std::vector<FarMessage*> all;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        sources.emplace_back(lengths[i], static_cast<char>('b' + i));
        targets.emplace_back(lengths[i], 'a');
    }
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        sent[i].begin_send(sides_[0].end(1, Side::sender), 1, signature, sources[i].data(),
                           lengths[i]);
        received[i].begin_receive(sides_[1].end(0, Side::receiver), 0, signature, targets[i].data(),
                                  lengths[i]);
        all.insert(all.end(), {&received[i], &sent[i]});
    }
    EXPECT_TRUE(received[0].is_under_way());
    finish(all);
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        EXPECT_EQ(received[i].code(), Code::ok) << lengths[i];
        EXPECT_FALSE(received[i].is_under_way());
        EXPECT_EQ(targets[i], sources[i]) << lengths[i];
    }
}

TEST_F(FarEndsTest, two_directions_carry_messages_of_different_calls) {
    const Signature other(CollectiveCall::gather, 4);
    std::uint64_t to = 0;
    std::uint32_t back = 0;
    const std::uint64_t eight = 8;
    const std::uint32_t four = 4;
    FarMessage sent;
    FarMessage received;
    FarMessage answer;
    FarMessage answered;
    sent.begin_send(sides_[0].end(1, Side::sender), 1, signature, &eight, sizeof eight);
    answer.begin_send(sides_[1].end(0, Side::sender), 0, other, &four, sizeof four);
    received.begin_receive(sides_[1].end(0, Side::receiver), 0, signature, &to, sizeof to);
    answered.begin_receive(sides_[0].end(1, Side::receiver), 1, signature, &back, sizeof back);
    finish({&sent, &received, &answer, &answered});
    EXPECT_EQ(received.code(), Code::ok);
    EXPECT_EQ(to, 8U);
    EXPECT_EQ(answered.code(), Code::mismatch) << "rank 1 sent it in another call";
    EXPECT_EQ(answered.found(), other);
    EXPECT_EQ(answered.expected(), signature);
    EXPECT_EQ(back, 0U) << "the bytes of another call are not delivered";
}

TEST_F(FarEndsTest, ends_are_freed_when_both_sides_free_them_and_leave_no_block) {
    expect_delivery(8);
    EXPECT_LT(free_all(), passes_max);
    for (TeamSide& side : sides_) side.ends.drop();
    const std::vector<std::uint64_t> before =
        ranks_.used();  // the map in which ends find each other
    expect_delivery(8);
    expect_delivery(100'000);
    sides_[0].ends.begin_free();
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(sides_[0].ends.are_freed());
    EXPECT_EQ(sides_[0].ends.partner_awaited(), std::optional<std::uint32_t>(1))
        << "rank 1 has not begun to free its end";
    sides_[1].ends.begin_free();
    for (std::uint32_t i = 0; i < passes_max; ++i) {
        const bool is_first_freed = sides_[0].ends.are_freed();
        if (sides_[1].ends.are_freed() && is_first_freed) break;
    }
    for (TeamSide& side : sides_) {
        EXPECT_EQ(side.ends.partner_awaited(), std::nullopt);
        side.ends.drop();
    }
    EXPECT_EQ(ranks_.used(), before);
    ranks_.check_heaps();
}

TEST_F(FarEndsTest, ends_can_be_made_again_after_they_were_freed) {
    for (int i = 0; i < 3; ++i) {
        expect_delivery(64);
        EXPECT_LT(free_all(), passes_max);
        for (TeamSide& side : sides_) side.ends.drop();
    }
}

TEST_F(FarEndsTest, messages_of_abandoned_ends_fail_and_write_no_buffer) {
    expect_delivery(8);
    const std::vector<char> source(100, 'b');
    std::vector<char> target(100, 'a');
    FarMessage received;
    received.begin_receive(sides_[1].end(0, Side::receiver), 0, signature, target.data(), 100);
    EXPECT_FALSE(received.has_ended());
    sides_[1].ends.abandon();
    EXPECT_TRUE(received.has_ended());
    EXPECT_NE(received.code(), Code::ok);
    FarMessage sent;
    sent.begin_send(sides_[0].end(1, Side::sender), 1, signature, source.data(), 100);
    for (int i = 0; i < 100; ++i) (void)sent.has_ended();
    EXPECT_EQ(target, std::vector<char>(100, 'a'));
    sides_[0].ends.abandon();
    EXPECT_TRUE(sent.has_ended());
}

TEST_F(FarEndsTest, a_message_of_a_partner_that_dies_fails_with_its_name) {
    expect_delivery(8);
    std::uint64_t target = 0;
    FarMessage received;
    received.begin_receive(sides_[1].end(0, Side::receiver), 0, signature, &target, sizeof target);
    EXPECT_FALSE(received.has_ended());
    ranks_.die(0);
    received.look_thoroughly();
    ASSERT_TRUE(received.has_ended());
    EXPECT_EQ(received.code(), Code::peer);
    EXPECT_NE(received.reason().find("rank 0"), std::string::npos) << received.reason();
    sides_[1].ends.begin_free();
    sides_[1].ends.look_thoroughly();
    EXPECT_TRUE(sides_[1].ends.are_freed()) << "nobody else frees the ends of a dead partner";
}

}  // namespace
}  // namespace acp::team
