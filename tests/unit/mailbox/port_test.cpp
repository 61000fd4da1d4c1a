// SPDX-License-Identifier: BSD-3-Clause
// The contract of every kind of port: order, no loss, no doubles, whole messages, and that a
// stopped, dead or full process delays no other one. Ports of one test are objects of one process,
// of its threads, or of forked processes. ACP_TEST_SEED repeats a run.
#include "mailbox/port.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "os/clock.hpp"
#include "os/cpu.hpp"

#include "support/random.hpp"
#include "support/refuse_memory.hpp"
#include "support/watchdog.hpp"
#include "unit/local/test_node.hpp"

namespace acp::mailbox::test {
namespace {

using local::test::all_kinds;
using local::test::Child;
using local::test::Kind;
using local::test::make_segment;
using local::test::name_of;

constexpr std::uint32_t datagram = 1408;

std::uint64_t seed() {
    const char* text = std::getenv("ACP_TEST_SEED");
    static const std::uint64_t chosen =
        text != nullptr ? std::strtoull(text, nullptr, 0) : acp::test::fresh_seed();
    return chosen;
}

std::unique_ptr<Port> open_port(const node::Segment& segment, std::uint32_t slot) {
    auto port = Port::open(segment, slot);
    EXPECT_TRUE(port.is_ok()) << port.failure().message();
    return std::move(port).value();
}

// Message `number` of a sender: every field and every byte follows from the two.
struct Letter {
    MessageHead head;
    std::vector<char> payload;

    Letter(std::uint32_t sender, std::uint64_t number, std::uint32_t bytes_max = datagram) {
        acp::test::Random random(sender * 1'000'003ULL + number);
        static constexpr std::uint32_t edges[] = {0, 1, 8, 16, 17, 56, 57, 64};
        std::uint64_t bytes = random.chance(70) ? edges[random.below(std::size(edges))]
                                                : random.below(std::uint64_t{bytes_max} + 1);
        if (bytes > bytes_max) bytes = bytes_max;
        payload.resize(bytes);
        for (char& byte : payload) byte = static_cast<char>(random.next());
        head.kind = static_cast<MessageKind>(1 + random.below(3));
        head.operation = static_cast<std::uint8_t>(random.below(256));
        head.width = static_cast<std::uint8_t>(random.below(256));
        head.code = static_cast<std::uint8_t>(random.below(256));
        head.origin = static_cast<std::uint16_t>(random.below(65536));
        head.is_last = static_cast<std::uint8_t>(random.below(2));
        head.blame = static_cast<std::uint8_t>(random.below(4));
        head.token = number;
        head.target = random.next();
        head.source = random.next();
        head.bytes = random.chance(50) ? random.next() : 0;
        head.operand = random.chance(50) ? random.next() : 0;
        head.expected = random.chance(50) ? random.next() : 0;
        head.epoch = static_cast<std::uint32_t>(random.next());
        head.payload_bytes = static_cast<std::uint32_t>(bytes);
    }

    [[nodiscard]] bool is(const MessageHead& other, std::span<const char> bytes) const {
        return std::memcmp(&head, &other, sizeof head) == 0 && bytes.size() == payload.size() &&
               std::equal(bytes.begin(), bytes.end(), payload.begin());
    }
};

// Checks that each sender's letters come in order, whole, each once.
class Reader {
public:
    explicit Reader(std::uint32_t senders) : next_(senders) {}

    Port::Handler handler() {
        return
            [this](std::uint32_t sender, const MessageHead& head, std::span<const char> payload) {
                ASSERT_LT(sender, next_.size());
                ASSERT_EQ(head.token, next_[sender]) << "from " << sender;
                ASSERT_TRUE(Letter(sender, head.token).is(head, payload)) << "from " << sender;
                ++next_[sender];
            };
    }

    [[nodiscard]] std::uint64_t read_from(std::uint32_t sender) const { return next_[sender]; }

    [[nodiscard]] std::uint64_t read() const {
        std::uint64_t sum = 0;
        for (const std::uint64_t count : next_) sum += count;
        return sum;
    }

private:
    std::vector<std::uint64_t> next_;
};

// Receives once, and yields when no message has arrived.
void look(Port& port, const Port::Handler& handler) {
    if (port.receive(handler, 64) == 0) os::yield_cpu();
}

void ignore(std::uint32_t, const MessageHead&, std::span<const char>) {}

bool send(Port& port, std::uint32_t receiver, const Letter& letter) {
    return port.send(receiver, letter.head, letter.payload);
}

// Sends letters first .. last-1 of a sender, each as soon as there is room.
void send_all(Port& port,
              std::uint32_t sender,
              std::uint32_t receiver,
              std::uint64_t first,
              std::uint64_t last) {
    for (std::uint64_t number = first; number < last; ++number) {
        const Letter letter(sender, number);
        while (!send(port, receiver, letter)) {
            port.receive(ignore, 64);
            os::yield_cpu();
        }
    }
}

class PortTest : public testing::TestWithParam<Kind> {
protected:
    PortTest() {
        acp::test::arm_watchdog(120, "a port test");
        RecordProperty("seed", std::to_string(seed()));
    }

    ~PortTest() override { acp::test::arm_watchdog(0, ""); }

    node::Segment make(std::uint32_t procs, std::uint32_t datagram_bytes = datagram) {
        return make_segment(GetParam(), procs, datagram_bytes);
    }
};

TEST_P(PortTest, hands_a_message_over_once_also_when_its_handler_throws) {
    const node::Segment segment = make(2);
    const auto from = open_port(segment, 0);
    const auto to = open_port(segment, 1);
    constexpr std::uint64_t letters = 30;  // more than can be in flight at once
    std::uint64_t seen = 0;
    const Port::Handler thrower = [&seen](std::uint32_t, const MessageHead& head,
                                          std::span<const char>) {
        EXPECT_EQ(head.token, seen++);
        throw std::runtime_error("by the handler");
    };
    for (std::uint64_t number = 0; number < letters; ++number) {
        const Letter letter(0, number);
        while (!send(*from, 1, letter)) from->receive(ignore, 64);
        while (seen == number) {
            try {
                to->receive(thrower, 64);
            } catch (const std::runtime_error&) {
            }
        }
    }
    EXPECT_EQ(seen, letters);
    EXPECT_EQ(to->receive(ignore, 64), 0U);
}

TEST_P(PortTest, carries_messages_though_no_memory_is_left) {
    const node::Segment segment = make(2);
    const auto from = open_port(segment, 0);
    const auto to = open_port(segment, 1);
    std::vector<Letter> letters;
    for (std::uint64_t number = 0; number < 500; ++number) letters.emplace_back(0, number);
    std::uint64_t seen = 0;
    const Port::Handler count = [&seen](std::uint32_t, const MessageHead&, std::span<const char>) {
        ++seen;
    };
    const Port::Handler nothing = ignore;
    {
        const acp::test::Refusal refusal(1, acp::test::all_from_there);
        for (const Letter& letter : letters) {
            while (!send(*from, 1, letter)) {
                to->receive(count, 64);
                from->receive(nothing, 64);
            }
        }
        while (seen < letters.size()) to->receive(count, 64);
    }
    EXPECT_EQ(seen, letters.size());
}

TEST_P(PortTest, delivers_messages_of_every_size_as_they_were_sent) {
    for (const std::uint32_t bytes_max : {64U, 100U, 1408U, 65000U}) {
        const node::Segment segment = make(2, bytes_max);
        const auto from = open_port(segment, 0);
        const auto to = open_port(segment, 1);
        ASSERT_EQ(from->datagram_bytes(), bytes_max);
        for (const std::uint32_t bytes :
             {0U, 1U, 8U, 16U, 17U, 56U, 57U, bytes_max - 1, bytes_max}) {
            for (int words = 0; words < 8; ++words) {
                Letter letter(0, 5);
                letter.payload.assign(bytes, 'x');
                if (bytes > 0) letter.payload.back() = 'e';
                letter.head.payload_bytes = bytes;
                letter.head.bytes = (words & 1) != 0 ? 1 : 0;
                letter.head.operand = (words & 2) != 0 ? ~0ULL : 0;
                letter.head.expected = (words & 4) != 0 ? 77 : 0;
                while (!send(*from, 1, letter)) from->receive(ignore, 64);
                std::uint32_t got = 0;
                while (got == 0) {
                    got = to->receive(
                        [&](std::uint32_t sender, const MessageHead& head,
                            std::span<const char> payload) {
                            EXPECT_EQ(sender, 0U);
                            EXPECT_TRUE(letter.is(head, payload))
                                << bytes << " bytes, words " << words;
                        },
                        64);
                }
                EXPECT_EQ(got, 1U);
            }
        }
    }
}

TEST_P(PortTest, keeps_the_order_of_a_sender_over_refusals) {
    const node::Segment segment = make(2);
    const auto from = open_port(segment, 0);
    const auto to = open_port(segment, 1);
    acp::test::Random random(seed());
    Reader reader(2);
    const auto handler = reader.handler();
    std::uint64_t sent = 0;
    while (sent < 5000 && !HasFatalFailure()) {
        for (std::uint64_t burst = random.below(20); burst > 0 && send(*from, 1, Letter(0, sent));
             --burst) {
            ++sent;
        }
        to->receive(handler, static_cast<std::uint32_t>(random.between(1, 9)));
        from->receive(ignore, 64);
    }
    while (reader.read() < sent && !HasFatalFailure()) to->receive(handler, 64);
    EXPECT_FALSE(to->receive(handler, 64));
}

TEST_P(PortTest, refuses_a_message_when_full_and_takes_it_when_there_is_room) {
    const node::Segment segment = make(3);
    const auto from = open_port(segment, 0);
    const auto to = open_port(segment, 1);
    const auto third = open_port(segment, 2);
    std::uint64_t sent = 0;
    while (sent < 100'000 && send(*from, 1, Letter(0, sent))) ++sent;
    ASSERT_GT(sent, 0U);
    ASSERT_LT(sent, 100'000U) << "the number of messages in flight has a limit";
    EXPECT_FALSE(from->has_room(1));
    EXPECT_TRUE(from->has_room(2)) << "one full receiver must not hold up the others";
    EXPECT_TRUE(send(*from, 2, Letter(0, 0)));
    Reader reader(3);
    while (reader.read() < sent) to->receive(reader.handler(), 64);
    while (!from->has_room(1)) from->receive(ignore, 64);
    EXPECT_TRUE(send(*from, 1, Letter(0, sent)));
    while (reader.read() < sent + 1) to->receive(reader.handler(), 64);
}

TEST_P(PortTest, delivers_at_most_the_requested_number_and_reports_the_rest) {
    const node::Segment segment = make(2);
    const auto from = open_port(segment, 0);
    const auto to = open_port(segment, 1);
    EXPECT_FALSE(to->has_mail());
    send_all(*from, 0, 1, 0, 5);
    Reader reader(2);
    while (reader.read() < 3) ASSERT_LE(to->receive(reader.handler(), 1), 1U);
    EXPECT_TRUE(to->has_mail());
    while (reader.read() < 5) to->receive(reader.handler(), 64);
    EXPECT_FALSE(to->has_mail());
    EXPECT_EQ(to->receive(reader.handler(), 64), 0U);
}

TEST_P(PortTest, many_threads_send_to_one) {
    constexpr std::uint32_t senders = 5;
    constexpr std::uint64_t each = 4000;
    const node::Segment segment = make(senders + 1);
    std::vector<std::unique_ptr<Port>> ports;
    for (std::uint32_t slot = 0; slot <= senders; ++slot) ports.push_back(open_port(segment, slot));
    std::vector<std::thread> threads;
    for (std::uint32_t slot = 0; slot < senders; ++slot) {
        threads.emplace_back([&, slot] { send_all(*ports[slot], slot, senders, 0, each); });
    }
    Reader reader(senders + 1);
    while (reader.read() < senders * each && !HasFatalFailure()) {
        if (ports[senders]->receive(reader.handler(), 64) == 0) os::yield_cpu();
    }
    for (std::thread& thread : threads) thread.join();
    for (std::uint32_t slot = 0; slot < senders; ++slot) EXPECT_EQ(reader.read_from(slot), each);
}

TEST_P(PortTest, every_process_sends_to_every_process) {
    constexpr std::uint32_t procs = 4;
    constexpr std::uint64_t each = 1000;
    const node::Segment segment = make(procs);
    std::vector<std::unique_ptr<Port>> ports;
    for (std::uint32_t slot = 0; slot < procs; ++slot) ports.push_back(open_port(segment, slot));
    std::atomic<std::uint32_t> done{0};
    const auto run = [&](std::uint32_t own) {
        Reader reader(procs);
        const auto handler = reader.handler();
        std::array<std::uint64_t, procs> sent{};
        bool is_done = false;
        while (done.load() < procs) {
            bool has_moved = false;
            for (std::uint32_t to = 0; to < procs; ++to) {
                if (sent[to] < each && send(*ports[own], to, Letter(own, sent[to]))) {
                    ++sent[to];
                    has_moved = true;
                }
            }
            has_moved = ports[own]->receive(handler, 7) != 0 || has_moved;
            if (!is_done && reader.read() == procs * each) {
                is_done = true;
                done.fetch_add(1);
            }
            if (!has_moved) os::yield_cpu();
        }
    };
    std::vector<std::thread> threads;
    for (std::uint32_t slot = 0; slot < procs; ++slot) threads.emplace_back(run, slot);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(done.load(), procs);
}

TEST_P(PortTest, a_receiver_that_does_not_read_delays_no_other) {
    const node::Segment segment = make(3);
    const auto from = open_port(segment, 0);
    const auto to = open_port(segment, 1);
    const auto stopped = open_port(segment, 2);
    while (send(*from, 2, Letter(0, 0))) {
    }
    Reader reader(3);
    for (std::uint64_t number = 0; number < 1000; ++number) {
        while (!send(*from, 1, Letter(0, number))) from->receive(ignore, 64);
        while (reader.read() <= number && !HasFatalFailure()) to->receive(reader.handler(), 64);
    }
}

TEST_P(PortTest, messages_of_a_killed_sender_are_whole_or_never_seen) {
    acp::test::Random random(seed());
    for (int round = 0; round < 30; ++round) {
        const node::Segment segment = make(3);
        const auto to = open_port(segment, 2);
        const auto sender = [&segment](std::uint32_t slot, std::uint64_t count) {
            return [&segment, slot, count] {
                const auto port = open_port(segment, slot);
                send_all(*port, slot, 2, 0, count);
                while (port->receive(ignore, 64) != 0 || !port->has_room(2)) os::yield_cpu();
                return 0;
            };
        };
        Child victim(sender(0, ~0ULL));
        Child other(sender(1, 2000));
        Reader reader(3);
        const std::uint64_t kill_after = random.below(1500);
        while (reader.read_from(0) < kill_after && !HasFatalFailure()) look(*to, reader.handler());
        const std::uint64_t until = os::now_ns() + random.below(200'000);
        while (os::now_ns() < until) look(*to, reader.handler());
        victim.kill();
        while (reader.read_from(1) < 2000 && !HasFatalFailure()) look(*to, reader.handler());
        while (to->receive(reader.handler(), 64) != 0) {
        }
        EXPECT_EQ(other.join(), 0);
        EXPECT_EQ(reader.read_from(1), 2000U);
    }
}

TEST_P(PortTest, what_was_sent_to_a_killed_receiver_is_forgotten) {
    acp::test::Random random(seed());
    for (int round = 0; round < 30; ++round) {
        const node::Segment segment = make(3);
        const auto from = open_port(segment, 0);
        const auto other = open_port(segment, 2);
        Child victim([&segment] {
            const auto port = open_port(segment, 1);
            Reader reader(3);
            for (;;) look(*port, reader.handler());
            return 0;
        });
        std::uint64_t sent = 0;
        for (const std::uint64_t until = random.below(500); sent < until;) {
            if (send(*from, 1, Letter(0, sent))) {
                ++sent;
            } else {
                from->receive(ignore, 64);
                os::yield_cpu();
            }
        }
        victim.kill();
        while (send(*from, 1, Letter(0, sent))) ++sent;
        from->forget(1);
        EXPECT_TRUE(from->has_room(1));
        Reader reader(3);
        for (std::uint64_t number = 0; number < 300; ++number) {
            while (!send(*from, 2, Letter(0, number))) from->receive(ignore, 64);
            while (reader.read() <= number && !HasFatalFailure())
                other->receive(reader.handler(), 64);
        }
    }
}

TEST_P(PortTest, mail_and_calls_end_the_sleep_of_the_service_thread) {
    const node::Segment segment = make(2);
    const auto from = open_port(segment, 0);
    const auto to = open_port(segment, 1);
    const auto is_idle = [&] { return !to->has_mail(); };
    Reader reader(2);
    std::uint64_t sent = 0;
    for (int round = 0; round < 200; ++round) {
        std::thread sleeper([&] {
            while (!to->has_mail()) to->sleep_service(is_idle, 60'000'000'000);
        });
        if (round % 2 == 0) os::yield_cpu();
        ASSERT_TRUE(send(*from, 1, Letter(0, sent)));
        ++sent;
        sleeper.join();
        while (reader.read() < sent) to->receive(reader.handler(), 64);
        from->receive(ignore, 64);

        std::atomic<bool> is_called{false};
        std::thread called([&] {
            while (!is_called.load()) {
                to->sleep_service([&] { return !is_called.load(); }, 60'000'000'000);
            }
        });
        if (round % 2 == 0) os::yield_cpu();
        is_called.store(true);
        to->wake_service();
        called.join();
    }
    const std::uint64_t before = os::now_ns();
    to->sleep_service(is_idle, 1'000'000);
    EXPECT_GE(os::now_ns() - before, 900'000U);
    to->sleep_service([] { return false; }, -1);  // not idle: returns at once
}

// Else a service thread whose process has a waiting thread, which takes the mail, would spin and
// keep that thread from the processor.
TEST_P(PortTest, mail_that_is_there_keeps_a_service_thread_awake_on_sockets_only) {
    const node::Segment segment = make(2);
    const auto from = open_port(segment, 0);
    const auto to = open_port(segment, 1);
    ASSERT_TRUE(send(*from, 1, Letter(0, 0)));
    ASSERT_TRUE(to->has_mail());
    const std::uint64_t before = os::now_ns();
    to->sleep_service([] { return true; }, 200'000'000);
    const bool has_slept = os::now_ns() - before >= 190'000'000;
    const bool is_udp = GetParam().intranode == base::IntraNode::udp;
    EXPECT_NE(has_slept, is_udp) << "a socket with mail is readable";
}

TEST_P(PortTest, a_sender_without_room_is_woken_when_there_is) {
    const node::Segment segment = make(2);
    const auto from = open_port(segment, 0);
    const auto to = open_port(segment, 1);
    constexpr std::uint64_t all = 3000;
    std::thread sender([&] {
        for (std::uint64_t number = 0; number < all; ++number) {
            const Letter letter(0, number);
            while (!send(*from, 1, letter)) {
                from->sleep_service([&] { return !from->has_room(1); }, -1);
                from->receive(ignore, 64);
            }
        }
    });
    std::thread receiver([&] {
        Reader reader(2);
        while (reader.read() < all) {
            if (to->receive(reader.handler(), 3) == 0) {
                to->sleep_service([&] { return !to->has_mail(); }, -1);
            }
        }
    });
    sender.join();
    receiver.join();
    EXPECT_FALSE(HasFailure());
}

INSTANTIATE_TEST_SUITE_P(every, PortTest, testing::ValuesIn(all_kinds), name_of);

// namespace acp::mailbox::test
}  // namespace
}  // namespace acp::mailbox::test
