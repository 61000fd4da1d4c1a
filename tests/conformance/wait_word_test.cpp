// SPDX-License-Identifier: BSD-3-Clause
// acp_wait_word: ends when any rank writes the word, by any path; sees the data that was written
// before the word; makes progress for other requests; and ends by its timeout, by a signal handler
// and by wrong arguments.
#include <atomic>
#include <csignal>
#include <cstring>
#include <limits>
#include <pthread.h>
#include <thread>
#include <vector>

#include "support/clock.hpp"
#include "support/kind_test.hpp"

namespace acp::test {
namespace {

constexpr std::size_t word_place = 0;
constexpr std::size_t other_place = 8;
constexpr std::size_t bytes_place = 64;
constexpr std::size_t few_bytes = 256;
constexpr std::int64_t for_ever = -1;
// Longer than any thread spins before it sleeps.
constexpr std::int64_t until_asleep_ns = 20'000'000;

int wait_until(const void* word, acp_word_comparison_t comparison, std::uint64_t value) {
    return acp_wait_word(word, 8, comparison, value, for_ever);
}

// Lets other ranks fall asleep: waits for a word that no rank writes.
void let_others_sleep() {
    const std::uint64_t never = 0;
    EXPECT_EQ(acp_wait_word(&never, 8, ACP_WORD_NOT_EQUAL, 0, until_asleep_ns), ACP_ERR_TIMEOUT);
}

class WaitWordTest : public KindTest {
protected:
    [[nodiscard]] bool is_any_reached() const { return reaches(next()) && reaches(previous()); }
};

TEST_P(WaitWordTest, shows_the_bytes_that_a_signal_was_put_behind) {
    if (!is_any_reached()) GTEST_SKIP() << "this mode does not reach registered memory";
    const Arena arena(GetParam(), bytes_place + few_bytes);
    for (std::uint64_t round = 1; round <= 30; ++round) {
        const bool is_late = round % 10 == 0;
        if (is_late && rank_ == 0) let_others_sleep();
        std::vector<std::byte> sent(few_bytes);
        fill_pattern(sent, round, rank_);
        const acp_handle_t handle =
            acp_put_signal(arena.at(next(), bytes_place), sent.data(), few_bytes,
                           arena.at(next(), word_place), 1, ACP_HANDLE_NULL);
        ASSERT_EQ(wait_until(&arena.word<std::uint64_t>(word_place), ACP_WORD_GREATER_EQUAL, round),
                  ACP_OK)
            << acp_error_message();
        std::vector<std::byte> expected(few_bytes);
        fill_pattern(expected, round, previous());
        EXPECT_EQ(std::memcmp(arena.local().data() + bytes_place, expected.data(), few_bytes), 0);
        expect_done(handle);
        sync_ranks();
    }
}

TEST_P(WaitWordTest, sees_atomics_puts_and_copies_also_when_it_sleeps) {
    if (!is_any_reached()) GTEST_SKIP() << "this mode does not reach registered memory";
    const Arena arena(GetParam(), bytes_place);
    std::uint64_t value = 0;
    for (const int kind : {0, 1, 2, 3}) {
        for (const bool is_late : {false, true}) {
            ++value;
            if (rank_ == 0) {
                if (is_late) let_others_sleep();
                arena.word<std::uint64_t>(other_place) = value;
                const acp_ga_t word = arena.at(next(), word_place);
                const acp_handle_t handle =
                    kind == 0   ? acp_add8(ACP_GA_NULL, word, 1, ACP_HANDLE_NULL)
                    : kind == 1 ? acp_swap8(ACP_GA_NULL, word, value, ACP_HANDLE_NULL)
                    : kind == 2 ? acp_put(word, &value, 8, ACP_HANDLE_NULL)
                                : acp_copy(word, arena.at(0, other_place), 8, ACP_HANDLE_NULL);
                expect_done(handle);
            }
            if (rank_ == 1 % procs_) {
                EXPECT_EQ(wait_until(&arena.word<std::uint64_t>(word_place), ACP_WORD_EQUAL, value),
                          ACP_OK)
                    << acp_error_message();
            }
            sync_ranks();
        }
    }
}

TEST_P(WaitWordTest, sees_a_plain_store_of_another_thread) {
    const Arena arena(GetParam(), bytes_place);
    auto& word = arena.word<std::uint64_t>(word_place);
    std::thread other([&] {
        let_others_sleep();
        std::atomic_ref(word).store(7, std::memory_order_release);
    });
    EXPECT_EQ(wait_until(&word, ACP_WORD_EQUAL, 7), ACP_OK) << acp_error_message();
    other.join();
    sync_ranks();
}

// The word is written only after the message has arrived, so the waiting sender must make progress
// on it.
TEST_P(WaitWordTest, makes_progress_on_requests_of_channels) {
    if (procs_ == 1 || !is_any_reached()) GTEST_SKIP() << "needs two ranks that reach each other";
    const Arena arena(GetParam(), bytes_place);
    const std::size_t long_bytes = 4U << 20U;
    std::vector<char> message(long_bytes, rank_ == 0 ? 'x' : 'o');
    if (rank_ < 2) {
        const acp_ch_t channel = acp_create_ch(0, 1);
        ASSERT_NE(channel, ACP_CH_NULL);
        if (rank_ == 0) {
            const acp_request_t request = acp_nbsend_ch(channel, message.data(), long_bytes);
            EXPECT_EQ(wait_until(&arena.word<std::uint64_t>(word_place), ACP_WORD_EQUAL, 1),
                      ACP_OK);
            EXPECT_NE(acp_wait_ch(request), static_cast<size_t>(-1));
        } else {
            EXPECT_EQ(acp_recv_ch(channel, message.data(), long_bytes), long_bytes);
            expect_done(acp_add8(ACP_GA_NULL, arena.at(0, word_place), 1, ACP_HANDLE_NULL));
        }
        EXPECT_EQ(acp_free_ch(channel), 0);
    }
    sync_ranks();
}

INSTANTIATE_TEST_SUITE_P(kinds,
                         WaitWordTest,
                         ::testing::Values(Kind::starter, Kind::registered),
                         [](const auto& each) { return name_of(each.param); });

using WaitWord = RankedTest;

template <typename Word>
void expect_comparisons() {
    const Word held = std::numeric_limits<Word>::max() - 1;

    const struct {
        acp_word_comparison_t comparison;
        // Expected results where the value is less than, equal to or greater than the word.
        bool less, equal, greater;
    } all[] = {{ACP_WORD_EQUAL, false, true, false},   {ACP_WORD_NOT_EQUAL, true, false, true},
               {ACP_WORD_LESS, false, false, true},    {ACP_WORD_LESS_EQUAL, false, true, true},
               {ACP_WORD_GREATER, true, false, false}, {ACP_WORD_GREATER_EQUAL, true, true, false}};

    for (const auto& each : all) {
        const auto outcome = [&](std::uint64_t value) {
            return acp_wait_word(&held, sizeof held, each.comparison, value, 0);
        };
        const auto expected = [](bool holds) { return holds ? ACP_OK : ACP_ERR_TIMEOUT; };
        EXPECT_EQ(outcome(held - 1U), expected(each.less)) << each.comparison;
        EXPECT_EQ(outcome(held), expected(each.equal)) << each.comparison;
        EXPECT_EQ(outcome(held + 1U), expected(each.greater)) << each.comparison;
    }
}

TEST_F(WaitWord, compares_words_of_every_width_as_unsigned_numbers) {
    expect_comparisons<std::uint8_t>();
    expect_comparisons<std::uint16_t>();
    expect_comparisons<std::uint32_t>();
    expect_comparisons<std::uint64_t>();
}

TEST_F(WaitWord, ends_at_its_timeout_and_reports_the_value_of_the_word) {
    const std::uint64_t word = 3;
    const auto start_ns = now_ns();
    EXPECT_EQ(acp_wait_word(&word, 8, ACP_WORD_GREATER_EQUAL, 5, 30'000'000), ACP_ERR_TIMEOUT);
    EXPECT_GE(now_ns() - start_ns, 30'000'000U);
    EXPECT_NE(std::strstr(acp_error_message(), "is at least 5 (it held 3)"), nullptr)
        << acp_error_message();
}

TEST_F(WaitWord, refuses_what_is_no_word_no_comparison_and_no_value_of_it) {
    const std::uint64_t word = 0;
    const auto* const askew = reinterpret_cast<const char*>(&word) + 2;
    EXPECT_EQ(acp_wait_word(nullptr, 8, ACP_WORD_EQUAL, 0, 0), ACP_ERR_ARGUMENT);
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{3}, std::size_t{16}}) {
        EXPECT_EQ(acp_wait_word(&word, bytes, ACP_WORD_EQUAL, 0, 0), ACP_ERR_ARGUMENT) << bytes;
    }
    EXPECT_EQ(acp_wait_word(askew, 4, ACP_WORD_EQUAL, 0, 0), ACP_ERR_ALIGNMENT);
    EXPECT_EQ(acp_wait_word(&word, 1, ACP_WORD_EQUAL, 256, 0), ACP_ERR_ARGUMENT);
    for (const int number : {std::numeric_limits<int>::min(), -1, ACP_WORD_EQUAL - 1,
                             ACP_WORD_GREATER_EQUAL + 1, std::numeric_limits<int>::max()}) {
        acp_word_comparison_t none = ACP_WORD_EQUAL;
        static_assert(sizeof none == sizeof number);
        std::memcpy(&none, &number, sizeof none);  // as a C program may pass it
        EXPECT_EQ(acp_wait_word(&word, 8, none, 0, 0), ACP_ERR_ARGUMENT);
        expect_error(ACP_ERR_ARGUMENT,
                     {"acp_wait_word", "comparison is " + std::to_string(number)});
    }
    EXPECT_EQ(acp_wait_word(&word, 8, static_cast<acp_word_comparison_t>(0), 0, 0),
              ACP_ERR_ARGUMENT);
    EXPECT_EQ(acp_wait_word(&word, 8, ACP_WORD_EQUAL, 0, 0), ACP_OK);
}

extern "C" void acp_test_note_nothing(int) {}

// A handler that runs before the call waits does not end it, so signals are repeated until one has.
TEST_F(WaitWord, ends_when_a_signal_handler_has_run) {
    struct sigaction action {};

    struct sigaction before {};

    action.sa_handler = acp_test_note_nothing;
    ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
    std::atomic<bool> has_ended{false};
    const pthread_t waiting = pthread_self();
    std::thread sender([&] {
        while (!has_ended.load()) {
            let_others_sleep();
            pthread_kill(waiting, SIGUSR1);
        }
    });
    const std::uint64_t word = 0;
    EXPECT_EQ(acp_wait_word(&word, 8, ACP_WORD_NOT_EQUAL, 0, for_ever), ACP_ERR_INTERRUPTED);
    has_ended.store(true);
    sender.join();
    ASSERT_EQ(sigaction(SIGUSR1, &before, nullptr), 0);
}

TEST_F(WaitWord, may_be_called_by_several_threads_for_words_of_their_own) {
    constexpr std::size_t count = 4;
    const Arena arena(Kind::starter, 64 * count);
    std::vector<std::thread> waiting;
    for (std::size_t i = 0; i < count; ++i) {
        waiting.emplace_back([&arena, i] {
            for (std::uint64_t round = 1; round <= 200; ++round) {
                EXPECT_EQ(wait_until(&arena.word<std::uint64_t>(64 * i), ACP_WORD_EQUAL, round),
                          ACP_OK);
                expect_done(
                    acp_add8(ACP_GA_NULL, arena.at(acp_rank(), 64 * i + 8), 1, ACP_HANDLE_NULL));
            }
        });
    }
    for (std::uint64_t round = 1; round <= 200; ++round) {
        for (std::size_t i = 0; i < count; ++i) {
            expect_done(acp_add8(ACP_GA_NULL, arena.at(rank_, 64 * i), 1, ACP_HANDLE_NULL));
        }
        for (std::size_t i = 0; i < count; ++i) {
            EXPECT_EQ(wait_until(&arena.word<std::uint64_t>(64 * i + 8), ACP_WORD_EQUAL, round),
                      ACP_OK);
        }
    }
    for (auto& thread : waiting) thread.join();
    sync_ranks();
}

}  // namespace
}  // namespace acp::test
