// SPDX-License-Identifier: BSD-3-Clause
// Litmus programs on shared pages, in the order that barriers give: message passing, store buffering,
// independent reads of independent writes, a chain of causes over several ranks, reads that later writes
// must not reach, and false sharing of a page and of a line. In each round the roles go to other ranks
// and the variables to other pages, so that each variable has had its home and copies at each node.
// TEST_ROUNDS sets the number of rounds.
#include <cstdint>
#include <gtest/gtest.h>
#include <thread>

#include "dsm_rounds.hpp"

namespace acp::test {
namespace {

constexpr std::size_t pages = 32;

class DsmLitmusTest : public DsmRoundsTest<pages> {
protected:
    template <typename Round>
    void repeat(const Round& round) {
        const std::uint64_t rounds = rounds_or(100);
        run_rounds(rounds, 60 + rounds / 10, round);
    }

    [[nodiscard]] volatile std::uint64_t& variable(std::uint64_t number,
                                                   std::uint64_t round) const {
        return word_of(number, round, 7);
    }
};

TEST_F(DsmLitmusTest, a_rank_that_sees_the_flag_sees_the_message) {
    repeat([this](std::uint64_t round) {
        volatile std::uint64_t& message = variable(0, round);
        volatile std::uint64_t& flag = variable(1, round);
        if (plays(0, round)) message = round;
        meet();
        // The rank that raises the flag may be one that has not written the message.
        if (plays(round % 3, round)) flag = round;
        meet();
        EXPECT_EQ(flag, round);
        EXPECT_EQ(message, round);
        meet();
    });
}

TEST_F(DsmLitmusTest, of_two_ranks_that_write_and_then_read_each_sees_the_write_of_the_other) {
    repeat([this](std::uint64_t round) {
        if (plays(0, round)) variable(0, round) = round;
        if (plays(1, round)) variable(1, round) = round;
        meet();
        for (const std::uint64_t role : {std::uint64_t{0}, std::uint64_t{1}}) {
            if (!plays(role, round)) continue;
            EXPECT_EQ(variable(1 - role, round), round);
        }
        meet();
    });
}

TEST_F(DsmLitmusTest, independent_writes_are_seen_by_readers_in_any_order_of_their_reads) {
    repeat([this](std::uint64_t round) {
        const std::uint64_t base = round * 2;
        if (plays(0, round)) variable(0, round) = base;
        if (plays(1, round)) variable(1, round) = base + 1;
        meet();
        const std::uint64_t first = static_cast<std::uint64_t>(rank_) % 2;
        const std::uint64_t earlier = variable(first, round);
        const std::uint64_t later = variable(1 - first, round);
        EXPECT_EQ(earlier, base + first);
        EXPECT_EQ(later, base + 1 - first);
        meet();
    });
}

// Each link of the chain reads what the one before it wrote, and no other.
TEST_F(DsmLitmusTest, the_end_of_a_chain_sees_all_writes_that_led_to_it) {
    constexpr std::uint64_t links = 3;
    repeat([this](std::uint64_t round) {
        if (plays(0, round)) variable(0, round) = round;
        meet();
        for (std::uint64_t link = 1; link < links; ++link) {
            if (plays(link, round)) variable(link, round) = variable(link - 1, round) + 1;
            meet();
        }
        // Also by the rank that wrote none of them, or cached them before they were written.
        for (std::uint64_t link = links; link-- != 0;)
            EXPECT_EQ(variable(link, round), round + link);
        meet();
    });
}

TEST_F(DsmLitmusTest, a_read_sees_no_write_from_behind_the_barrier_that_follows_it) {
    repeat([this](std::uint64_t round) {
        volatile std::uint64_t& value = variable(0, round);
        if (plays(0, round)) value = round;
        meet();
        if (!plays(1, round)) {
            EXPECT_EQ(value, round);
        }
        meet();
        if (plays(1, round)) value = round + 1;
        meet();
        EXPECT_EQ(value, round + 1);
        meet();
    });
}

// A page of which some bytes have a writer in each epoch, as others have in the next one.
TEST_F(DsmLitmusTest, bytes_that_were_written_last_long_ago_stay) {
    repeat([this](std::uint64_t round) {
        volatile std::uint64_t* const of_page = words_ + round / 16 % pages * page_words;
        // The word of this round, written once; those of the rounds before it on the page stay.
        if (plays(0, round * round)) of_page[round % 16 * 31] = round;
        meet();
        for (std::uint64_t before = round / 16 * 16; before <= round; ++before) {
            if (before == 0) continue;
            EXPECT_EQ(of_page[before % 16 * 31], before);
        }
        meet();
    });
}

// Each of two threads of each rank writes bytes of its own, beside those of all others.
class DsmFalseSharingTest : public DsmLitmusTest {
protected:
    //   stride  of the bytes of one thread: the number of threads puts all into one line
    void expect_bytes(std::size_t count, std::size_t stride) {
        repeat([&](std::uint64_t round) {
            auto* const bytes =
                reinterpret_cast<volatile std::uint8_t*>(words_ + round / 4 % pages * page_words);
            const auto value_of = [round](std::size_t writer, std::size_t i) {
                return static_cast<std::uint8_t>(round * 13 + writer * 31 + i * 7);
            };
            const std::size_t writers = static_cast<std::size_t>(procs_) * 2;
            const auto write = [&](std::size_t thread) {
                const std::size_t writer = static_cast<std::size_t>(rank_) * 2 + thread;
                for (std::size_t i = 0; i < count; ++i)
                    bytes[writer + i * stride] = value_of(writer, i);
            };
            std::thread other(write, 1);
            write(0);
            other.join();
            meet();
            for (std::size_t writer = 0; writer < writers; ++writer)
                for (std::size_t i = 0; i < count; ++i)
                    ASSERT_EQ(bytes[writer + i * stride], value_of(writer, i)) << writer;
            meet();
        });
    }
};

TEST_F(DsmFalseSharingTest, writers_of_bytes_of_one_page_do_not_disturb_each_other) {
    const std::size_t writers = static_cast<std::size_t>(procs_) * 2;
    expect_bytes(page_bytes / writers, writers);
}

TEST_F(DsmFalseSharingTest, writers_of_bytes_of_one_line_do_not_disturb_each_other) {
    expect_bytes(1, 64);
}

}  // namespace
}  // namespace acp::test
