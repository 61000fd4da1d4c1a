// SPDX-License-Identifier: BSD-3-Clause
// Handshake messages that wait to be sent: signed for their receiver, in order, and bounded.
#include "datagram/answer_queue.hpp"

#include <array>
#include <gtest/gtest.h>

#include "support/test_cipher.hpp"

namespace acp::datagram {
namespace {

Settings settings_of(NodeId node) {
    Settings settings;
    settings.job_id = 5;
    settings.node = node;
    settings.nodes = 2;
    return settings;
}

struct AnswerQueueTest : testing::Test {
    ClosePacket close_to_other() const {
        ClosePacket close{.outer = credentials.outer_of(PacketType::close)};
        close.job = settings.job_id;
        close.target = 1;
        return close;
    }

    Settings settings = settings_of(0);
    Settings others_settings = settings_of(1);
    test::TestSuite suite;
    test::TestEntropy entropy{1};
    EndpointCounters counters;
    Credentials credentials{settings, suite, entropy, counters};
    Credentials other{others_settings, suite, entropy, counters};
    AnswerQueue queue{credentials, counters};
    std::array<std::byte, 256> into{};
};

TEST_F(AnswerQueueTest, signs_what_the_other_side_then_takes) {
    ClosePacket close = close_to_other();
    queue.push(ipv4(10, 0, 0, 1, 7000), close);
    const Transmit out = queue.transmit(into);
    EXPECT_EQ(out.to, ipv4(10, 0, 0, 1, 7000));
    EXPECT_EQ(out.count, 1U);
    ASSERT_EQ(out.bytes, sizeof close);
    ClosePacket came;
    EXPECT_TRUE(other.check(Bytes(into).first(out.bytes), came));
    EXPECT_EQ(counters.datagrams_sent, 1U);
    EXPECT_EQ(counters.bytes_sent, sizeof close);
    into[20] ^= std::byte{1};
    EXPECT_FALSE(other.check(Bytes(into).first(out.bytes), came));
    EXPECT_EQ(counters.wrong_mac, 1U);
}

TEST_F(AnswerQueueTest, keeps_so_many_in_order_and_drops_one_past_them) {
    for (int round = 0; round < 3; ++round) {
        for (std::uint32_t i = 0; i <= AnswerQueue::answers_max; ++i) {
            ClosePacket close = close_to_other();
            queue.push(ipv4(10, 0, 0, 1, static_cast<std::uint16_t>(i)), close);
        }
        for (std::uint32_t i = 0; i < AnswerQueue::answers_max; ++i) {
            ASSERT_FALSE(queue.is_empty());
            EXPECT_EQ(queue.transmit(into).to, ipv4(10, 0, 0, 1, static_cast<std::uint16_t>(i)));
        }
        EXPECT_TRUE(queue.is_empty());
    }
    EXPECT_EQ(counters.answers_full, 3U);
}

}  // namespace
}  // namespace acp::datagram
