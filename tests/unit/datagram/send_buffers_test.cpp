// SPDX-License-Identifier: BSD-3-Clause
// Room for frames to send: each peer's share of the pool, notifications of room, and content that
// is not yet acknowledged.
#include "datagram/send_buffers.hpp"

#include <gtest/gtest.h>
#include <vector>

#include "datagram/peers.hpp"

#include "support/test_cipher.hpp"

namespace acp::datagram {
namespace {

constexpr std::uint32_t frame_bytes = 1400;  // fills a datagram
constexpr Time now = 1'000'000'000;

Settings settings_of_test() {
    Settings settings;
    settings.nodes = 4;
    settings.send_buffers = 64;
    settings.datagram_bytes = settings.datagram_bytes_max = frame_bytes + overhead_bytes;
    return settings;
}

struct Listener final : EndpointHandler {
    void on_frames(NodeId /*from*/, Bytes /*frames*/) override {}

    void on_room(NodeId node) override { rooms.push_back(node); }

    void on_severed(NodeId /*node*/, SeverReason /*reason*/) override {}

    std::vector<NodeId> rooms;
};

struct SendBuffersTest : testing::Test {
    // Adds frames until there is no room. Returns their number.
    std::uint32_t fill(Peer& peer) {
        std::uint32_t count = 0;
        while (buffers.reserve(peer, frame_bytes) != nullptr) {
            buffers.commit(peer, frame_bytes);
            ++count;
        }
        return count;
    }

    // Releases the oldest buffer, as when its datagram is acknowledged.
    void release_oldest(Peer& peer) {
        buffers.release(peer, peer.queue.waiting.pop(buffers.pool()));
    }

    Settings settings = settings_of_test();
    test::TestSuite suite;
    test::TestEntropy entropy{1};
    EndpointCounters counters;
    Peers peers{settings, suite, entropy, counters};
    SendBuffers buffers{settings, peers.table(), counters};
    Listener listener;
};

TEST_F(SendBuffersTest, give_a_lone_peer_half_of_the_pool_and_two_a_quarter_each) {
    Peer& first = *peers.open(1, now);
    EXPECT_EQ(fill(first), 32U);
    Peer& second = *peers.open(2, now);
    EXPECT_EQ(fill(second), 16U);
    EXPECT_EQ(fill(first), 0U);
    EXPECT_EQ(counters.no_buffer, 3U);
}

TEST_F(SendBuffersTest, notify_of_room_once_a_quarter_is_free_again) {
    Peer& peer = *peers.open(1, now);
    fill(peer);
    buffers.offer_room(listener);
    EXPECT_TRUE(listener.rooms.empty());
    for (int i = 0; i < 7; ++i) release_oldest(peer);
    buffers.offer_room(listener);
    EXPECT_TRUE(listener.rooms.empty());
    release_oldest(peer);
    buffers.offer_room(listener);
    EXPECT_EQ(listener.rooms, std::vector<NodeId>{1});
    buffers.offer_room(listener);
    EXPECT_EQ(listener.rooms.size(), 1U) << "once";
}

TEST_F(SendBuffersTest, put_frames_side_by_side_as_long_as_they_fit) {
    Peer& peer = *peers.open(1, now);
    std::byte* const at = buffers.reserve(peer, 1000);
    EXPECT_EQ(buffers.reserve(peer, 400), at) << "nothing was committed";
    buffers.commit(peer, 1000);
    EXPECT_EQ(buffers.reserve_rest(peer, 100).size(), frame_bytes - 1000);
    EXPECT_EQ(buffers.reserve(peer, 400), at + 1000);
    buffers.commit(peer, 400);
    EXPECT_NE(buffers.reserve(peer, 1), at + 1400);
    EXPECT_EQ(peer.queue.held, 2U);
}

TEST_F(SendBuffersTest, owe_what_was_committed_and_are_quiet_when_nothing_is) {
    Peer& peer = *peers.open(1, now);
    EXPECT_TRUE(buffers.is_quiet());
    ASSERT_NE(buffers.reserve(peer, 10), nullptr);
    EXPECT_EQ(buffers.owed(peer), 0U);
    EXPECT_TRUE(buffers.is_quiet()) << "reserved is not committed";
    buffers.note_owing(peer, now);
    EXPECT_EQ(peer.life.owing_since, never);
    buffers.commit(peer, 10);
    EXPECT_EQ(buffers.owed(peer), 1U);
    EXPECT_FALSE(buffers.is_quiet());
    buffers.note_owing(peer, now + 1);
    buffers.note_owing(peer, now + 2);
    EXPECT_EQ(peer.life.owing_since, now + 1);
    buffers.release_all(peer);
    EXPECT_EQ(buffers.owed(peer), 0U);
    EXPECT_TRUE(buffers.is_quiet());
    EXPECT_EQ(buffers.free_count(), settings.send_buffers);
}

TEST_F(SendBuffersTest, keep_a_tail_where_it_lies_and_put_nothing_behind_it) {
    Peer& peer = *peers.open(1, now);
    const std::vector<std::byte> tail(100, std::byte{7});
    ASSERT_NE(buffers.reserve(peer, 120), nullptr);
    const BufferIndex index = peer.queue.filling;
    buffers.commit_with_tail(peer, 20, tail);
    EXPECT_EQ(buffers.pool()[index].frame_bytes, 120U);
    EXPECT_EQ(buffers.pool().tail(index), tail.data());
    ASSERT_NE(buffers.reserve(peer, 10), nullptr);
    EXPECT_NE(peer.queue.filling, index);
}

}  // namespace
}  // namespace acp::datagram
