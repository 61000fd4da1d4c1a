// SPDX-License-Identifier: BSD-3-Clause
// The queue of peers that may have datagrams to send: it keeps order, has each peer once, and any
// peer can be removed.
#include "datagram/ready_queue.hpp"

#include <array>
#include <gtest/gtest.h>

namespace acp::datagram {
namespace {

struct ReadyQueueTest : testing::Test {
    Settings settings;
    SentPool records{4};
    std::array<Peer, 3> peers{Peer(1, settings, records), Peer(2, settings, records),
                              Peer(3, settings, records)};
    ReadyQueue queue;
};

TEST_F(ReadyQueueTest, gives_each_once_in_the_order_they_came) {
    EXPECT_TRUE(queue.is_empty());
    for (Peer& peer : peers) queue.push(peer);
    queue.push(peers[0]);
    EXPECT_FALSE(queue.is_empty());
    EXPECT_EQ(queue.take(), &peers[0]);
    queue.push(peers[0]);
    EXPECT_EQ(queue.take(), &peers[1]);
    EXPECT_EQ(queue.take(), &peers[2]);
    EXPECT_EQ(queue.take(), &peers[0]);
    EXPECT_TRUE(queue.is_empty());
    EXPECT_EQ(queue.take(), nullptr);
}

TEST_F(ReadyQueueTest, continues_after_any_peer_was_removed) {
    for (std::size_t out = 0; out < peers.size(); ++out) {
        for (Peer& peer : peers) queue.push(peer);
        queue.remove(peers[out]);
        queue.remove(peers[out]);
        EXPECT_FALSE(peers[out].is_ready);
        for (std::size_t i = 0; i < peers.size(); ++i) {
            if (i == out) continue;
            EXPECT_EQ(queue.take(), &peers[i]) << "without " << out;
        }
        EXPECT_TRUE(queue.is_empty());
        queue.push(peers[out]);
        EXPECT_EQ(queue.take(), &peers[out]);
    }
}

}  // namespace
}  // namespace acp::datagram
