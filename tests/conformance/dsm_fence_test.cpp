// SPDX-License-Identifier: BSD-3-Clause
// Litmus programs on shared pages in the order that acp_fence_dsm gives between barriers: message
// passing, store buffering, independent reads of independent writes, a chain of causes over three
// ranks, false sharing, and words that must not tear. In each round the roles go to other ranks, and the
// variables to other pages, so that each has its home and copies at each node. TEST_ROUNDS sets the
// number of rounds.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "dsm_rounds.hpp"

namespace acp::test {
namespace {

constexpr std::size_t pages = 24;

using Variable = volatile std::uint64_t;

class DsmFenceTest : public DsmRoundsTest<pages> {
protected:
    // Calls round(number), from 1 on, until a check fails on a rank. Barriers, between which homes
    // move, come at some of the rounds alone.
    template <typename Round>
    void repeat(const Round& round) {
        const std::uint64_t rounds = rounds_or(60);
        run_rounds(rounds, 120 + rounds, [&](std::uint64_t number) {
            ASSERT_NO_FATAL_FAILURE(round(number));
            if (number % 3 == 0) {
                meet();
            } else {
                sync_ranks();
            }
        });
    }

    [[nodiscard]] Variable& variable(std::uint64_t number, std::uint64_t round) const {
        return word_of(number, round, 5);
    }

    static void fence(Variable& word) {
        ASSERT_EQ(acp_fence_dsm(const_cast<std::uint64_t*>(&word), sizeof word), 0)
            << acp_error_message();
    }

    static void write(Variable& word, std::uint64_t value) {
        word = value;
        fence(word);
    }

    [[nodiscard]] static std::uint64_t read(Variable& word) {
        fence(word);
        return word;
    }

    static void await(Variable& word, std::uint64_t value) {
        while (read(word) < value) std::this_thread::yield();
    }
};

TEST_F(DsmFenceTest, a_rank_that_sees_the_flag_sees_the_message) {
    repeat([this](std::uint64_t round) {
        // Words of several pages and, every other round, of the flag's.
        const std::uint64_t first = round % 2 == 0 ? 0 : 5;
        constexpr std::size_t words = 3 * page_words;
        Variable& flag = words_[2 * page_words + round % page_words];
        std::uint64_t* const message = words_ + first * page_words;
        if (plays(0, round)) {
            for (std::size_t i = 0; i < words; i += 97) {
                if (message + i != &flag) message[i] = round;
            }
            ASSERT_EQ(acp_fence_dsm(message, words * 8), 0) << acp_error_message();
            write(flag, round);
        } else {
            // Every rank has some of the pages from before.
            if (round % 4 < 2) {
                EXPECT_LE(message[97], round);
            }
            await(flag, round);
            ASSERT_EQ(acp_fence_dsm(message, words * 8), 0) << acp_error_message();
            for (std::size_t i = 0; i < words; i += 97) {
                if (message + i == &flag) continue;
                EXPECT_EQ(message[i], round) << i;
            }
        }
    });
}

TEST_F(DsmFenceTest, of_two_ranks_that_write_and_then_read_one_sees_the_write_of_the_other) {
    repeat([this](std::uint64_t round) {
        std::uint64_t seen = round;
        for (const std::uint64_t role : {std::uint64_t{0}, std::uint64_t{1}}) {
            if (!plays(role, round)) continue;
            write(variable(role, round), round);
            seen = read(variable(1 - role, round));
        }
        bool has_seen = procs_ < 2;
        const std::vector<std::uint64_t> all = exchange(seen);
        for (std::uint64_t role = 0; role < 2; ++role)
            has_seen =
                has_seen || all[(role + round) % static_cast<std::uint64_t>(procs_)] >= round;
        EXPECT_TRUE(has_seen);
    });
}

// Two ranks write a variable each; no two others see the writes in different orders.
TEST_F(DsmFenceTest, independent_writes_are_seen_in_one_order) {
    if (procs_ < 4) GTEST_SKIP() << "four roles";
    repeat([this](std::uint64_t round) {
        Variable& one = variable(0, round);
        Variable& other = variable(1, round);
        std::uint64_t order = 0;  // a bit: this rank saw only the first write, or only the second
        if (plays(0, round)) write(one, round);
        if (plays(1, round)) write(other, round);
        for (const std::uint64_t role : {std::uint64_t{2}, std::uint64_t{3}}) {
            if (!plays(role, round)) continue;
            Variable& first = role == 2 ? one : other;
            Variable& second = role == 2 ? other : one;
            const bool has_first = read(first) >= round;
            const bool has_second = read(second) >= round;
            if (has_first && !has_second) order = role == 2 ? 1 : 2;
        }
        std::uint64_t orders = 0;
        for (const std::uint64_t each : exchange(order)) orders |= each;
        EXPECT_NE(orders, 3U);
    });
}

TEST_F(DsmFenceTest, the_end_of_a_chain_sees_the_write_that_led_to_it) {
    repeat([this](std::uint64_t round) {
        Variable& message = variable(0, round);
        if (plays(0, round)) {
            write(message, round);
            write(variable(1, round), round);
        }
        if (plays(1, round)) {
            await(variable(1, round), round);
            write(variable(2, round), round);
        }
        if (plays(2, round)) {
            await(variable(2, round), round);
            EXPECT_EQ(read(message), round);
        }
    });
}

// Each rank writes words of its own between those of others, and asks for theirs.
TEST_F(DsmFenceTest, own_words_stay_beside_those_of_others_and_theirs_never_go_back) {
    const auto procs = static_cast<std::size_t>(procs_);
    const auto rank = static_cast<std::size_t>(rank_);
    std::uint64_t written = 0;
    std::vector<std::uint64_t> seen(procs);
    repeat([&](std::uint64_t round) {
        Variable* const words = words_ + round / 7 % pages * page_words + round / 7 % 100;
        if (round % 7 == 0) {
            words[rank] = written;
            ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
        }
        for (std::size_t i = 0; i < procs && round % 7 == 0; ++i) seen[i] = words[i];
        if (round < 7) return;
        for (int step = 0; step < 20; ++step) {
            ++written;
            words[rank] = written;
            fence(words[0]);
            EXPECT_EQ(words[rank], written);
            for (std::size_t i = 0; i < procs; ++i) {
                const std::uint64_t now = words[i];
                EXPECT_GE(now, seen[i]) << "of rank " << i;
                seen[i] = now;
            }
        }
    });
}

TEST_F(DsmFenceTest, a_word_that_is_written_as_a_whole_is_read_as_a_whole) {
    constexpr std::uint64_t each_byte = 0x0101010101010101;
    repeat([this](std::uint64_t round) {
        Variable& word = variable(0, round);
        Variable& is_over = variable(1, round);
        if (plays(0, round)) {
            for (std::uint64_t value = 1; value <= 100; ++value) {
                word = each_byte * value;
                if (value % 8 == 0) fence(word);
            }
            write(word, 0);
            write(is_over, round);
        } else {
            do {
                const std::uint64_t value = read(word);
                EXPECT_EQ(value, each_byte * (value & 0xff)) << std::hex << value;
            } while (read(is_over) < round);
        }
    });
}

TEST_F(DsmFenceTest, what_was_flushed_is_written_on_and_arrives_at_the_barrier) {
    repeat([this](std::uint64_t round) {
        std::uint64_t* const own = words_ + static_cast<std::size_t>(rank_);
        constexpr std::size_t steps = pages * page_words / 64;
        for (std::size_t i = 0; i < steps; ++i) {
            own[i * 64] = round + i;
            if (i % 16 == 0) {
                ASSERT_EQ(acp_flush_dsm(words_, pages * page_bytes), 0) << acp_error_message();
            }
            if (i % 3 == 0) own[i * 64] = round + i + 1;
        }
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
        for (std::size_t i = 0; i < steps; ++i) {
            for (std::size_t rank = 0; rank < static_cast<std::size_t>(procs_); ++rank)
                ASSERT_EQ(words_[i * 64 + rank], round + i + (i % 3 == 0 ? 1 : 0)) << i;
        }
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
    });
}

// The memory of the homes goes when all ranks have ended their shared pages.
TEST_F(DsmFenceTest, shared_pages_may_end_while_flushes_are_in_flight) {
    allow_seconds(120);
    for (int round = 0; round < 10; ++round) {
        for (std::size_t i = static_cast<std::size_t>(rank_); i < pages * page_words; i += 64)
            words_[i] = i + 1;
        ASSERT_EQ(acp_flush_dsm(words_, pages * page_bytes), 0) << acp_error_message();
        ASSERT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
        const acp_ga_t block = acp_malloc(pages * page_bytes, rank_);
        ASSERT_NE(block, ACP_GA_NULL) << acp_error_message();
        auto* const bytes = static_cast<unsigned char*>(acp_query_address(block));
        std::memset(bytes, 0xee, pages * page_bytes);
        sync_ranks();
        EXPECT_TRUE(std::all_of(bytes, bytes + pages * page_bytes,
                                [](unsigned char byte) { return byte == 0xee; }));
        acp_free(block);
        ASSERT_EQ(acp_init_dsm(pages * page_bytes), 0) << acp_error_message();
        words_ = static_cast<std::uint64_t*>(acp_alloc_dsm(pages * page_bytes));
        ASSERT_NE(words_, nullptr) << acp_error_message();
    }
}

}  // namespace
}  // namespace acp::test
