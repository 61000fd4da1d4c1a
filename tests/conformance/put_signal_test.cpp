// SPDX-License-Identifier: BSD-3-Clause
// acp_put_signal: a rank that sees the signal sees the bytes, at every size and with the word on
// any rank; one handle, one failure.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "support/kind_test.hpp"

namespace acp::test {
namespace {

constexpr std::size_t sizes[] = {0, 1, 8, 9, 100, 1000, 1001, 4096, 5000, 300'000};
constexpr std::size_t longest = 300'000;
constexpr std::size_t word_place = 0;
constexpr std::size_t bytes_place = 64;

class PutSignalTest : public KindTest {
protected:
    [[nodiscard]] bool is_any_reached() const {
        return GetParam() == Kind::starter || procs_ == 1 || mode().reaches_private_memory();
    }

    // Spins on a word of the caller's own memory.
    static void await_signal(const Arena& arena, std::uint64_t value) {
        const std::atomic_ref word(arena.word<std::uint64_t>(word_place));
        while (word.load(std::memory_order_acquire) < value) std::this_thread::yield();
    }
};

TEST_P(PutSignalTest, shows_the_bytes_to_a_rank_that_sees_the_signal) {
    if (!is_any_reached()) GTEST_SKIP() << "this mode does not reach registered memory";
    const Arena arena(GetParam(), bytes_place + longest);
    const int rounds = mode().is_slow() ? 5 : 50;
    std::uint64_t signals = 0;
    for (const std::size_t size : sizes) {
        for (int round = 0; round < rounds; ++round) {
            std::vector<std::byte> sent(size);
            fill_pattern(sent, signals, rank_);
            const acp_handle_t handle =
                acp_put_signal(arena.at(rank_at(1), bytes_place), sent.data(), size,
                               arena.at(rank_at(1), word_place), 1, ACP_HANDLE_NULL);
            std::vector<std::byte> expected(size);
            fill_pattern(expected, signals, rank_at(-1));
            ++signals;
            await_signal(arena, signals);
            const auto seen = arena.local().subspan(bytes_place, size);
            EXPECT_TRUE(std::equal(seen.begin(), seen.end(), expected.begin())) << size;
            expect_done(handle);
            sync_ranks();
        }
    }
}

TEST_P(PutSignalTest, adds_to_a_word_of_a_third_rank) {
    if (!is_any_reached()) GTEST_SKIP() << "this mode does not reach registered memory";
    const Arena arena(GetParam(), 64 + 8192);
    std::uint64_t all = 0;
    for (const std::size_t size : {std::size_t{8}, std::size_t{500}, std::size_t{8000}}) {
        std::vector<std::byte> sent(size);
        fill_pattern(sent, size, rank_);
        expect_done(acp_put_signal(arena.at(rank_at(1), bytes_place), sent.data(), size,
                                   arena.at(rank_at(2), word_place), 5, ACP_HANDLE_NULL));
        sync_ranks();
        all += 5;
        EXPECT_EQ(arena.word<std::uint64_t>(word_place), all);
        std::vector<std::byte> expected(size);
        fill_pattern(expected, size, rank_at(-1));
        const auto seen = arena.local().subspan(bytes_place, size);
        EXPECT_TRUE(std::equal(seen.begin(), seen.end(), expected.begin()));
        sync_ranks();
    }
}

TEST_P(PutSignalTest, is_ordered_after_what_fills_its_source) {
    const Arena arena(GetParam(), 64 + 8192);
    for (const std::size_t size : {std::size_t{8}, std::size_t{900}, std::size_t{8000}}) {
        arena.word<std::uint64_t>(word_place) = 0;
        fill_pattern(arena.local().subspan(bytes_place, size), size, rank_);
        sync_ranks();
        if (rank_ == 0 && reaches(rank_at(1))) {
            std::vector<std::byte> memory(size);
            const acp_handle_t got =
                acp_get(memory.data(), arena.at(0, bytes_place), size, ACP_HANDLE_NULL);
            expect_done(acp_put_signal(arena.at(rank_at(1), bytes_place), memory.data(), size,
                                       arena.at(rank_at(1), word_place), 7, got));
            std::vector<std::byte> seen(size);
            expect_done(
                acp_get(seen.data(), arena.at(rank_at(1), bytes_place), size, ACP_HANDLE_NULL));
            std::vector<std::byte> expected(size);
            fill_pattern(expected, size, 0);
            EXPECT_EQ(seen, expected);
        }
        sync_ranks();
    }
}

TEST_P(PutSignalTest, adds_all_values_of_many_puts_in_flight) {
    if (!is_any_reached()) GTEST_SKIP() << "this mode does not reach registered memory";
    constexpr std::size_t count = 500;
    const Arena arena(GetParam(), 64 + 8 * count);
    std::vector<std::uint64_t> sent(count);
    for (std::size_t i = 0; i < count; ++i) {
        sent[i] = i + 1;
        (void)acp_put_signal(arena.at(rank_at(1), bytes_place + 8 * i), &sent[i], 8,
                             arena.at(rank_at(1), word_place), i + 1, ACP_HANDLE_NULL);
    }
    await_signal(arena, count * (count + 1) / 2);
    for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(arena.word<std::uint64_t>(bytes_place + 8 * i), i + 1);
    }
    expect_done(ACP_HANDLE_ALL);
    sync_ranks();
}

TEST_P(PutSignalTest, fails_once_and_adds_nothing_where_the_target_is_bad) {
    const Arena arena(GetParam(), 64);
    if (reaches(rank_at(1))) {
        const acp_ga_t far_away = arena.at(rank_at(1)) + (acp_ga_t{1} << 34);
        std::vector<std::byte> sent(6000);
        for (const std::size_t size : {std::size_t{8}, sent.size()}) {
            const acp_handle_t handle = acp_put_signal(
                far_away, sent.data(), size, arena.at(rank_at(1), word_place), 1, ACP_HANDLE_NULL);
            expect_failure(handle, ACP_ERR_ADDRESS, {"acp_put_signal by rank"});
            EXPECT_EQ(acp_wait(handle, -1), ACP_OK) << acp_error_message();
            EXPECT_EQ(acp_wait(ACP_HANDLE_ALL, -1), ACP_OK) << acp_error_message();
            const acp_handle_t after = acp_put(arena.at(rank_at(1)), sent.data(), 8, handle);
            expect_failure(after, ACP_ERR_ORDER, {"acp_put by rank"});
        }
    }
    sync_ranks();
    EXPECT_EQ(arena.word<std::uint64_t>(word_place), 0U);
    sync_ranks();
}

TEST_P(PutSignalTest, names_the_end_that_leaves_starter_memory) {
    if (GetParam() != Kind::starter) GTEST_SKIP() << "another node's registered sizes are unknown";
    const Arena arena(GetParam(), 64);
    const std::size_t place = acp_starter_size() - 4;
    const acp_ga_t beyond = acp_query_starter_ga(rank_at(1)) + place;
    const std::string where = " is 8 bytes at global address " + hexadecimal(beyond) + ": offset " +
                              std::to_string(place) + " of a segment of " +
                              std::to_string(acp_starter_size()) + " bytes on rank";
    const std::uint64_t sent = 1;
    const acp_ga_t good = arena.at(rank_at(1), bytes_place);
    expect_failure(
        acp_put_signal(beyond, &sent, 8, arena.at(rank_at(1), word_place), 1, ACP_HANDLE_NULL),
        ACP_ERR_ADDRESS, {"acp_put_signal by rank", "the target" + where});
    (void)acp_wait(ACP_HANDLE_ALL, -1);
    expect_failure(acp_put_signal(good, &sent, 8, beyond, 1, ACP_HANDLE_NULL), ACP_ERR_ADDRESS,
                   {"acp_put_signal by rank", "the signal" + where});
    (void)acp_wait(ACP_HANDLE_ALL, -1);
    expect_failure(
        acp_put_signal(good, &sent, 8, arena.at(rank_at(1), 4), 1, ACP_HANDLE_NULL),
        ACP_ERR_ALIGNMENT,
        {"the signal is 8 bytes at global address " + hexadecimal(arena.at(rank_at(1), 4)) + ": ",
         "multiple of 8 in the memory of "});
    (void)acp_wait(ACP_HANDLE_ALL, -1);
    sync_ranks();
}

TEST_P(PutSignalTest, fails_once_where_the_word_is_bad) {
    const Arena arena(GetParam(), 8192);
    if (reaches(rank_at(1))) {
        std::vector<std::byte> sent(6000);
        for (const std::size_t size : {std::size_t{8}, sent.size()}) {
            const acp_handle_t handle =
                acp_put_signal(arena.at(rank_at(1), bytes_place), sent.data(), size,
                               arena.at(rank_at(1), 4), 1, ACP_HANDLE_NULL);
            expect_failure(
                handle, ACP_ERR_ALIGNMENT,
                {"acp_put_signal by rank", "the signal ", hexadecimal(arena.at(rank_at(1), 4))});
            EXPECT_EQ(acp_wait(ACP_HANDLE_ALL, -1), ACP_OK) << acp_error_message();
        }
    }
    sync_ranks();
    EXPECT_EQ(arena.word<std::uint64_t>(0), 0U);
    sync_ranks();
}

INSTANTIATE_TEST_SUITE_P(kinds,
                         PutSignalTest,
                         ::testing::Values(Kind::starter, Kind::registered),
                         [](const auto& each) { return name_of(each.param); });

}  // namespace
}  // namespace acp::test
