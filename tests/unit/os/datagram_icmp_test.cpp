// SPDX-License-Identifier: BSD-3-Clause
// Forged ICMP messages, from a raw socket on the loopback interface: the kernel leaves their error
// in a connected socket and reports it instead of the next send. No datagram of a burst may be lost
// by it. Skipped where no raw socket may be opened.
#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <string>
#include <sys/socket.h>

#include "os/file_descriptor.hpp"

#include "unit/os/datagram_scene.hpp"

namespace acp::os {
namespace {

using testing::batch_of;
using testing::Bytes;
using testing::ip;
using testing::open_socket;
using testing::pattern;
using testing::take;

struct Kind {
    std::uint8_t type;
    std::uint8_t code;
};

struct Message {
    icmphdr icmp{};
    iphdr quoted_ip{};
    udphdr quoted_udp{};
};

std::uint16_t checksum(const Message& message) {
    std::array<std::uint16_t, sizeof message / 2> words{};
    std::memcpy(words.data(), &message, sizeof message);
    std::uint32_t sum = 0;
    for (const std::uint16_t word : words) sum += word;
    while (sum >> 16U != 0) sum = (sum & 0xffffU) + (sum >> 16U);
    return static_cast<std::uint16_t>(~sum);
}

class ForgedIcmpTest : public ::testing::TestWithParam<Kind> {
protected:
    void SetUp() override {
        raw_ = FileDescriptor(socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP));
        if (!raw_.is_open()) GTEST_SKIP() << "no raw socket: needs CAP_NET_RAW";
        auto opened =
            DatagramSocket::open_spare({.bind_to = ip("127.0.0.1"), .receive_bytes = 1U << 20});
        ASSERT_TRUE(opened.is_ok());
        line_.emplace(std::move(opened).value());
        ASSERT_TRUE(line_->connect_beside(listener_, peer_.address()));
    }

    // Forges an ICMP message by which a datagram of the socket to its peer did not arrive.
    void forge(Kind kind) {
        Message message;
        message.icmp.type = kind.type;
        message.icmp.code = kind.code;
        if (kind.type == ICMP_DEST_UNREACH && kind.code == ICMP_FRAG_NEEDED) {
            message.icmp.un.frag.mtu = htons(600);
        }
        message.quoted_ip.version = 4;
        message.quoted_ip.ihl = 5;
        message.quoted_ip.ttl = 64;
        message.quoted_ip.protocol = IPPROTO_UDP;
        message.quoted_ip.saddr = message.quoted_ip.daddr = htonl(INADDR_LOOPBACK);
        message.quoted_udp.source = htons(line_->address().port);
        message.quoted_udp.dest = htons(peer_.address().port);
        message.icmp.checksum = checksum(message);
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ASSERT_EQ(sendto(raw_.get(), &message, sizeof message, 0,
                         reinterpret_cast<const sockaddr*>(&to), sizeof to),
                  static_cast<ssize_t>(sizeof message));
    }

    FileDescriptor raw_;
    DatagramSocket listener_ = open_socket({});
    DatagramSocket peer_ = open_socket({});
    std::optional<DatagramSocket> line_;
};

TEST_P(ForgedIcmpTest, costs_no_datagram) {
    constexpr std::uint32_t segment = 1000;
    constexpr std::uint32_t count = 16;
    DatagramBatch batch = batch_of(32, 65'536);
    const Bytes burst = pattern(std::size_t{segment} * count);
    for (int round = 0; round < 20; ++round) {
        forge(GetParam());
        const Sent sent = line_->send_burst(peer_.address(), burst, segment, false);
        EXPECT_EQ(sent.outcome, SendOutcome::sent) << "round " << round;
        ASSERT_EQ(sent.datagrams, count) << "round " << round;
        std::size_t arrived = 0;
        for (const auto& one : take(peer_, batch, burst.size())) arrived += one.bytes.size();
        ASSERT_EQ(arrived, burst.size()) << "round " << round;
    }
    EXPECT_TRUE(line_->is_segmenting()) << "and the kernel goes on cutting bursts";
}

INSTANTIATE_TEST_SUITE_P(Kinds,
                         ForgedIcmpTest,
                         ::testing::Values(Kind{3, 1},
                                           Kind{3, 2},
                                           Kind{3, 3},
                                           Kind{3, 4},
                                           Kind{3, 6},
                                           Kind{3, 7},
                                           Kind{3, 9},
                                           Kind{3, 10},
                                           Kind{3, 13},
                                           Kind{11, 0},
                                           Kind{12, 0}),
                         [](const ::testing::TestParamInfo<Kind>& kind) {
                             return "type_" + std::to_string(kind.param.type) + "_code_" +
                                    std::to_string(kind.param.code);
                         });

// namespace acp::os
}  // namespace
}  // namespace acp::os
