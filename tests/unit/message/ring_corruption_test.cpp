// SPDX-License-Identifier: BSD-3-Clause
// Words between the ends of a ring are lost or overwritten, one or several at a time: both ends
// recover, and no record is lost, doubled or out of order.
#include <cstring>
#include <gtest/gtest.h>

#include "ring_memory.hpp"
#include "support/effort.hpp"

namespace acp::message {
namespace {

// A receiver that waits calls recover() every 0.25 ms, so a pause of three calls is shorter than
// the 10 ms that are allowed.
constexpr std::uint64_t recoveries_max = 3;
constexpr std::uint64_t injections_per_scene = 500;

template <typename Ring>
class Scene {
public:
    explicit Scene(std::uint64_t seed) : random_(seed) { ring_.expect_no_zeros(); }

    // Sends and receives at random and damages words at random moments, until a check fails or all
    // injections are done.
    void run() {
        std::uint64_t injections = 0;
        while (injections < injections_per_scene || received_ < sent_) {
            for (auto i = random_.below(6); i > 0 && injections < injections_per_scene; --i) send();
            if (random_.chance(50)) ring_.deliver();
            if (random_.chance(30)) injections += damage_some();
            for (auto i = random_.below(6); i > 0; --i) receive();
            if (testing::Test::HasFailure()) return;
        }
    }

    [[nodiscard]] std::uint64_t received() const { return received_; }

private:
    void send() {
        const std::uint64_t bytes = NumberedRecord(sent_, bytes_max_).bytes;
        const bool in_place = random_.chance(50);
        const std::uint64_t room = in_place ? std::min(bytes_max_, bytes * 2 + 100) : bytes;
        if (!send_record(ring_.sender, {sent_, bytes_max_}, in_place, bytes_max_)) return;
        ++sent_;
        starts_.push_back(next_line_);
        next_line_ +=
            ring_.shape.lines_of(next_line_, bytes, ring_.shape.must_wrap(next_line_, room));
    }

    void receive() {
        for (std::uint64_t recoveries = 0;; ++recoveries) {
            const std::string wrong = ring_.take(received_, bytes_max_);
            if (wrong != "nothing") {
                ASSERT_EQ(wrong, "") << "record " << received_;
                ASSERT_LT(received_, sent_);
                ++received_;
                starts_.pop_front();
                return;
            }
            if (received_ == sent_ && recoveries > 0) break;
            ASSERT_LT(recoveries, recoveries_max) << "record " << received_;
            wait_a_while();
        }
        // The sender's view of the credits has recovered too.
        ASSERT_NE(ring_.sender.reserve(bytes_max_), nullptr) << "before record " << sent_;
    }

    // The calls that both ends make in 0.25 ms.
    void wait_a_while() {
        ring_.receiver.recover();
        ring_.deliver_all();
        ring_.sender.serve();
        ring_.deliver_all();
    }

    // Damages one word, or several copies of the same information. Returns how many.
    std::uint64_t damage_some() {
        const auto& shape = ring_.shape;
        // Chooses a record that is in flight or in the ring, or the next one, whose lines may still
        // hold another record's payload.
        const std::uint64_t first = starts_.empty() ? next_line_ : starts_.front();
        const bool is_free = next_line_ - first < shape.lines();
        const std::uint64_t which = random_.below(starts_.size() + (is_free ? 1 : 0));
        const std::uint64_t line = which == starts_.size() ? next_line_ : starts_[which];
        const std::uint64_t words[] = {shape.header_offset(line), shape.journal_offset(line),
                                       shape.credit_offset(0), shape.credit_offset(1),
                                       shape.request_offset()};
        const std::uint64_t chosen = random_.chance(30)   ? 0b00011
                                     : random_.chance(30) ? 0b01100
                                                          : 1 + random_.below(31);
        std::uint64_t count = 0;
        for (std::size_t i = 0; i < 5; ++i) {
            if ((chosen >> i & 1) == 0) continue;
            std::uint64_t& word = ring_.word(words[i]);
            word = damaged(word, ring_.word(words[random_.below(5)]));
            ++count;
        }
        return count;
    }

    // A value in place of a word: random, zero, one bit changed, or the value of another word.
    std::uint64_t damaged(std::uint64_t word, std::uint64_t other) {
        switch (random_.below(4)) {
            case 0:
                return random_.next();
            case 1:
                return 0;
            case 2:
                return word ^ std::uint64_t{1} << random_.below(64);
            default:
                return other;
        }
    }

    test::Random random_;
    OpenRing<Ring> ring_{1024};
    std::uint64_t bytes_max_ = ring_.shape.payload_bytes_max();
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
    std::uint64_t next_line_ = 0;
    std::deque<std::uint64_t> starts_;  // lines of the records that were not yet received
};

template <typename Ring>
class RingCorruption : public testing::Test {};

using Rings = testing::Types<MappedRing<>, DistantRing<true>, DistantRing<false>>;
TYPED_TEST_SUITE(RingCorruption, Rings, RingNames);

TYPED_TEST(RingCorruption, of_any_words_loses_doubles_and_reorders_nothing) {
    constexpr std::uint64_t scenes = test::effort(40, 4);
    std::uint64_t received = 0;
    for (std::uint64_t seed = 1; seed <= scenes; ++seed) {
        Scene<TypeParam> scene(seed);
        scene.run();
        ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
        received += scene.received();
    }
    EXPECT_GT(received, scenes * injections_per_scene);
}

// The sender may be dead or busy.
template <typename Ring>
void lose_each_header() {
    OpenRing<Ring> ring(1024);
    ring.expect_no_zeros();
    test::Random random(5);
    for (std::uint64_t line = 0; line < 10'000; ++line) {
        const bool is_early = random.chance(50);
        std::uint64_t& header = ring.word(ring.shape.header_offset(line));
        if (is_early) header = random.next();
        ASSERT_NE(ring.sender.send(&line, sizeof line), SendAttempt::full);
        ring.deliver_all();
        if (!is_early) header = random.chance(50) ? random.next() : 0;
        ring.receiver.recover();
        const ReceivedRecord found = ring.receiver.receive();
        ASSERT_NE(found.data, nullptr) << "line " << line;
        ASSERT_EQ(std::memcmp(found.data, &line, sizeof line), 0);
        (void)ring.receiver.release();
        ring.deliver_all();
    }
}

TEST(RingCorruptionWithJournal, of_a_header_alone_is_mended_without_the_sender) {
    lose_each_header<MappedRing<>>();
    lose_each_header<DistantRing<true>>();
}

TYPED_TEST(RingCorruption, of_one_credit_is_mended_without_the_receiver) {
    OpenRing<TypeParam> ring(1024);
    const std::uint64_t which = ring.shape.lines() / 2;
    for (std::uint64_t number = 0; number < 10'000; ++number) {
        ASSERT_NE(ring.sender.send(&number, sizeof number), SendAttempt::full) << number;
        ring.deliver_all();
        ASSERT_NE(ring.receiver.receive().data, nullptr);
        (void)ring.receiver.release();
        ring.deliver_all();
        ring.word(ring.shape.credit_offset(number / which % 2)) = number * 0x9e3779b97f4a7c15;
    }
}

}  // namespace
}  // namespace acp::message
