// SPDX-License-Identifier: BSD-3-Clause
// The udp port over a bad network: datagrams that are lost, duplicated or reordered, and datagrams
// of other programs. A relay between two ports, whose sockets are published in their place, drops
// and reorders by a seed.
#include "mailbox/port_udp.hpp"

#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "os/cpu.hpp"

#include "support/random.hpp"
#include "support/watchdog.hpp"
#include "unit/local/test_node.hpp"

namespace acp::mailbox::test {
namespace {

using local::test::Kind;
using local::test::make_segment;

constexpr Kind udp{"udp", base::IntraNode::udp, base::MailboxKind::mpsc};

void ignore(std::uint32_t, const MessageHead&, std::span<const char>) {}

os::UdpSocket open_socket() {
    auto socket = os::UdpSocket::open_loopback(1024 * 1024);
    EXPECT_TRUE(socket.is_ok());
    return std::move(socket).value();
}

// A datagram of port a to slot b arrives at one socket, and the relay sends it to the real port of
// b by the other one.
class Relay {
public:
    explicit Relay(const node::Segment& segment)
        : sockets_{open_socket(), open_socket()},
          real_{static_cast<std::uint16_t>(segment.slot(0).udp_port.load()),
                static_cast<std::uint16_t>(segment.slot(1).udp_port.load())} {
        for (std::uint32_t slot : {0U, 1U})
            segment.slot(slot).udp_port.store(sockets_[slot].port());
    }

    // Forwards the datagrams that have arrived, except those that it drops or delays at random.
    void pass(acp::test::Random& random, unsigned lost, unsigned doubled, unsigned delayed) {
        for (std::uint32_t to : {0U, 1U}) {
            std::vector<std::byte> buffer(66'000);
            for (std::int64_t size = 0; (size = sockets_[to].receive(buffer)) >= 0;) {
                const std::vector<std::byte> datagram(buffer.begin(), buffer.begin() + size);
                if (random.chance(lost)) continue;
                if (random.chance(delayed)) {
                    late_[to] = datagram;
                    continue;
                }
                forward(to, datagram);
                if (random.chance(doubled)) forward(to, datagram);
                if (!late_[to].empty()) forward(to, std::exchange(late_[to], {}));
            }
        }
    }

private:
    void forward(std::uint32_t to, const std::vector<std::byte>& datagram) {
        sockets_[1 - to].send_to(real_[to], datagram, {});
    }

    os::UdpSocket sockets_[2];
    std::uint16_t real_[2];
    std::vector<std::byte> late_[2];
};

class UdpPortTest : public testing::Test {
protected:
    UdpPortTest() : segment_(make_segment(udp, 2, 1408)) {
        acp::test::arm_watchdog(120, "a udp port test");
        for (std::uint32_t slot : {0U, 1U}) {
            auto port = Port::open(segment_, slot);
            EXPECT_TRUE(port.is_ok());
            ports_[slot] = std::move(port).value();
        }
    }

    ~UdpPortTest() override { acp::test::arm_watchdog(0, ""); }

    node::Segment segment_;
    std::unique_ptr<Port> ports_[2];
};

TEST_F(UdpPortTest, messages_arrive_once_and_in_order_over_a_road_that_loses_doubles_and_shuffles) {
    const std::uint64_t seed = acp::test::fresh_seed();
    SCOPED_TRACE("seed " + std::to_string(seed));
    acp::test::Random random(seed);
    Relay relay(segment_);
    constexpr std::uint64_t all = 1000;
    std::uint64_t sent[2] = {};
    std::uint64_t read[2] = {};
    while (read[0] < all || read[1] < all) {
        for (std::uint32_t own : {0U, 1U}) {
            MessageHead head;
            head.token = sent[own];
            const std::vector<char> payload(sent[own] % 1409, static_cast<char>(sent[own]));
            if (sent[own] < all && ports_[own]->send(1 - own, head, payload)) ++sent[own];
            relay.pass(random, 5, 5, 5);
            ports_[own]->receive(
                [&](std::uint32_t sender, const MessageHead& got, std::span<const char> bytes) {
                    ASSERT_EQ(sender, 1 - own);
                    ASSERT_EQ(got.token, read[own]);
                    ASSERT_EQ(bytes.size(), read[own] % 1409);
                    for (const char byte : bytes) ASSERT_EQ(byte, static_cast<char>(read[own]));
                    ++read[own];
                },
                64);
            ASSERT_FALSE(HasFatalFailure());
        }
    }
    EXPECT_EQ(read[0], all);
    EXPECT_EQ(read[1], all);
}

TEST_F(UdpPortTest, drops_what_strangers_send) {
    os::UdpSocket stranger = open_socket();

    struct {
        DatagramHead head;
        MessageHead message;
    } packet{{segment_.shape().job_id, DatagramHead::Kind::message, 0, 1, 0}, {}};

    const auto deliver = [&] {
        const auto* bytes = reinterpret_cast<const std::byte*>(&packet);
        const auto to = static_cast<std::uint16_t>(segment_.slot(1).udp_port.load());
        ASSERT_TRUE(stranger.send_to(to, {bytes, sizeof packet}, {}));
        EXPECT_EQ(ports_[1]->receive(ignore, 64), 0U);
    };
    deliver();  // a valid datagram from the wrong port
    segment_.slot(0).udp_port.store(stranger.port());
    packet.head.job_id ^= 1;
    deliver();  // it has the number of another job
    packet.head.job_id ^= 1;
    packet.head.sender = 2;
    deliver();  // of a slot that does not exist
    packet.head.sender = 0;
    packet.head.number = 2;
    deliver();  // out of order
    packet.head.number = 1;
    packet.message.payload_bytes = 1;
    deliver();  // shorter than its head says
    packet.message.payload_bytes = 0;
    packet.head.acknowledged = 5;  // more than was sent
    const auto* bytes = reinterpret_cast<const std::byte*>(&packet);
    stranger.send_to(static_cast<std::uint16_t>(segment_.slot(1).udp_port.load()),
                     {bytes, sizeof packet}, {});
    EXPECT_EQ(ports_[1]->receive(ignore, 64), 1U) << "the same from the published port is accepted";
    EXPECT_TRUE(ports_[1]->has_room(0));
}

// A forwarder without memory for answers takes no messages, while it may itself wait for room to
// send.
TEST_F(UdpPortTest, a_process_that_takes_no_messages_gets_answers_and_later_the_messages) {
    MessageHead head;
    std::uint32_t sent = 0;
    while (ports_[0]->send(1, head, {})) ++sent;
    EXPECT_FALSE(ports_[0]->has_room(1));
    for (std::uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(ports_[1]->send(0, head, {}));
    for (std::uint32_t read = 0; read < sent;) read += ports_[1]->receive(ignore, 64);
    while (!ports_[0]->has_room(1)) {
        EXPECT_EQ(ports_[0]->receive(ignore, 0), 0U);
    }
    std::uint32_t got = 0;
    while (got < 3) {
        got += ports_[0]->receive(ignore, 64);
        ports_[1]->receive(ignore, 64);
    }
    EXPECT_EQ(got, 3U);
    EXPECT_EQ(ports_[0]->receive(ignore, 64), 0U) << "each once";
}

TEST_F(UdpPortTest, a_sleeping_sender_wakes_to_send_again_what_was_lost) {
    Relay relay(segment_);
    acp::test::Random random(1);
    MessageHead head;
    ASSERT_TRUE(ports_[0]->send(1, head, {}));
    relay.pass(random, 100, 0, 0);
    std::uint32_t got = 0;
    while (got == 0) {
        ports_[0]->sleep_service([] { return true; }, -1);
        ports_[0]->receive(ignore, 64);
        relay.pass(random, 0, 0, 0);
        got = ports_[1]->receive(ignore, 64);
    }
    EXPECT_EQ(got, 1U);
}

class LostSocketTest : public UdpPortTest, public testing::WithParamInterface<bool> {
protected:
    // Opens port 1 again. Its socket and its event get the numbers in numbers_, because the kernel
    // assigns the lowest free ones.
    void open_again() {
        ports_[1].reset();
        for (int& number : numbers_) number = dup(STDIN_FILENO);
        for (const int number : numbers_) close(number);
        auto port = Port::open(segment_, 1);
        ASSERT_TRUE(port.is_ok());
        ports_[1] = std::move(port).value();
    }

    int numbers_[2] = {-1, -1};
};

// The program only closes the descriptors, or opens a file under their numbers.
TEST_P(LostSocketTest, a_port_whose_descriptors_the_program_took_continues) {
    open_again();
    MessageHead head;
    ASSERT_TRUE(ports_[0]->send(1, head, {}));
    ASSERT_EQ(ports_[1]->receive(ignore, 64), 1U);
    ASSERT_TRUE(ports_[0]->send(1, head, {}));  // lost with the socket
    const int file = memfd_create("of the program", MFD_CLOEXEC);
    ASSERT_GT(file, numbers_[1]);
    for (const int number : numbers_) {
        if (GetParam()) {
            ASSERT_EQ(dup2(file, number), number);
        } else {
            ASSERT_EQ(close(number), 0);
        }
    }
    const auto wake_before_the_sleep = [this] {
        ports_[1]->wake_service();
        return false;
    };
    ports_[1]->sleep_service(wake_before_the_sleep, -1);
    while (ports_[1]->receive(ignore, 64) == 0) {
        ports_[0]->receive(ignore, 64);
        os::yield_cpu();
    }
    ASSERT_TRUE(ports_[1]->send(0, head, {})) << "the port sends through its new socket";
    while (ports_[0]->receive(ignore, 64) == 0) os::yield_cpu();
    EXPECT_EQ(lseek(file, 0, SEEK_END), 0) << "nothing was written to the program's file";
    close(file);
    if (GetParam()) {
        for (const int number : numbers_) close(number);
    }
}

INSTANTIATE_TEST_SUITE_P(How, LostSocketTest, testing::Bool(), [](const auto& how) {
    return how.param ? "replaced" : "closed";
});

// namespace acp::mailbox::test
}  // namespace
}  // namespace acp::mailbox::test
