// SPDX-License-Identifier: BSD-3-Clause
// Short frames, and the completions that are collected into them: sent when there is room, kept up
// to a maximum when there is none.
#include "router/outbox.hpp"

#include <gtest/gtest.h>

#include "unit/router/lower_parts.hpp"

namespace acp::router::test {
namespace {

Note note_of(std::uint64_t token) {
    Note note;
    note.type = FrameType::ask;
    note.initiator = 2;
    note.token = token;
    return note;
}

TEST(OutboxTest, sends_a_short_frame_at_once_when_there_is_room) {
    LowerParts parts;
    parts.outbox.post(parts.nodes.peer(1), note_of(8));
    EXPECT_EQ(parts.outbox.waiting(), 0U);
    parts.deliver();
    const auto frames = parts.logs[1].short_frames();
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0].token, 8U);
}

TEST(OutboxTest, keeps_short_frames_in_order_and_the_node_ready_when_there_may_be_room) {
    LowerParts parts(false);
    RouterPeer& to = parts.nodes.peer(1);
    parts.outbox.post(to, note_of(2));
    parts.outbox.post(to, note_of(4));
    EXPECT_EQ(parts.outbox.waiting(), 2U);
    EXPECT_TRUE(to.is_blocked);
    EXPECT_FALSE(parts.outbox.is_any_ready());
    parts.outbox.unblock(to);
    EXPECT_TRUE(parts.outbox.is_any_ready());
    EXPECT_EQ(parts.outbox.take_ready(), &to);
    EXPECT_FALSE(parts.outbox.is_any_ready());
}

TEST(OutboxTest, severs_later_a_node_that_takes_no_more_than_can_be_kept) {
    LowerParts parts(false);
    RouterPeer& to = parts.nodes.peer(1);
    for (std::uint64_t i = 0; i < small_settings().notes_max; ++i) {
        parts.outbox.post(to, note_of(2 * i));
    }
    EXPECT_FALSE(parts.nodes.has_to_sever());
    parts.outbox.post(to, note_of(100));
    EXPECT_TRUE(parts.nodes.has_to_sever());
    EXPECT_EQ(parts.activity.counters().ends_overflows, 1U);
    parts.outbox.drop_waiting(to);
    EXPECT_EQ(parts.outbox.waiting(), 0U);
}

TEST(OutboxTest, posts_nothing_for_a_severed_node) {
    LowerParts parts(false);
    (void)parts.nodes.note_severed(1);
    parts.outbox.post(parts.nodes.peer(1), note_of(2));
    EXPECT_EQ(parts.outbox.waiting(), 0U);
}

TEST(OutboxTest, notes_since_when_there_is_no_memory) {
    LowerParts parts;
    RouterPeer& to = parts.nodes.peer(1);
    parts.network.endpoint(0).set_memory_refused(true);
    EXPECT_EQ(parts.outbox.reserve(to, 16), nullptr);
    const Time first = parts.activity.now();
    parts.activity.set_now(first + 5);
    EXPECT_EQ(parts.outbox.reserve(to, 16), nullptr);
    EXPECT_EQ(to.refused_at, first);
    EXPECT_EQ(parts.activity.counters().no_memory, 2U);
    parts.network.endpoint(0).set_memory_refused(false);
    EXPECT_NE(parts.outbox.reserve(to, 16), nullptr);
    EXPECT_EQ(to.refused_at, datagram::never);
}

TEST(EndsTest, sends_consecutive_completions_in_one_frame) {
    LowerParts parts;
    parts.ends.finish(2, 10);
    parts.ends.finish(2, 12);
    parts.ends.finish(2, 14);
    EXPECT_TRUE(parts.ends.is_any_collected());
    parts.ends.finish(2, 20);  // does not follow: the others are sent
    parts.ends.flush();
    EXPECT_FALSE(parts.ends.is_any_collected());
    parts.deliver();
    const auto frames = parts.logs[1].short_frames();
    ASSERT_EQ(frames.size(), 2U);
    EXPECT_EQ(frames[0].token, 10U);
    EXPECT_EQ(frames[0].count, 3U);
    EXPECT_EQ(frames[1].token, 20U);
    EXPECT_EQ(frames[1].count, 1U);
}

TEST(EndsTest, completes_for_an_initiator_of_this_node_at_once) {
    LowerParts parts;
    ASSERT_NE(parts.enter_get(2), no_index);
    ASSERT_NE(parts.enter_get(4), no_index);
    parts.ends.finish(0, 2);
    parts.ends.fail(0, 4, {base::Code::peer, BlamedAddress::source, 2});
    ASSERT_EQ(parts.told.ended.size(), 2U);
    EXPECT_EQ(parts.told.ended[0].code, base::Code::ok);
    EXPECT_EQ(parts.told.ended[1].code, base::Code::peer);
    EXPECT_FALSE(parts.ends.is_any_collected());
}

// namespace acp::router::test
}  // namespace
}  // namespace acp::router::test
