// SPDX-License-Identifier: BSD-3-Clause
// Rounds on a board: members read published data whole and in its round; data is not overwritten
// while a member reads it; and a stopped member stops the other members at most `board_depth`
// rounds later.
#include "team/board.hpp"

#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "os/cpu.hpp"

namespace acp::team {
namespace {

constexpr std::uint32_t members = 3;

struct alignas(64) Memory {
    std::array<char, board_bytes> bytes{};
};

class BoardTest : public ::testing::Test {
protected:
    BoardTest() { clear(); }

    void clear() {
        for (auto& memory : memories_) memory = std::make_unique<Memory>();
    }

    Board board_of(std::uint32_t place, Board::Fence fence = Board::Fence::by_sleeper) {
        std::vector<char*> blocks;
        for (auto& memory : memories_) blocks.push_back(memory->bytes.data());
        return {blocks, place, fence};
    }

private:
    std::array<std::unique_ptr<Memory>, members> memories_;
};

TEST_F(BoardTest, nothing_is_published_at_the_start) {
    Board board = board_of(0);
    const RoundNumber round = board.begin_round();
    for (std::uint32_t place = 0; place < members; ++place)
        EXPECT_FALSE(board.is_published(place, round));
}

TEST_F(BoardTest, others_read_what_was_published_with_its_signature) {
    Board writer = board_of(0);
    Board reader = board_of(2);
    for (const std::uint64_t bytes :
         {std::uint64_t{0}, std::uint64_t{40}, std::uint64_t{41}, board_chunk_bytes}) {
        const RoundNumber round = writer.begin_round();
        ASSERT_EQ(reader.begin_round(), round);
        std::memset(writer.room(round, bytes), static_cast<int>(bytes % 100) + 1, bytes);
        writer.publish(round, {CollectiveCall::broadcast, bytes, 0});
        ASSERT_TRUE(reader.is_published(0, round));
        EXPECT_FALSE(reader.is_published(1, round));
        EXPECT_FALSE(reader.is_published(0, round + 1));
        EXPECT_EQ(reader.signature(0, round), Signature(CollectiveCall::broadcast, bytes, 0));
        const char* const read = reader.published(0, round, bytes);
        for (std::uint64_t i = 0; i < bytes; ++i) ASSERT_EQ(read[i], bytes % 100 + 1);
    }
}

TEST_F(BoardTest, the_last_calls_of_a_member_are_found_by_their_number) {
    Board writer = board_of(0);
    const Board reader = board_of(2);
    EXPECT_FALSE(reader.call(0, 1).has_value());
    for (std::uint64_t number = 1; number <= 20; ++number) {
        writer.note_call({CollectiveCall::broadcast, number});
        EXPECT_FALSE(reader.call(0, number + 1).has_value());
        EXPECT_FALSE(reader.call(1, number).has_value());
        for (std::uint64_t back = 0; back < number; ++back) {
            const auto found = reader.call(0, number - back);
            ASSERT_EQ(found.has_value(), back < 8);
            if (found.has_value()) {
                EXPECT_EQ(*found, Signature(CollectiveCall::broadcast, number - back));
            }
        }
    }
}

// A writer stores the parts of a record while a reader loads them.
TEST_F(BoardTest, a_call_that_is_found_has_the_signature_of_its_number) {
    Board writer = board_of(0);
    const Board reader = board_of(1);
    constexpr std::uint64_t last = 200'000;
    std::thread thread([&writer] {
        for (std::uint64_t number = 1; number <= last; ++number)
            writer.note_call(
                {CollectiveCall::broadcast, number, static_cast<std::uint32_t>(number)});
    });
    std::uint64_t wrong = 0;
    for (std::uint64_t number = 1; number <= last;) {
        const auto found = reader.call(0, number);
        const bool is_right =
            !found.has_value() || (found->bytes == number && found->root() == number);
        wrong += is_right ? 0 : 1;
        if (found.has_value() || reader.call(0, last).has_value()) ++number;
    }
    thread.join();
    EXPECT_EQ(wrong, 0U);
}

TEST_F(BoardTest, a_round_waits_for_those_that_have_not_finished_the_one_it_overwrites) {
    Board ahead = board_of(0);
    Board second = board_of(1);
    Board behind = board_of(2);
    for (std::uint32_t i = 0; i < board_depth; ++i) {
        const RoundNumber round = ahead.begin_round();
        ASSERT_TRUE(ahead.has_room(round)) << round;
        ahead.publish(round, {});
    }
    const RoundNumber next = ahead.begin_round();
    EXPECT_FALSE(ahead.has_room(next));
    EXPECT_EQ(ahead.place_behind(next), 1U);
    second.finish(5);
    EXPECT_FALSE(ahead.has_room(next));
    EXPECT_EQ(ahead.place_behind(next), 2U);
    behind.finish(1);
    EXPECT_TRUE(ahead.has_room(next));
    EXPECT_EQ(ahead.place_behind(next), nobody);
    EXPECT_FALSE(ahead.has_room(next + 1));
    behind.finish(7);
    EXPECT_TRUE(ahead.has_room(5 + board_depth));
    EXPECT_FALSE(ahead.has_room(6 + board_depth));
}

TEST_F(BoardTest, a_member_alone_on_its_node_always_has_room) {
    const auto memory = std::make_unique<Memory>();
    Board board({memory->bytes.data()}, 0, Board::Fence::by_sleeper);
    for (std::uint32_t i = 0; i < 3 * board_depth; ++i) {
        const RoundNumber round = board.begin_round();
        ASSERT_TRUE(board.has_room(round)) << round;
        board.finish(round);
    }
    EXPECT_EQ(board.place_not_departed(), nobody);
}

TEST_F(BoardTest, all_others_depart_from_a_block) {
    Board own = board_of(0);
    EXPECT_EQ(own.place_not_departed(), 1U);
    board_of(1).depart_from(0);
    EXPECT_EQ(own.place_not_departed(), 2U);
    board_of(2).depart_from(0);
    EXPECT_EQ(own.place_not_departed(), nobody);
}

TEST_F(BoardTest, as_many_members_as_a_node_may_have_depart_from_a_block) {
    const auto memory = std::make_unique<Memory>();
    const std::vector<char*> blocks(board_places_max, memory->bytes.data());
    const Board own(blocks, 0, Board::Fence::by_sleeper);
    for (std::uint32_t place = 1; place < board_places_max; ++place) {
        ASSERT_EQ(own.place_not_departed(), place);
        Board(blocks, place, Board::Fence::by_sleeper).depart_from(0);
    }
    EXPECT_EQ(own.place_not_departed(), nobody);
}

TEST_F(BoardTest, one_member_notifies_another_why_the_team_is_broken) {
    const Trouble& own = board_of(0).trouble(0);
    EXPECT_EQ(own.code.load(), 0U);
    board_of(2).trouble(0).tell(15, std::string(2 * trouble_text_bytes, 'x'));
    EXPECT_EQ(own.code.load(), 15U);
    EXPECT_EQ(own.words(), std::string(trouble_text_bytes - 1, 'x'));
    EXPECT_EQ(board_of(1).trouble(1).code.load(), 0U);
}

TEST_F(BoardTest, a_member_that_has_not_published_in_a_round_of_all_is_named) {
    Board own = board_of(0);
    const RoundNumber round = own.begin_round();
    EXPECT_EQ(own.place_missing(round), 1U);
    board_of(1).publish(round, {});
    EXPECT_EQ(own.place_missing(round), 2U);
    // The line of a later round shows that the member has published this round.
    board_of(2).publish(round + board_depth, {});
    EXPECT_EQ(own.place_missing(round), nobody);
}

// Each member publishes numbers of its round, and reads those of all others.
void run_rounds(Board board, std::uint32_t own, std::uint64_t rounds, std::uint64_t* wrong) {
    constexpr std::uint64_t words = 9;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        const RoundNumber round = board.begin_round();
        while (!board.has_room(round)) os::yield_cpu();
        std::array<std::uint64_t, words> shown{};
        shown.fill(round * members + own);
        std::memcpy(board.room(round, sizeof shown), shown.data(), sizeof shown);
        board.publish(round, {CollectiveCall::allgather, round});
        for (std::uint32_t place = 0; place < members; ++place) {
            while (!board.is_published(place, round)) os::yield_cpu();
            std::array<std::uint64_t, words> read{};
            std::memcpy(read.data(), board.published(place, round, sizeof read), sizeof read);
            for (const std::uint64_t word : read) *wrong += word != round * members + place;
            *wrong += board.signature(place, round) != Signature(CollectiveCall::allgather, round);
        }
        board.finish(round);
    }
}

TEST_F(BoardTest, members_in_threads_read_each_others_rounds) {
    for (const auto fence : {Board::Fence::by_sleeper, Board::Fence::by_each}) {
        clear();
        std::array<std::uint64_t, members> wrong{};
        std::vector<std::thread> threads;
        for (std::uint32_t place = 0; place < members; ++place)
            threads.emplace_back(run_rounds, board_of(place, fence), place, 2000, &wrong[place]);
        for (std::thread& thread : threads) thread.join();
        EXPECT_EQ(wrong, (std::array<std::uint64_t, members>{}));
    }
}

}  // namespace
}  // namespace acp::team
