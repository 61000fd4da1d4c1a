// SPDX-License-Identifier: BSD-3-Clause
// Loaned messages: each piece is copied once, by the process that claims it, to the target of its
// own message; after the death of a sender within a piece only that piece is copied again. In one
// thread, and with both ends at once under the seeded scheduler, whose memory is as weak as C++
// allows.
#include "message/lending.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "support/interleave.hpp"

namespace acp::message {
namespace {

namespace sched = test::sched;

constexpr std::uint64_t seeds = 5'000;

TEST(LentPieces, cover_a_message_of_any_length_without_a_gap) {
    for (const std::uint64_t bytes :
         {std::uint64_t{1}, LentPieces::bytes_min - 1, LentPieces::bytes_min,
          LentPieces::bytes_min + 1, std::uint64_t{1} << 30, (std::uint64_t{1} << 36) + 12345,
          std::uint64_t{1} << 62}) {
        const LentPieces pieces(bytes);
        ASSERT_GT(pieces.count(), 0U) << bytes;
        ASSERT_LT(pieces.count(), PieceCount::count_max) << bytes;
        const std::uint64_t last = pieces.count() - 1;
        EXPECT_EQ(pieces.begin(last) + pieces.bytes(last), bytes);
        EXPECT_GT(pieces.bytes(last), 0U) << bytes;
        EXPECT_EQ(pieces.begin(std::min<std::uint64_t>(last, 1)), last == 0 ? 0 : pieces.bytes(0));
    }
}

TEST(PieceCount, is_decoded_to_what_was_encoded) {
    const PieceCount count{(std::uint64_t{1} << 24) - 1, 5, PieceCount::count_max};
    const PieceCount read = PieceCount::of(count.word());
    EXPECT_EQ(read.number, count.number);
    EXPECT_EQ(read.front, count.front);
    EXPECT_EQ(read.back, count.back);
    EXPECT_TRUE(read.is_of(count.number + (std::uint64_t{1} << 24)));
    EXPECT_FALSE(read.is_of(count.number - 1));
}

constexpr auto any_place = [](std::uint64_t, std::uint64_t) { return true; };

// Two buffers, and copies between them that are counted for each byte.
struct Buffers {
    explicit Buffers(std::uint64_t bytes) : source(bytes), target(bytes), times(bytes) {
        for (std::uint64_t i = 0; i < bytes; ++i) source[i] = static_cast<char>(i * 7 % 251);
    }

    void copy(char* to, const char* from, std::uint64_t bytes) {
        std::memcpy(to, from, bytes);
        for (std::uint64_t i = 0; i < bytes; ++i)
            ++times[static_cast<std::uint64_t>(to - target.data()) + i];
    }

    [[nodiscard]] auto by_receiver() {
        return [this](char* to, const char* from, std::uint64_t bytes) { copy(to, from, bytes); };
    }

    // The memory that both have mapped begins 100 bytes before the target.
    [[nodiscard]] auto by_sender() {
        return [this](std::uint64_t place, const char* from, std::uint64_t bytes) {
            copy(target.data() + place - 100, from, bytes);
        };
    }

    [[nodiscard]] LentBuffer message() const { return {source.data(), source.size()}; }

    std::vector<char> source;
    std::vector<char> target;
    std::vector<int> times;
};

TEST(Lending, a_receiver_copies_alone_what_the_sender_has_no_time_for) {
    Buffers buffers(3 * LentPieces::bytes_min + 5);
    LendingWords<> words;
    Lender<> lender;
    Borrower<> borrower;
    borrower.begin(words, 1, buffers.source.data(), buffers.target.data(), buffers.source.size());
    borrower.open(100, buffers.source.size());
    EXPECT_TRUE(borrower.is_busy());
    EXPECT_EQ(borrower.go_on(buffers.by_receiver()), LoanState::whole);
    EXPECT_FALSE(borrower.is_busy());
    EXPECT_EQ(buffers.target, buffers.source);
    EXPECT_FALSE(lender.help(words, 1, buffers.message(), any_place, buffers.by_sender()));
    EXPECT_EQ(std::count(buffers.times.begin(), buffers.times.end(), 1),
              static_cast<long>(buffers.times.size()));
}

TEST(Lending, a_sender_copies_what_the_receiver_has_not_begun_and_no_message_but_its_own) {
    Buffers buffers(3 * LentPieces::bytes_min + 5);
    LendingWords<> words;
    Lender<> lender;
    Borrower<> borrower;
    borrower.begin(words, 7, buffers.source.data(), buffers.target.data(), buffers.source.size());
    EXPECT_FALSE(lender.help(words, 7, buffers.message(), any_place, buffers.by_sender()))
        << "it is not open";
    borrower.open(100, buffers.source.size());
    EXPECT_FALSE(lender.help(words, 8, buffers.message(), any_place, buffers.by_sender()));
    EXPECT_TRUE(lender.help(words, 7, buffers.message(), any_place, buffers.by_sender()));
    EXPECT_EQ(buffers.target, buffers.source);
    EXPECT_EQ(borrower.go_on(buffers.by_receiver()), LoanState::whole);
    EXPECT_EQ(std::count(buffers.times.begin(), buffers.times.end(), 1),
              static_cast<long>(buffers.times.size()));
}

TEST(Lending, a_cut_message_has_its_first_bytes_and_nothing_behind_them_is_written) {
    Buffers buffers(3 * LentPieces::bytes_min);
    const std::uint64_t wanted = LentPieces::bytes_min + 9;
    LendingWords<> words;
    Lender<> lender;
    Borrower<> borrower;
    borrower.begin(words, 1, buffers.source.data(), buffers.target.data(), wanted);
    borrower.open(100, wanted);
    (void)lender.help(words, 1, buffers.message(), any_place, buffers.by_sender());
    ASSERT_EQ(borrower.go_on(buffers.by_receiver()), LoanState::whole);
    for (std::uint64_t i = 0; i < buffers.times.size(); ++i)
        ASSERT_EQ(buffers.times[i], i < wanted ? 1 : 0) << i;
}

TEST(Lending, a_sender_copies_nothing_where_the_words_lead_elsewhere) {
    Buffers buffers(3 * LentPieces::bytes_min);
    const std::uint64_t bytes = buffers.source.size();
    LendingWords<> words;
    Lender<> lender;
    Borrower<> borrower;
    borrower.begin(words, 1, buffers.source.data(), buffers.target.data(), bytes);
    borrower.open(100, bytes);
    std::uint64_t asked_place = 0;
    std::uint64_t asked_bytes = 0;
    const auto no_place = [&](std::uint64_t place, std::uint64_t its_bytes) {
        asked_place = place;
        asked_bytes = its_bytes;
        return false;
    };
    EXPECT_FALSE(lender.help(words, 1, buffers.message(), no_place, buffers.by_sender()));
    EXPECT_EQ(asked_place, 100U);
    EXPECT_EQ(asked_bytes, bytes);
    words.wanted.store(bytes + 1);  // more than the message has
    EXPECT_FALSE(lender.help(words, 1, buffers.message(), any_place, buffers.by_sender()));
    words.wanted.store(bytes);
    EXPECT_EQ(borrower.go_on(buffers.by_receiver()), LoanState::whole)
        << "the receiver copies alone";
    EXPECT_EQ(buffers.target, buffers.source);
}

// The parameter is an overwritten word of the claims, in a message of four pieces none of which is
// claimed.
class OverwrittenClaimsTest : public testing::TestWithParam<std::uint64_t> {};

TEST_P(OverwrittenClaimsTest, end_the_message_whether_the_sender_lives_or_not) {
    for (const bool is_sender_dead : {false, true}) {
        Buffers buffers(4 * LentPieces::bytes_min);
        LendingWords<> words;
        Lender<> lender;
        Borrower<> borrower;
        borrower.begin(words, 1, buffers.source.data(), buffers.target.data(),
                       buffers.source.size());
        borrower.open(100, buffers.source.size());
        words.claims.store(GetParam());
        const LoanState ended = is_sender_dead ? borrower.take_over(buffers.by_receiver())
                                               : borrower.go_on(buffers.by_receiver());
        EXPECT_EQ(ended, LoanState::overwritten);
        EXPECT_FALSE(borrower.is_busy());
        EXPECT_FALSE(lender.help(words, 1, buffers.message(), any_place, buffers.by_sender()));
        EXPECT_EQ(std::count(buffers.times.begin(), buffers.times.end(), 0),
                  static_cast<long>(buffers.times.size()));
    }
}

INSTANTIATE_TEST_SUITE_P(Words,
                         OverwrittenClaimsTest,
                         testing::Values(0,
                                         ~std::uint64_t{0},
                                         PieceCount{2, 0, 0}.word(),
                                         PieceCount{1, 1, 0}.word(),
                                         PieceCount{1, 4, 0}.word(),
                                         PieceCount{1, 0, 1}.word(),
                                         PieceCount{1, 0, 4}.word(),
                                         PieceCount{1, 0, PieceCount::count_max}.word()));

TEST(Lending, overwritten_claims_wait_for_the_piece_that_the_sender_copies_and_for_nothing_else) {
    Buffers buffers(4 * LentPieces::bytes_min);
    LendingWords<> words;
    Lender<> lender;
    Borrower<> borrower;
    borrower.begin(words, 1, buffers.source.data(), buffers.target.data(), buffers.source.size());
    borrower.open(100, buffers.source.size());
    int pieces = 0;
    const auto copy = [&](std::uint64_t place, const char* from, std::uint64_t bytes) {
        ++pieces;
        words.claims.store(PieceCount{1, 0, 3}.word());
        EXPECT_EQ(borrower.go_on(buffers.by_receiver()), LoanState::waits);
        EXPECT_EQ(borrower.go_on(buffers.by_receiver()), LoanState::waits);
        buffers.by_sender()(place, from, bytes);
    };
    EXPECT_TRUE(lender.help(words, 1, buffers.message(), any_place, copy));
    EXPECT_EQ(pieces, 1);
    EXPECT_EQ(borrower.go_on(buffers.by_receiver()), LoanState::overwritten);
    EXPECT_EQ(std::count(buffers.times.begin(), buffers.times.end(), 1),
              static_cast<long>(LentPieces::bytes_min));
}

TEST(Lending, a_lost_count_of_copied_pieces_is_sent_again) {
    Buffers buffers(4 * LentPieces::bytes_min);
    LendingWords<> words;
    Lender<> lender;
    Borrower<> borrower;
    borrower.begin(words, 1, buffers.source.data(), buffers.target.data(), buffers.source.size());
    borrower.open(100, buffers.source.size());
    EXPECT_TRUE(lender.help(words, 1, buffers.message(), any_place, buffers.by_sender()));
    words.copied.store(PieceCount{1, 0, 2}.word());
    EXPECT_EQ(borrower.go_on(buffers.by_receiver()), LoanState::waits);
    EXPECT_FALSE(lender.help(words, 1, buffers.message(), any_place, buffers.by_sender()));
    EXPECT_EQ(borrower.go_on(buffers.by_receiver()), LoanState::whole);
    EXPECT_EQ(buffers.target, buffers.source);
}

// The words between the ends carry only 24 bits of a message's number.
TEST(Lending, what_was_copied_of_a_message_long_ago_is_not_taken_for_pieces_of_this_one) {
    Buffers buffers(2 * LentPieces::bytes_min);
    LendingWords<> words;
    Lender<> lender;
    Borrower<> borrower;
    const auto begin = [&](std::uint64_t number) {
        borrower.begin(words, number, buffers.source.data(), buffers.target.data(),
                       buffers.source.size());
        borrower.open(100, buffers.source.size());
    };
    begin(5);
    PieceCount claims = PieceCount::of(words.claims.load());
    claims.back = 1;
    words.claims.store(claims.word());
    words.begun.store(BegunPieces{5, 1}.word());
    words.copied.store(PieceCount{5, 0, 1}.word());
    ASSERT_EQ(borrower.go_on(buffers.by_receiver()), LoanState::whole);
    begin(5 + (std::uint64_t{1} << 24));
    claims.front = 0;
    words.claims.store(claims.word());  // the sender has claimed a piece, and is still copying it
    words.begun.store(BegunPieces{5 + (std::uint64_t{1} << 24), 1}.word());
    EXPECT_EQ(borrower.go_on(buffers.by_receiver()), LoanState::waits);
}

TEST(Lending, a_piece_that_a_dead_sender_has_claimed_is_copied_again) {
    Buffers buffers(4 * LentPieces::bytes_min);
    LendingWords<> words;
    Lender<> lender;
    Borrower<> borrower;
    borrower.begin(words, 1, buffers.source.data(), buffers.target.data(), buffers.source.size());
    borrower.open(100, buffers.source.size());
    // The sender has copied one piece and claimed another one.
    PieceCount claims = PieceCount::of(words.claims.load());
    claims.back = 2;
    words.claims.store(claims.word());
    words.begun.store(BegunPieces{1, 2}.word());
    words.copied.store(PieceCount{1, 0, 1}.word());
    const LentPieces pieces(buffers.source.size());
    buffers.copy(buffers.target.data() + pieces.begin(3), buffers.source.data() + pieces.begin(3),
                 pieces.bytes(3));
    EXPECT_EQ(borrower.go_on(buffers.by_receiver()), LoanState::waits);
    EXPECT_EQ(borrower.go_on(buffers.by_receiver()), LoanState::waits) << "the sender may live";
    EXPECT_EQ(borrower.take_over(buffers.by_receiver()), LoanState::whole);
    EXPECT_FALSE(borrower.is_busy());
    EXPECT_EQ(buffers.target, buffers.source);
}

TEST(Lending, a_message_that_is_given_up_by_its_receiver_waits_for_the_senders_last_piece_alone) {
    Buffers buffers(4 * LentPieces::bytes_min);
    LendingWords<> words;
    Lender<> lender;
    Borrower<> borrower;
    borrower.begin(words, 1, buffers.source.data(), buffers.target.data(), buffers.source.size());
    borrower.open(100, buffers.source.size());
    PieceCount claims = PieceCount::of(words.claims.load());
    claims.back = 1;  // the sender is copying this piece
    words.claims.store(claims.word());
    words.begun.store(BegunPieces{1, 1}.word());
    int looks = 0;
    borrower.close([&] {
        EXPECT_TRUE(borrower.is_busy());
        if (++looks == 3) words.copied.store(PieceCount{1, 0, 1}.word());
        return true;
    });
    EXPECT_EQ(looks, 3);
    EXPECT_FALSE(borrower.is_busy());
    EXPECT_EQ(std::count(buffers.times.begin(), buffers.times.end(), 0),
              static_cast<long>(buffers.times.size()))
        << "no other thread has copied a piece";
}

TEST(Lending, a_message_that_is_given_up_by_its_receiver_does_not_wait_for_the_dead) {
    Buffers buffers(4 * LentPieces::bytes_min);
    LendingWords<> words;
    Lender<> lender;
    Borrower<> borrower;
    borrower.begin(words, 1, buffers.source.data(), buffers.target.data(), buffers.source.size());
    words.claims.store(PieceCount{1, 0, 2}.word());
    words.begun.store(BegunPieces{1, 2}.word());
    borrower.close([] { return false; });
    EXPECT_FALSE(borrower.is_busy());
}

TEST(Lending, a_message_that_its_sender_gave_up_is_distinguished_from_others) {
    LendingWords<> words;
    EXPECT_FALSE(Borrower<>::is_revoked(words));
    Lender<>::revoke(words);
    EXPECT_TRUE(Borrower<>::is_revoked(words));
}

// Messages of one to four pieces. One word stands for all bytes of a piece.
struct Scene {
    static constexpr std::uint64_t messages = 6;
    static constexpr std::uint64_t pieces_max = 4;

    [[nodiscard]] static std::uint64_t pieces_of(std::uint64_t number) {
        return 1 + number * 3 % pieces_max;
    }

    [[nodiscard]] static std::uint64_t bytes_of(std::uint64_t number) {
        return pieces_of(number) * LentPieces::bytes_min;
    }

    // All messages are loaned at the beginning; consecutive messages have different buffers.
    [[nodiscard]] static std::uint64_t place_of(std::uint64_t number) {
        return number % 2 * pieces_max * LentPieces::bytes_min;
    }

    void write(std::uint64_t place, std::uint64_t value) {
        std::uint64_t& word = target[place / LentPieces::bytes_min];
        sched::note_write(&word);
        word = value;
    }

    void send() {
        Lender<sched::Atomic> lender;
        for (std::uint64_t number = 1; number <= messages; ++number) {
            while (taken.load(std::memory_order_acquire) < number) {
                const auto copy = [&](std::uint64_t place, const char*, std::uint64_t) {
                    write(place, number);
                };
                (void)lender.help(words, number, {nullptr, bytes_of(number)}, any_place, copy);
                sched::pause();
            }
        }
    }

    void receive() {
        Borrower<sched::Atomic> borrower;
        for (std::uint64_t number = 1; number <= messages; ++number) {
            const auto copy = [&](char* to, const char*, std::uint64_t) {
                write(static_cast<std::uint64_t>(to - base()), number);
            };
            borrower.begin(words, number, nullptr, base() + place_of(number), bytes_of(number));
            borrower.open(place_of(number), bytes_of(number));
            while (borrower.go_on(copy) == LoanState::waits) sched::pause();
            for (std::uint64_t piece = 0; piece < pieces_of(number); ++piece) {
                std::uint64_t& word = target[place_of(number) / LentPieces::bytes_min + piece];
                sched::note_read(&word);
                if (word != number)
                    wrong =
                        "piece " + std::to_string(piece) + " of message " + std::to_string(number);
                word = 0;
            }
            taken.store(number, std::memory_order_release);
        }
    }

    // The base of all pointers; not read.
    [[nodiscard]] char* base() { return reinterpret_cast<char*>(target.data()); }

    LendingWords<sched::Atomic> words;
    sched::Atomic<std::uint64_t> taken;
    std::array<std::uint64_t, 2 * pieces_max> target{};
    std::string wrong;
};

TEST(LendingConcurrency, each_piece_is_copied_once_to_where_its_message_goes) {
    sched::for_each_seed(seeds, [](std::uint64_t seed) {
        Scene scene;
        const sched::Outcome outcome =
            sched::run({.seed = seed}, {[&] { scene.send(); }, [&] { scene.receive(); }});
        ASSERT_EQ(outcome.failure, "") << "seed " << seed;
        ASSERT_EQ(scene.wrong, "") << "seed " << seed;
        ASSERT_EQ(scene.taken.load(std::memory_order_relaxed), Scene::messages);
    });
}

}  // namespace
}  // namespace acp::message
