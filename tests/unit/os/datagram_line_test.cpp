// SPDX-License-Identifier: BSD-3-Clause
// A socket that is connected on another socket's port: which of the two receives a peer's
// datagrams, before and after.
#include <gtest/gtest.h>

#include "unit/os/datagram_scene.hpp"

namespace acp::os {
namespace {

using testing::Arrived;
using testing::batch_of;
using testing::Bytes;
using testing::ip;
using testing::open_socket;
using testing::pattern;
using testing::take;

// A socket that is connected beside another one, and peers.
class LineTest : public ::testing::Test {
protected:
    static DatagramSocket spare() {
        auto opened =
            DatagramSocket::open_spare({.bind_to = ip("127.0.0.1"), .receive_bytes = 1U << 20});
        EXPECT_TRUE(opened.is_ok()) << opened.failure().message();
        return std::move(opened).value();
    }

    // Sends a few bytes from a peer and returns the name of the socket that received them.
    const char* heard_by(DatagramSocket& from) {
        EXPECT_EQ(from.send_burst(listener_.address(), pattern(100), 100, false).datagrams, 1U);
        DatagramBatch batch = batch_of(4, 2000);
        for (int i = 0; i < 1000; ++i) {
            if (listener_.receive_burst(batch) != 0) return "listener";
            if (line_.receive_burst(batch) != 0) return "line";
        }
        return "nobody";
    }

    DatagramSocket listener_ = open_socket({});
    DatagramSocket line_ = spare();
    DatagramSocket peer_ = open_socket({});
    DatagramSocket other_ = open_socket({.bind_to = ip("127.0.0.2")});
};

TEST_F(LineTest, receives_from_its_peer_and_leaves_the_others_to_the_listener) {
    EXPECT_STREQ(heard_by(peer_), "listener");
    ASSERT_TRUE(line_.connect_beside(listener_, peer_.address()));
    EXPECT_EQ(line_.address(), listener_.address());
    EXPECT_EQ(line_.peer(), peer_.address());
    EXPECT_STREQ(heard_by(peer_), "line");
    EXPECT_STREQ(heard_by(other_), "listener");
}

TEST_F(LineTest, goes_over_to_another_peer) {
    ASSERT_TRUE(line_.connect_beside(listener_, peer_.address()));
    ASSERT_TRUE(line_.connect_beside(listener_, other_.address()));
    EXPECT_STREQ(heard_by(other_), "line");
    EXPECT_STREQ(heard_by(peer_), "listener");
}

TEST_F(LineTest, speaks_from_the_listeners_port_in_bursts_as_well) {
    ASSERT_TRUE(line_.connect_beside(listener_, peer_.address()));
    for (const std::uint32_t bytes : {100U, 10'000U, 100'000U}) {
        const Sent sent = line_.send_burst(peer_.address(), pattern(bytes), 1472, false);
        EXPECT_EQ(sent.outcome, SendOutcome::sent);
        DatagramBatch batch = batch_of(16, DatagramBatch::longest_message);
        for (const Arrived& one : take(peer_, batch, bytes)) {
            EXPECT_EQ(one.from, listener_.address());
        }
    }
}

TEST_F(LineTest, sends_to_other_addresses_too) {
    ASSERT_TRUE(line_.connect_beside(listener_, peer_.address()));
    EXPECT_EQ(line_.send_burst(other_.address(), pattern(100), 100, false).datagrams, 1U);
    DatagramBatch batch = batch_of(4, 2000);
    const auto arrived = take(other_, batch, 100);
    ASSERT_EQ(arrived.size(), 1U);
    EXPECT_EQ(arrived[0].from, listener_.address());
}

TEST_F(LineTest, leaves_the_port_to_no_other_process) {
    ASSERT_TRUE(line_.connect_beside(listener_, peer_.address()));
    EXPECT_FALSE(DatagramSocket::open({.bind_to = listener_.address()}).is_ok());
    DatagramSocket second = spare();
    ASSERT_TRUE(second.connect_beside(listener_, other_.address())) << "but to another line";
    EXPECT_FALSE(DatagramSocket::open({.bind_to = listener_.address()}).is_ok());
}

TEST_F(LineTest, continues_when_its_peer_is_gone) {
    ASSERT_TRUE(line_.connect_beside(listener_, peer_.address()));
    { const DatagramSocket gone = std::move(peer_); }
    const SocketAddress closed = line_.peer();
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(line_.send_burst(closed, pattern(5000), 1000, false).outcome, SendOutcome::sent);
        DatagramBatch batch = batch_of(1, 2000);
        EXPECT_EQ(line_.receive_burst(batch), 0U);
    }
    EXPECT_STREQ(heard_by(other_), "listener");
}

TEST_F(LineTest, has_one_listener_and_one_family) {
    ASSERT_TRUE(line_.connect_beside(listener_, peer_.address()));
    EXPECT_FALSE(line_.connect_beside(other_, peer_.address()));
    SocketAddress other_family = ip("::1");
    other_family.port = 1;
    EXPECT_FALSE(line_.connect_beside(listener_, other_family));
    EXPECT_EQ(line_.peer(), peer_.address());
}

// namespace acp::os
}  // namespace
}  // namespace acp::os
