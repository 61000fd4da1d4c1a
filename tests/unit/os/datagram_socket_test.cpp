// SPDX-License-Identifier: BSD-3-Clause
// Bursts over the loopback interface, with and without the kernel's help in cutting and joining.
#include "os/datagram_socket.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <sys/socket.h>
#include <vector>

#include "unit/os/datagram_scene.hpp"

namespace acp::os {
namespace {

using testing::Arrived;
using testing::batch_of;
using testing::Bytes;
using testing::ip;
using testing::is_readable;
using testing::open_socket;
using testing::pattern;
using testing::take;

// Every combination of segmentation and joining by the kernel.
struct Help {
    bool may_segment;
    bool may_join;
};

class BurstTest : public ::testing::TestWithParam<Help> {
protected:
    DatagramSocket sender_ = open_socket({.may_segment = GetParam().may_segment});
    DatagramSocket receiver_ = open_socket({.may_join = GetParam().may_join});
    DatagramBatch batch_ = batch_of(16, DatagramBatch::longest_message);

    // Sends a burst and expects it to arrive datagram by datagram.
    void pass(std::size_t bytes, std::uint32_t segment_bytes, bool may_fragment = false) {
        const Bytes burst = pattern(bytes);
        const Sent sent =
            sender_.send_burst(receiver_.address(), burst, segment_bytes, may_fragment);
        ASSERT_EQ(sent.outcome, SendOutcome::sent);
        const std::size_t expected = (bytes + segment_bytes - 1) / segment_bytes;
        ASSERT_EQ(sent.datagrams, expected);
        const auto arrived = take(receiver_, batch_, bytes);
        ASSERT_EQ(arrived.size(), expected) << bytes << " bytes by " << segment_bytes;
        Bytes joined;
        for (std::size_t i = 0; i < arrived.size(); ++i) {
            const bool is_last = i + 1 == arrived.size();
            EXPECT_TRUE(is_last || arrived[i].bytes.size() == segment_bytes);
            EXPECT_EQ(arrived[i].from, sender_.address());
            joined.insert(joined.end(), arrived[i].bytes.begin(), arrived[i].bytes.end());
        }
        EXPECT_TRUE(joined == burst) << bytes << " bytes by " << segment_bytes;
    }
};

TEST_P(BurstTest, arrives_as_the_datagrams_it_was_cut_into) {
    pass(1, 1472);
    pass(1472, 1472);
    pass(1473, 1472);
    pass(std::size_t{10} * 1472, 1472);
    pass(std::size_t{10} * 1472 + 100, 1472);
    pass(5, 1);
}

TEST_P(BurstTest, may_be_longer_than_one_system_call_takes) {
    pass(std::size_t{64} * 100, 100);
    pass(std::size_t{65} * 100, 100);
    pass(std::size_t{150} * 100 + 1, 100);
    pass(200'000, 1472);  // 44 of them are the longest packet
    pass(200'000, 8972);
}

TEST_P(BurstTest, carries_the_longest_datagrams) {
    pass(65'507, 65'507);
    pass(std::size_t{3} * 65'507, 65'507);
    pass(std::size_t{2} * 32'754 + 10, 32'754);
}

TEST_P(BurstTest, may_change_its_mind_about_fragments) {
    pass(3000, 1000, true);
    pass(3000, 1000, false);
    pass(3000, 1000, true);
}

TEST_P(BurstTest, reports_a_datagram_that_is_too_long) {
    const Bytes burst = pattern(70'000);
    const Sent sent = sender_.send_burst(receiver_.address(), burst, 65'508, true);
    EXPECT_EQ(sent.outcome, SendOutcome::too_long);
    EXPECT_EQ(sent.datagrams, 0U);
    pass(3000, 1000);
}

TEST_P(BurstTest, reports_an_address_it_cannot_reach) {
    SocketAddress other_family = ip("::1");
    other_family.port = 1;
    const Bytes burst = pattern(100);
    EXPECT_EQ(sender_.send_burst(other_family, burst, 50, false).outcome, SendOutcome::unreachable);
    EXPECT_EQ(sender_.send_burst(ip("127.0.0.1"), burst, 50, false).outcome,
              SendOutcome::unreachable)
        << "port 0";
    // an address reserved for documentation, which a loopback socket cannot reach
    SocketAddress elsewhere = ip("192.0.2.1");
    elsewhere.port = 1;
    EXPECT_EQ(sender_.send_burst(elsewhere, burst, 50, false).outcome, SendOutcome::unreachable);
    pass(3000, 1000);
}

TEST_P(BurstTest, continues_without_a_listener_at_the_other_end) {
    SocketAddress closed;
    {
        const DatagramSocket gone = open_socket({});
        closed = gone.address();
    }
    const Bytes burst = pattern(5000);
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(sender_.send_burst(closed, burst, 1000, false).outcome, SendOutcome::sent);
    }
    pass(5000, 1000);
}

TEST_P(BurstTest, returns_the_sender_of_each_datagram) {
    DatagramSocket other = open_socket({.bind_to = ip("127.0.0.2")});
    const Bytes burst = pattern(2000);
    ASSERT_EQ(other.send_burst(receiver_.address(), burst, 1000, false).datagrams, 2U);
    ASSERT_EQ(sender_.send_burst(receiver_.address(), burst, 500, false).datagrams, 4U);
    const auto arrived = take(receiver_, batch_, 4000);
    ASSERT_EQ(arrived.size(), 6U);
    EXPECT_EQ(ip_text(arrived[0].from), "127.0.0.2");
    EXPECT_EQ(arrived[1].from, other.address());
    EXPECT_EQ(arrived[2].from, sender_.address());
    EXPECT_EQ(arrived[5].from, sender_.address());
}

TEST_P(BurstTest, is_sent_singly_once_the_kernel_refused_to_segment_it) {
    // Without checksums the kernel refuses to segment.
    const int on = 1;
    ASSERT_EQ(setsockopt(sender_.fd(), SOL_SOCKET, SO_NO_CHECK, &on, sizeof on), 0);
    pass(150'000, 1472);
    pass(150'000, 1472);
    pass(10'000, 1000);
}

INSTANTIATE_TEST_SUITE_P(
    All,
    BurstTest,
    ::testing::Values(Help{true, true}, Help{true, false}, Help{false, true}, Help{false, false}),
    [](const auto& help) {
        return std::string(help.param.may_segment ? "segmented" : "single") +
               (help.param.may_join ? "_joined" : "_apart");
    });

std::uint32_t first_byte_of(std::span<const std::byte> message) noexcept {
    return std::to_integer<std::uint32_t>(message.front());
}

// A caller that receives messages one by one need not request the length of their datagrams from
// the kernel.
TEST(DatagramSocket, takes_a_message_apart_as_its_first_datagram_says) {
    auto made = DatagramBatch::create(4, DatagramBatch::longest_message, first_byte_of);
    ASSERT_TRUE(made.is_ok());
    DatagramBatch batch = std::move(made).value();
    DatagramSocket receiver = open_socket({});
    DatagramSocket sender = open_socket({});
    Bytes burst = pattern(250);
    for (const std::size_t at : {0U, 100U, 200U}) burst[at] = std::byte{100};
    ASSERT_EQ(sender.send_burst(receiver.address(), burst, 100, false).datagrams, 3U);
    Bytes got;
    std::vector<std::size_t> lengths;
    while (got.size() < burst.size() && is_readable(receiver)) {
        ASSERT_EQ(receiver.receive_burst(batch, 1), 1U);
        batch.for_each([&](const SocketAddress& from, std::span<std::byte> datagram) {
            EXPECT_EQ(from, sender.address());
            lengths.push_back(datagram.size());
            got.insert(got.end(), datagram.begin(), datagram.end());
        });
    }
    EXPECT_TRUE(got == burst);
    EXPECT_EQ(lengths, (std::vector<std::size_t>{100, 100, 50}));
    ASSERT_EQ(receiver.receive_burst(batch, 1), 0U);
}

TEST(DatagramSocket, a_false_length_spoils_one_joined_message_and_no_later_one) {
    auto made = DatagramBatch::create(4, DatagramBatch::longest_message, first_byte_of);
    ASSERT_TRUE(made.is_ok());
    DatagramBatch batch = std::move(made).value();
    DatagramSocket receiver = open_socket({});
    DatagramSocket sender = open_socket({});
    if (!sender.is_segmenting() || !receiver.is_joining()) GTEST_SKIP() << "an older kernel";
    Bytes burst = pattern(250);
    for (const std::size_t at : {100U, 200U}) burst[at] = std::byte{100};
    burst[0] = std::byte{30};
    for (int message = 0; message < 2; ++message) {
        ASSERT_EQ(sender.send_burst(receiver.address(), burst, 100, false).datagrams, 3U);
        ASSERT_TRUE(is_readable(receiver));
        ASSERT_EQ(receiver.receive_burst(batch, 1), 1U);
        std::vector<std::size_t> lengths;
        batch.for_each([&](const SocketAddress&, std::span<std::byte> datagram) {
            lengths.push_back(datagram.size());
        });
        const std::vector<std::size_t> expected{100, 100, 50};
        EXPECT_EQ(lengths == expected, message == 1) << message;
    }
}

TEST(DatagramSocket, drops_a_lone_message_that_is_cut_off) {
    auto made = DatagramBatch::create(1, 150, first_byte_of);
    ASSERT_TRUE(made.is_ok());
    DatagramBatch batch = std::move(made).value();
    DatagramSocket receiver = open_socket({.may_join = false});
    DatagramSocket sender = open_socket({});
    ASSERT_EQ(sender.send_burst(receiver.address(), pattern(151), 151, false).datagrams, 1U);
    ASSERT_TRUE(is_readable(receiver));
    EXPECT_EQ(receiver.receive_burst(batch, 1), 1U);
    EXPECT_EQ(batch.datagrams(), 0U);
    EXPECT_EQ(batch.cut_datagrams(), 1U);
}

TEST(DatagramSocket, joins_and_segments_only_when_it_may) {
    const DatagramSocket plain = open_socket({.may_segment = false, .may_join = false});
    EXPECT_FALSE(plain.is_segmenting());
    EXPECT_FALSE(plain.is_joining());
}

TEST(DatagramSocket, receives_several_datagrams_as_one_message_where_the_kernel_joins) {
    DatagramSocket sender = open_socket({});
    DatagramSocket receiver = open_socket({});
    if (!sender.is_segmenting() || !receiver.is_joining()) GTEST_SKIP() << "an older kernel";
    ASSERT_EQ(sender.send_burst(receiver.address(), pattern(10'500), 1000, false).datagrams, 11U);
    ASSERT_TRUE(is_readable(receiver));
    DatagramBatch batch = batch_of(4, DatagramBatch::longest_message);
    EXPECT_EQ(receiver.receive_burst(batch), 1U);
    EXPECT_EQ(batch.datagrams(), 11U);
    EXPECT_FALSE(batch.is_full());
}

TEST(DatagramSocket, sends_singly_what_the_kernel_refuses_to_segment) {
    DatagramSocket sender = open_socket({});
    DatagramSocket receiver = open_socket({});
    const int on = 1;
    ASSERT_EQ(setsockopt(sender.fd(), SOL_SOCKET, SO_NO_CHECK, &on, sizeof on), 0);
    ASSERT_EQ(sender.send_burst(receiver.address(), pattern(10'500), 1000, false).datagrams, 11U);
    ASSERT_TRUE(is_readable(receiver));
    DatagramBatch batch = batch_of(16, DatagramBatch::longest_message);
    EXPECT_EQ(receiver.receive_burst(batch), 11U);
    EXPECT_EQ(batch.datagrams(), 11U);
}

TEST(DatagramSocket, keeps_whole_datagrams_of_a_message_that_was_cut) {
    DatagramSocket sender = open_socket({});
    DatagramSocket receiver = open_socket({});
    if (!sender.is_segmenting() || !receiver.is_joining()) GTEST_SKIP() << "an older kernel";
    const Bytes burst = pattern(5000);
    ASSERT_EQ(sender.send_burst(receiver.address(), burst, 1000, false).datagrams, 5U);
    ASSERT_TRUE(is_readable(receiver));
    DatagramBatch batch = batch_of(4, 2500);
    EXPECT_EQ(receiver.receive_burst(batch), 1U);
    EXPECT_EQ(batch.cut_datagrams(), 1U);
    Bytes joined;
    batch.for_each([&](const SocketAddress&, std::span<std::byte> datagram) {
        EXPECT_EQ(datagram.size(), 1000U);
        joined.insert(joined.end(), datagram.begin(), datagram.end());
    });
    EXPECT_TRUE(joined == Bytes(burst.begin(), burst.begin() + 2000));
}

TEST(DatagramSocket, leaves_out_a_datagram_that_was_cut) {
    DatagramSocket sender = open_socket({});
    DatagramSocket receiver = open_socket({.may_join = false});
    ASSERT_EQ(sender.send_burst(receiver.address(), pattern(300), 300, false).datagrams, 1U);
    ASSERT_EQ(sender.send_burst(receiver.address(), pattern(100), 100, false).datagrams, 1U);
    DatagramBatch batch = batch_of(8, 299);
    const auto arrived = take(receiver, batch, 100);
    ASSERT_EQ(arrived.size(), 1U);
    EXPECT_EQ(arrived[0].bytes.size(), 100U);
    EXPECT_EQ(batch.cut_datagrams(), 1U);
}

TEST(DatagramSocket, leaves_out_empty_datagrams) {
    DatagramSocket receiver = open_socket({});
    const DatagramSocket sender = open_socket({});
    auto target = receiver.address();
    // No burst is empty: send one by hand.
    const std::string where = address_text(target);
    sockaddr_storage kernel{};
    socklen_t size = sizeof kernel;
    ASSERT_EQ(getsockname(receiver.fd(), reinterpret_cast<sockaddr*>(&kernel), &size), 0) << where;
    ASSERT_EQ(sendto(sender.fd(), "", 0, 0, reinterpret_cast<sockaddr*>(&kernel), size), 0);
    ASSERT_TRUE(is_readable(receiver));
    DatagramBatch batch = batch_of(4, 2000);
    EXPECT_EQ(receiver.receive_burst(batch), 1U);
    EXPECT_EQ(batch.datagrams(), 0U);
    batch.for_each([](const SocketAddress&, std::span<std::byte>) { FAIL(); });
}

TEST(DatagramSocket, takes_no_more_messages_than_the_batch_has_room_for) {
    DatagramSocket sender = open_socket({.may_segment = false});
    DatagramSocket receiver = open_socket({.may_join = false});
    ASSERT_EQ(sender.send_burst(receiver.address(), pattern(1000), 100, false).datagrams, 10U);
    DatagramBatch batch = batch_of(4, 2000);
    ASSERT_TRUE(is_readable(receiver));
    EXPECT_EQ(receiver.receive_burst(batch), 4U);
    EXPECT_TRUE(batch.is_full());
    EXPECT_EQ(receiver.receive_burst(batch), 4U);
    EXPECT_EQ(receiver.receive_burst(batch), 2U);
    EXPECT_FALSE(batch.is_full());
    EXPECT_EQ(receiver.receive_burst(batch), 0U);
    EXPECT_EQ(batch.datagrams(), 0U);
}

TEST(DatagramSocket, counts_what_its_full_buffer_dropped) {
    DatagramSocket sender = open_socket({});
    DatagramSocket receiver = open_socket({.receive_bytes = 8192, .may_join = false});
    const Bytes burst = pattern(100'000);
    auto queue = receiver.receive_queue();
    std::array<std::uint32_t, 9> values{};
    socklen_t bytes = sizeof values;
    if (getsockopt(receiver.fd(), SOL_SOCKET, SO_MEMINFO, values.data(), &bytes) != 0 ||
        bytes < sizeof values) {
        EXPECT_FALSE(queue.has_value());
        GTEST_SKIP() << "an emulator without SO_MEMINFO";
    }
    ASSERT_TRUE(queue.has_value());
    EXPECT_EQ(queue->drops, 0U);
    EXPECT_EQ(queue->charged_bytes, 0U);
    ASSERT_EQ(sender.send_burst(receiver.address(), burst, 1000, false).datagrams, 100U);
    queue = receiver.receive_queue();
    EXPECT_GT(queue->charged_bytes, 0U);
    DatagramBatch batch = batch_of(64, 2000);
    receiver.receive_burst(batch);
    EXPECT_LT(batch.datagrams(), 100U);
    EXPECT_EQ(queue->drops, 100 - batch.datagrams());
}

TEST(DatagramSocket, works_over_ipv6) {
    auto opened = DatagramSocket::open({.bind_to = ip("::1"), .receive_bytes = 1U << 20});
    if (!opened.is_ok()) GTEST_SKIP() << opened.failure().message();
    DatagramSocket receiver = std::move(opened).value();
    DatagramSocket sender = open_socket({.bind_to = ip("::1")});
    ASSERT_EQ(sender.send_burst(receiver.address(), pattern(2500), 1000, false).datagrams, 3U);
    DatagramBatch batch = batch_of(4, DatagramBatch::longest_message);
    const auto arrived = take(receiver, batch, 2500);
    ASSERT_EQ(arrived.size(), 3U);
    EXPECT_EQ(arrived[2].from, sender.address());
}

TEST(DatagramSocket, binds_the_wished_port_and_names_an_address_that_is_taken) {
    const DatagramSocket first = open_socket({});
    EXPECT_NE(first.address().port, 0);
    EXPECT_EQ(ip_text(first.address()), "127.0.0.1");
    const auto second = DatagramSocket::open({.bind_to = first.address()});
    ASSERT_FALSE(second.is_ok());
    EXPECT_EQ(second.failure().code(), base::Code::state);
    EXPECT_NE(second.failure().message().find(address_text(first.address())),
              std::string_view::npos);
    EXPECT_EQ(DatagramSocket::open({}).failure().code(), base::Code::argument);
    const auto stranger = DatagramSocket::open({.bind_to = ip("192.0.2.1")});
    ASSERT_FALSE(stranger.is_ok()) << "not of this host";
    EXPECT_EQ(stranger.failure().code(), base::Code::system);
}

TEST(DatagramSocket, binds_the_first_free_port_of_a_range_and_names_a_range_that_is_taken) {
    const DatagramSocket first = open_socket({});
    SocketAddress begin = first.address();
    if (begin.port > 65'000) GTEST_SKIP() << "no room behind the port that the kernel chose";
    const auto last = static_cast<std::uint16_t>(begin.port + 100);
    const DatagramSocket second = open_socket({.bind_to = begin, .last_port = last});
    EXPECT_GT(second.address().port, begin.port);
    EXPECT_LE(second.address().port, last);
    const auto none = DatagramSocket::open({.bind_to = begin, .last_port = begin.port});
    ASSERT_FALSE(none.is_ok());
    EXPECT_EQ(none.failure().code(), base::Code::state);
    begin.port = static_cast<std::uint16_t>(second.address().port - 1);
    const DatagramSocket third =
        begin.port == first.address().port ? open_socket({}) : open_socket({.bind_to = begin});
    const auto full = DatagramSocket::open({.bind_to = begin, .last_port = second.address().port});
    ASSERT_FALSE(full.is_ok());
    EXPECT_EQ(full.failure().code(), base::Code::state);
    const std::string range = address_text(begin) + " to " + std::to_string(second.address().port);
    EXPECT_NE(full.failure().message().find(range), std::string_view::npos)
        << full.failure().message();
}

TEST(DatagramSocket, advises_how_to_get_the_buffer_that_was_refused) {
    EXPECT_EQ(receive_buffer_advice(8U << 20, 8U << 20), "");
    EXPECT_EQ(receive_buffer_advice(1001, 1000), "");
    const std::string advice = receive_buffer_advice(8U << 20, 425'984);
    EXPECT_NE(advice.find("425984"), std::string::npos);
    EXPECT_NE(advice.find("sysctl -w net.core.rmem_max=4194304"), std::string::npos);
}

TEST(SendOutcome, follows_from_the_error) {
    EXPECT_EQ(outcome_of(EAGAIN), SendOutcome::busy);
    EXPECT_EQ(outcome_of(ENOBUFS), SendOutcome::busy);
    EXPECT_EQ(outcome_of(ENOMEM), SendOutcome::busy);
    EXPECT_EQ(outcome_of(EMSGSIZE), SendOutcome::too_long);
    EXPECT_EQ(outcome_of(ENETUNREACH), SendOutcome::unreachable);
    EXPECT_EQ(outcome_of(EPERM), SendOutcome::unreachable);
    EXPECT_EQ(outcome_of(EBADF), SendOutcome::closed);
    EXPECT_EQ(outcome_of(ENOTSOCK), SendOutcome::closed);
}

TEST(DatagramBatch, has_room_for_something_and_not_for_too_much) {
    EXPECT_TRUE(DatagramBatch::create(1, 1).is_ok());
    EXPECT_TRUE(
        DatagramBatch::create(DatagramBatch::messages_max, DatagramBatch::longest_message).is_ok());
    for (const auto& [messages, bytes] :
         {std::pair{0U, 1U}, std::pair{1U, 0U}, std::pair{DatagramBatch::messages_max + 1, 1U},
          std::pair{1U, DatagramBatch::longest_message + 1}}) {
        const auto batch = DatagramBatch::create(messages, bytes);
        ASSERT_FALSE(batch.is_ok());
        EXPECT_EQ(batch.failure().code(), base::Code::argument);
    }
}

// namespace acp::os
}  // namespace
}  // namespace acp::os
