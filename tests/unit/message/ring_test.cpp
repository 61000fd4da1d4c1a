// SPDX-License-Identifier: BSD-3-Clause
// A ring compared with a queue, with both ends in one thread: on a node, and between two nodes,
// where stores arrive later.
#include <array>
#include <gtest/gtest.h>
#include <string>

#include "ring_memory.hpp"

namespace acp::message {
namespace {

constexpr std::uint64_t small = 1024;

template <typename Ring>
class RingTest : public testing::Test {};

using Rings = testing::Types<MappedRing<>, DistantRing<true>, DistantRing<false>>;

TYPED_TEST_SUITE(RingTest, Rings, RingNames);

TYPED_TEST(RingTest, what_is_sent_arrives_whole_and_in_order) {
    for (const std::uint64_t record_bytes : {1024UL, 2048UL, 4096UL, 16384UL, 65536UL}) {
        OpenRing<TypeParam> ring(record_bytes);
        const std::uint64_t bytes_max = ring.shape.payload_bytes_max();
        test::Random random(record_bytes);
        std::uint64_t sent = 0;
        std::uint64_t received = 0;
        constexpr std::uint64_t records = 5'000;
        constexpr int still_rounds_max = 10'000;
        int still_rounds = 0;  // rounds without a sent or received record
        while (received < records && !this->HasFailure()) {
            const std::uint64_t moved = sent + received;
            const bool is_hasty = random.chance(50);  // the sender runs ahead, or lags behind
            for (auto i = random.below(is_hasty ? 20 : 3); i > 0 && sent < records; --i)
                sent += send_record(ring.sender, {sent, bytes_max}, random.chance(50), bytes_max);
            ring.deliver();
            for (auto i = random.below(is_hasty ? 3 : 20); i > 0; --i) {
                const std::string wrong = ring.take(received, bytes_max);
                if (wrong == "nothing") break;
                ASSERT_EQ(wrong, "") << "record " << received << " of a ring of " << record_bytes;
                ASSERT_LT(received++, sent);
            }
            still_rounds = moved == sent + received ? still_rounds + 1 : 0;
            ASSERT_LT(still_rounds, still_rounds_max)
                << sent << " records were sent, and " << received << " received";
        }
        EXPECT_EQ(ring.receiver.receive().data, nullptr);
    }
}

TYPED_TEST(RingTest, the_longest_record_has_room_wherever_the_last_one_ended) {
    OpenRing<TypeParam> ring(small);
    const std::uint64_t bytes_max = ring.shape.payload_bytes_max();
    std::vector<char> content(bytes_max, 'x');
    for (std::uint64_t i = 0; i < 3 * ring.shape.lines(); ++i) {
        for (const std::uint64_t bytes : {std::uint64_t{8}, bytes_max}) {
            ring.deliver_all();
            ASSERT_NE(ring.sender.send(content.data(), bytes), SendAttempt::full)
                << bytes << " bytes, line " << i;
            ring.deliver_all();
            ASSERT_EQ(ring.receiver.receive().bytes, bytes);
            (void)ring.receiver.release();
        }
    }
}

TYPED_TEST(RingTest, a_full_ring_takes_nothing_until_a_quarter_was_released) {
    OpenRing<TypeParam> ring(small);
    ring.deliver_all();
    const std::uint64_t number = 1;
    std::uint64_t sent = 0;
    while (ring.sender.send(&number, sizeof number) != SendAttempt::full) ++sent;
    EXPECT_EQ(sent, ring.shape.lines());
    EXPECT_EQ(ring.sender.reserve(0), nullptr);
    ring.deliver_all();
    for (std::uint64_t i = 0; i < ring.shape.lines() / 4; ++i) {
        ASSERT_EQ(ring.sender.reserve(0), nullptr);
        ASSERT_NE(ring.receiver.receive().data, nullptr);
        (void)ring.receiver.release();
        ring.deliver_all();
    }
    EXPECT_NE(ring.sender.reserve(56), nullptr);
}

TYPED_TEST(RingTest, a_record_lies_still_until_it_is_released) {
    OpenRing<TypeParam> ring(small);
    const std::uint64_t bytes_max = ring.shape.payload_bytes_max();
    ring.deliver_all();
    std::uint64_t sent = 0;
    for (std::uint64_t number = 0; number < 500; ++number) {
        while (send_record(ring.sender, {sent, bytes_max}, true, bytes_max)) ++sent;
        ring.deliver_all();
        const ReceivedRecord held = ring.receiver.receive();
        while (send_record(ring.sender, {sent, bytes_max}, false, bytes_max)) ++sent;
        ring.deliver_all();
        ASSERT_EQ(NumberedRecord(number, bytes_max).check(held), "") << number;
        ASSERT_EQ(ring.receiver.receive().data, held.data);
        (void)ring.receiver.release();
        ring.deliver_all();
    }
}

TYPED_TEST(RingTest, a_sender_finds_no_room_before_the_ring_is_open) {
    TypeParam ring(small);
    RingSender<typename TypeParam::Path> sender(ring.to_receiver(), ring.shape, RingKey(1));
    RingReceiver<typename TypeParam::Path> receiver(ring.to_sender(), ring.shape, RingKey(1));
    EXPECT_EQ(sender.reserve(0), nullptr);
    (void)receiver.open(RingKey(2));  // the key of another sender
    ring.deliver_all();
    EXPECT_EQ(sender.reserve(0), nullptr);
    (void)receiver.open(RingKey(1));
    ring.deliver_all();
    EXPECT_NE(sender.reserve(0), nullptr);
}

// Each sender stops in the middle of an operation.
TYPED_TEST(RingTest, a_ring_opened_anew_has_nothing_of_the_sender_before) {
    OpenRing<TypeParam> ring(small);
    const std::uint64_t bytes_max = ring.shape.payload_bytes_max();
    test::Random random(3);
    std::uint64_t number = 0;
    for (std::uint32_t owner = 100; owner < 300; ++owner) {
        (void)ring.receiver.open(RingKey(owner));
        RingSender<typename TypeParam::Path> sender(ring.to_receiver(), ring.shape, RingKey(owner));
        ring.deliver_all();
        ASSERT_EQ(ring.receiver.receive().data, nullptr);
        const std::uint64_t end = number + random.below(40);
        std::uint64_t sent = number;
        while (number < end) {
            while (sent < end && send_record(sender, {sent, bytes_max}, true, bytes_max)) ++sent;
            ring.deliver_all();
            ASSERT_EQ(ring.take(number, bytes_max), "") << number;
            ring.deliver_all();
            ++number;
        }
        ring.deliver_all();
        for (auto i = random.below(20); i > 0; --i)
            (void)send_record(sender, {~i, bytes_max}, true, bytes_max);
        if (char* const room = sender.reserve(bytes_max); room != nullptr)
            std::memset(room, 0xee, bytes_max);  // half a record
        ring.deliver_all();
    }
}

TYPED_TEST(RingTest, what_is_longer_than_the_longest_record_is_refused_loudly) {
    OpenRing<TypeParam> ring(small);
    EXPECT_DEATH((void)ring.sender.reserve(ring.shape.payload_bytes_max() + 1), "broken invariant");
    EXPECT_DEATH((void)ring.receiver.release(), "broken invariant");
    EXPECT_DEATH((void)RingShape(1536), "broken invariant");
    EXPECT_DEATH((void)RingShape(ring_bytes_min / 2), "broken invariant");
    EXPECT_DEATH((void)RingShape(ring_bytes_max * 2), "broken invariant");
}

// A sender that is broken or malicious knows the key.
TEST(Ring, a_header_that_cannot_be_is_no_record) {
    OpenRing<MappedRing<>> ring(small);
    const auto bytes_max = static_cast<std::uint32_t>(ring.shape.payload_bytes_max());
    std::vector<char> content(ring.shape.payload_bytes_max());
    for (std::uint64_t line = 0; line < ring.shape.lines(); ++line) {
        const auto to_end =
            static_cast<std::uint32_t>(ring.shape.record_bytes() - line * line_bytes - 8);
        const RecordHead impossible[] = {{bytes_max + 1, 0, false},
                                         {bytes_max + 1, 0, true},
                                         {to_end + 1, 0, false},
                                         {header_bytes_max, 0, true}};
        for (const RecordHead head : impossible) {
            ring.word(line * line_bytes) = ring.key.header(line, head);
            ring.word(ring.shape.journal_offset(line)) = ring.key.header(line, head);
            ASSERT_EQ(ring.receiver.receive().data, nullptr);
            ring.receiver.recover();
            ASSERT_EQ(ring.receiver.receive().data, nullptr);
        }
        ring.word(ring.shape.request_offset()) = 0;
        ASSERT_NE(ring.sender.send(content.data(), 0), SendAttempt::full);
        ASSERT_NE(ring.receiver.receive().data, nullptr);
        (void)ring.receiver.release();
    }
}

TEST(Ring, reports_when_the_other_end_sleeps) {
    OpenRing<MappedRing<>> ring(small);
    const std::uint64_t number = 1;
    EXPECT_EQ(ring.sender.send(&number, 8), SendAttempt::sent);
    (void)ring.receiver_bell.announce();
    EXPECT_EQ(ring.sender.send(&number, 8), SendAttempt::sent_to_sleeper);
    EXPECT_EQ(ring.sender.send(&number, 8), SendAttempt::sent);
    (void)ring.receiver_bell.announce();
    ASSERT_NE(ring.sender.reserve(8), nullptr);
    EXPECT_TRUE(ring.sender.commit(8));
    (void)ring.sender_bell.announce();
    for (std::uint64_t i = 1; i <= 4; ++i) {
        ASSERT_NE(ring.receiver.receive().data, nullptr);
        EXPECT_EQ(ring.receiver.release(), i == ring.shape.lines() / 4) << i;
    }
    (void)ring.sender_bell.announce();
    EXPECT_TRUE(ring.receiver.open(RingKey(5)));
}

// Else the sender would store the header again where the receiver has left zeros for later records.
TEST(Ring, answers_a_request_once) {
    OpenRing<MappedRing<>> ring(1024);
    ASSERT_NE(ring.sender.send("text", 5), SendAttempt::full);
    const std::uint64_t header = ring.word(ring.shape.header_offset(0));
    ring.word(ring.shape.header_offset(0)) = 0;
    ring.word(ring.shape.journal_offset(0)) = 0;
    ring.receiver.recover();
    ASSERT_NE(ring.word(ring.shape.request_offset()), 0U);
    ring.sender.serve();
    EXPECT_EQ(ring.word(ring.shape.header_offset(0)), header);
    EXPECT_EQ(ring.word(ring.shape.request_offset()), 0U);
}

// A refusal holds at any line, and for ever.
TEST(Ring, receives_a_refusal_and_takes_no_request_for_one) {
    OpenRing<MappedRing<>> ring(1024);
    ASSERT_NE(ring.sender.send("text", 5), SendAttempt::full);
    ring.word(ring.shape.request_offset()) = OpenRing<MappedRing<>>::key.request(0);
    ring.sender.serve();
    EXPECT_FALSE(ring.sender.is_refused());
    (void)ring.sender_bell.announce();
    EXPECT_TRUE(ring.receiver.refuse()) << "the sender sleeps";
    ring.sender.serve();
    EXPECT_TRUE(ring.sender.is_refused());
    EXPECT_EQ(ring.word(ring.shape.request_offset()), 0U);
    ring.sender.serve();
    EXPECT_TRUE(ring.sender.is_refused());
}

// A damaged request may name a line in the middle of a record, where its payload lies.
TEST(Ring, answers_no_request_for_a_line_where_no_record_starts) {
    OpenRing<MappedRing<>> ring(1024);
    const std::string text(150, 'x');
    ASSERT_NE(ring.sender.send(text.data(), text.size()), SendAttempt::full);
    for (std::uint64_t line = 1; line <= 2; ++line) {
        ring.word(ring.shape.request_offset()) = OpenRing<MappedRing<>>::key.request(line);
        ring.sender.serve();
        EXPECT_EQ(ring.word(ring.shape.request_offset()), 0U) << "not looked at";
    }
    const ReceivedRecord found = ring.receiver.receive();
    ASSERT_EQ(found.bytes, text.size());
    EXPECT_EQ(std::string(found.data, found.bytes), text);
}

// Without room the sender may make no other call until the receiver has got the header that it
// requests.
TEST(Ring, answers_a_request_when_it_finds_no_room) {
    OpenRing<MappedRing<>> ring(1024);
    while (ring.sender.send("text", 5) != SendAttempt::full) {
    }
    const std::uint64_t header = ring.word(ring.shape.header_offset(0));
    ring.word(ring.shape.header_offset(0)) = 0;
    ring.word(ring.shape.journal_offset(0)) = 0;
    ring.receiver.recover();
    ASSERT_NE(ring.word(ring.shape.request_offset()), 0U);
    EXPECT_EQ(ring.sender.send("text", 5), SendAttempt::full);
    EXPECT_EQ(ring.word(ring.shape.header_offset(0)), header);
}

// A path on which puts may be in flight.
struct LatePath : MappedPath<> {
    LatePath(MappedPath<> path, const bool& late) : MappedPath<>(path), is_late(&late) {}

    [[nodiscard]] bool is_idle() const noexcept { return !*is_late; }

    const bool* is_late;
};

struct LateRing : MappedRing<> {
    using Path = LatePath;
    using MappedRing<>::MappedRing;

    [[nodiscard]] Path to_receiver() { return {MappedRing<>::to_receiver(), is_late}; }

    [[nodiscard]] Path to_sender() { return {MappedRing<>::to_sender(), is_late}; }

    bool is_late = true;
};

class CrampedPath : public MappedPath<> {
public:
    CrampedPath(const MappedPath<>& path, const bool* has_room)
        : MappedPath<>(path), has_room_(has_room) {}

    [[nodiscard]] bool may_send() const noexcept { return *has_room_; }

private:
    const bool* has_room_;
};

struct CrampedRing : MappedRing<> {
    using Path = CrampedPath;
    using MappedRing<>::MappedRing;

    [[nodiscard]] Path to_receiver() { return {MappedRing<>::to_receiver(), &has_room}; }

    [[nodiscard]] Path to_sender() { return {MappedRing<>::to_sender(), &has_room}; }

    bool has_room = true;
};

// A stopped sender takes no credit, and a receiver that waits for another event must not wait for
// the sender.
TEST(Ring, sends_a_credit_later_while_the_path_has_no_room) {
    OpenRing<CrampedRing> ring(1024);
    while (ring.sender.send("text", 5) != SendAttempt::full) {
    }
    ring.has_room = false;
    while (ring.receiver.receive().data != nullptr) (void)ring.receiver.release();
    EXPECT_FALSE(ring.receiver.tell_due());
    EXPECT_EQ(ring.sender.send("text", 5), SendAttempt::full);
    ring.has_room = true;
    (void)ring.receiver.tell_due();
    EXPECT_NE(ring.sender.send("text", 5), SendAttempt::full);
}

// Else the receiver could find the header before the payload has arrived.
TEST(Ring, answers_no_request_while_what_was_sent_is_late) {
    OpenRing<LateRing> ring(1024);
    ASSERT_NE(ring.sender.send("text", 5), SendAttempt::full);
    const std::uint64_t header = ring.word(ring.shape.header_offset(0));
    ring.word(ring.shape.header_offset(0)) = 0;
    ring.word(ring.shape.journal_offset(0)) = 0;
    ring.receiver.recover();
    ring.sender.serve();
    EXPECT_EQ(ring.word(ring.shape.header_offset(0)), 0U);
    EXPECT_NE(ring.word(ring.shape.request_offset()), 0U);
    ring.is_late = false;
    ring.sender.serve();
    EXPECT_EQ(ring.word(ring.shape.header_offset(0)), header);
}

// Else the late answer to a request could overwrite the header of a later record in the same line.
TEST(Ring, uses_no_line_again_while_an_answer_is_late) {
    OpenRing<LateRing> ring(1024);
    ring.is_late = false;
    while (ring.sender.send("text", 5) != SendAttempt::full) {
    }
    ring.word(ring.shape.header_offset(0)) = 0;
    ring.word(ring.shape.journal_offset(0)) = 0;
    ring.receiver.recover();
    ring.sender.serve();
    ring.is_late = true;
    while (ring.receiver.receive().data != nullptr) (void)ring.receiver.release();
    EXPECT_EQ(ring.sender.send("text", 5), SendAttempt::full);
    ring.is_late = false;
    EXPECT_NE(ring.sender.send("text", 5), SendAttempt::full);
}

// A message of one line is sent by send() or send_line() and received by receive() or take_line(),
// in any sequence.
TEST(Ring, ways_of_a_line_and_of_any_length_take_turns) {
    constexpr std::uint64_t records = 20'000;
    constexpr std::uint64_t longest = 100;
    OpenRing<MappedRing<>> ring(small);
    test::Random random(7);
    const auto text_of = [](std::uint64_t number) {
        return std::string(1 + number * 7919 % longest, static_cast<char>('a' + number % 26));
    };
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t lines_taken = 0;
    while (received < records && !HasFailure()) {
        for (auto i = random.below(20); i > 0 && sent < records; --i) {
            const std::string text = text_of(sent);
            SendAttempt outcome = SendAttempt::full;
            if (is_one_line(text.size()) && random.chance(70))
                outcome = ring.sender.send_line(text.data(), text.size(), 0);
            if (outcome == SendAttempt::full)
                outcome = ring.sender.send(text.data(), text.size(), 0);
            if (outcome == SendAttempt::full) break;
            ++sent;
        }
        for (auto i = random.below(20); i > 0; --i) {
            std::array<char, line_bytes> room{};
            std::uint64_t bytes = 0;
            std::string text;
            if (random.chance(70) &&
                ring.receiver.take_line(0, room.data(), room.size(), bytes) == LineTaken::taken) {
                text.assign(room.data(), bytes);
                ++lines_taken;
            } else {
                const ReceivedRecord record = ring.receiver.receive();
                if (record.data == nullptr) break;
                text.assign(record.data, record.bytes);
                (void)ring.receiver.release();
            }
            ASSERT_EQ(text, text_of(received)) << "record " << received;
            ASSERT_LT(received++, sent);
        }
    }
    EXPECT_GT(lines_taken, records / 10);
}

TEST(Ring, takes_no_line_that_is_for_another_way) {
    OpenRing<MappedRing<>> ring(small);
    std::array<char, line_bytes> room{};
    std::uint64_t bytes = 0;
    const auto take = [&](std::uint64_t room_bytes) {
        return ring.receiver.take_line(0, room.data(), room_bytes, bytes);
    };
    const auto send = [&](std::uint64_t length, std::uint8_t tag) {
        const std::string text(length, 'x');
        EXPECT_EQ(ring.sender.send(text.data(), length, tag), SendAttempt::sent);
    };
    const auto drop = [&] {
        ASSERT_NE(ring.receiver.receive().data, nullptr);
        (void)ring.receiver.release();
        (void)ring.receiver.tell_released();
    };
    EXPECT_EQ(take(room.size()), LineTaken::none);
    send(0, 0);
    EXPECT_EQ(take(room.size()), LineTaken::another) << "an empty record";
    drop();
    send(line_bytes - header_bytes + 1, 0);
    EXPECT_EQ(take(room.size()), LineTaken::another) << "two lines";
    drop();
    send(8, 1);
    EXPECT_EQ(take(room.size()), LineTaken::another) << "another tag";
    drop();
    send(8, 0);
    EXPECT_EQ(take(7), LineTaken::another) << "too long";
    EXPECT_EQ(take(8), LineTaken::taken);
    EXPECT_EQ(bytes, 8U);
    (void)ring.receiver.tell_released();
    for (std::uint64_t i = 1; i < ring.shape.credit_lines(); ++i) {
        send(8, 0);
        EXPECT_EQ(take(8), LineTaken::taken);
    }
    send(8, 0);
    EXPECT_EQ(take(8), LineTaken::another) << "a credit is due";
    drop();
    for (std::uint64_t i = 0; i < ring.shape.lines(); ++i) send(8, 0);
    EXPECT_EQ(ring.sender.send_line("text", 4, 0), SendAttempt::full);
}

// After a poll without a record the lines of the record before are zero, and no byte outside of the
// ring's parts has changed.
TEST(Ring, leaves_zeros_where_headers_come_to_lie) {
    OpenRing<MappedRing<>> ring(small);
    const std::uint64_t bytes_max = ring.shape.payload_bytes_max();
    for (std::uint64_t number = 0; number < 1'000; ++number) {
        ASSERT_TRUE(send_record(ring.sender, {number, bytes_max}, true, bytes_max));
        ASSERT_EQ(ring.take(number, bytes_max), "");
        ASSERT_EQ(ring.receiver.receive().data, nullptr);
        for (std::uint64_t line = 0; line < ring.shape.lines(); ++line)
            ASSERT_EQ(ring.word(line * line_bytes), 0U) << "line " << line;
    }
}

TEST(Ring, leaves_zeros_before_it_returns_a_credit_and_else_a_record_later) {
    OpenRing<MappedRing<>> ring(small);
    for (int i = 0; i < 2; ++i) ASSERT_EQ(ring.sender.send("text", 5), SendAttempt::sent);
    for (int i = 0; i < 2; ++i) {
        ASSERT_NE(ring.receiver.receive().data, nullptr);
        (void)ring.receiver.release();
    }
    EXPECT_EQ(ring.word(ring.shape.header_offset(0)), 0U);
    (void)ring.receiver.tell_released();
    EXPECT_EQ(ring.word(ring.shape.header_offset(1)), 0U);
}

}  // namespace
}  // namespace acp::message
