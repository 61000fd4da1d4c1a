// SPDX-License-Identifier: BSD-3-Clause
// Three nodes write pages and send their writes to the homes: the home finds the bytes that two of them
// wrote, between any two barriers of its own, and no others. All nodes get what all have found.
#include "dsm/race_check.hpp"

#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "support/random.hpp"
#include "unit/dsm/fake_nodes.hpp"

namespace acp::dsm::test {
namespace {

constexpr std::uint64_t pages_count = 200;

// Node 0 is the home of the first 67 pages, node 1 of the next ones.
class RaceCheckTest : public testing::Test {
protected:
    RaceCheckTest() {
        make_nodes(nodes_, 3, pages_count);
        for (const auto& node : nodes_) node->check_writes();
    }

    void write(std::uint32_t node, pages::PageNumber page, std::size_t place, int value) {
        nodes_[node]->window.plain(page)[place] = static_cast<std::byte>(value);
        nodes_[node]->state.add_written({page, 1});
    }

    void flush(std::uint32_t node) {
        Flusher flusher(nodes_[node]->parts(0), operations::difference_code());
        ASSERT_TRUE(flusher.flush({0, pages_count}).is_ok());
    }

    // The steps of a barrier that the check takes part in. Returns what node `node` gets.
    const RaceLog& meet(std::uint32_t node = 0) {
        for (std::uint32_t i = 0; i < 3; ++i) flush(i);
        std::vector<std::vector<char>> notices;
        for (const auto& each : nodes_) {
            each->races->find();
            each->races->begin_epoch();
            const std::span<const char> notice = each->races->notice();
            notices.emplace_back(notice.begin(), notice.end());
        }
        std::vector<std::span<const char>> all(notices.begin(), notices.end());
        for (const auto& each : nodes_) each->races->settle(all);
        return nodes_[node]->races->log();
    }

    FakeNodes nodes_;
};

TEST_F(RaceCheckTest, finds_the_bytes_that_two_nodes_send) {
    for (const std::uint32_t node : {1U, 2U}) nodes_[node]->fetch(66);
    for (const std::size_t place : {std::size_t{16}, std::size_t{17}, std::size_t{4095}}) {
        write(1, 66, place, 3);
        write(2, 66, place, 4);
    }
    write(1, 66, 18, 3);
    write(2, 66, 15, 4);
    const RaceLog& log = meet(2);
    ASSERT_EQ(log.races, 1U);
    ASSERT_EQ(log.kept, 1U);
    const PageRace& race = log.list[0];
    EXPECT_EQ(race.page, 66U);
    EXPECT_EQ(race.first, 16U);
    EXPECT_EQ(race.run, 2U);
    EXPECT_EQ(race.bytes, 3U);
    EXPECT_EQ(race.home, 0U);
    EXPECT_EQ(race.nodes, (std::array<pages::NodeNumber, 2>{1, 2}));
    EXPECT_EQ(race.ranks_next, (std::array<std::uint32_t, 2>{11, 21}));
    EXPECT_EQ(meet().races, 0U) << "the barrier ordered the writes";
}

TEST_F(RaceCheckTest, finds_the_writes_of_the_home_before_and_behind_those_of_others) {
    nodes_[1]->fetch(0);
    write(0, 0, 8, 1);
    write(1, 0, 8, 2);
    flush(1);
    EXPECT_EQ(meet().races, 1U);
    write(1, 0, 8, 3);
    flush(1);
    write(0, 0, 8, 4);
    EXPECT_EQ(meet().races, 1U);
    write(0, 0, 8, 5);
    EXPECT_EQ(meet().races, 0U);
    nodes_[1]->fetch(0);
    write(1, 0, 8, 6);
    EXPECT_EQ(meet().races, 0U) << "the home wrote it before the barrier";
}

TEST_F(RaceCheckTest, finds_a_touch_of_a_byte_that_another_node_writes) {
    const auto touch = [&](std::uint32_t node, pages::PageNumber page, std::uint32_t byte) {
        const operations::TouchedByte touched{static_cast<std::uint32_t>(page), byte};
        HomeLink& link = nodes_[node]->link;
        ASSERT_TRUE(link.wait(link.note_touches({&touched, 1}, 0)).is_ok());
    };
    nodes_[1]->fetch(3);
    write(1, 3, 40, 7);
    touch(2, 3, 40);
    nodes_[0]->races->add_touch(3, 41, 0);
    const RaceLog& log = meet();
    ASSERT_EQ(log.races, 1U);
    EXPECT_EQ(log.list[0].nodes, (std::array<pages::NodeNumber, 2>{1, 2}));
    EXPECT_EQ(log.list[0].touched, 2U);
    nodes_[1]->fetch(3);
    write(1, 3, 40, 8);
    nodes_[0]->races->add_touch(3, 40, 0);
    EXPECT_EQ(meet().list[0].touched, 1U);
    touch(1, 3, 40);
    touch(2, 3, 40);
    nodes_[0]->races->add_touch(3, 40, 0);
    EXPECT_EQ(meet().races, 0U) << "no node has written";
    nodes_[1]->fetch(3);
    write(1, 3, 40, 9);
    write(0, 3, 40, 10);
    touch(1, 3, 40);
    nodes_[0]->races->add_touch(3, 40, 0);
    EXPECT_EQ(meet().races, 1U) << "the two writes alone";
}

TEST_F(RaceCheckTest, counts_each_two_of_the_nodes_that_wrote_a_byte) {
    for (const std::uint32_t node : {1U, 2U}) nodes_[node]->fetch(5);
    for (const std::uint32_t node : {0U, 1U, 2U}) write(node, 5, 100, 10 + static_cast<int>(node));
    const RaceLog& log = meet();
    EXPECT_EQ(log.races, 3U);
    std::set<std::array<pages::NodeNumber, 2>> pairs;
    for (std::size_t i = 0; i < log.kept; ++i) pairs.insert(log.list[i].nodes);
    EXPECT_EQ(pairs.size(), 3U);
}

TEST_F(RaceCheckTest, lists_so_many_races_and_counts_the_others) {
    constexpr std::uint64_t raced = RaceLog::races_max + 5;
    for (pages::PageNumber page = 0; page < raced; ++page) {
        nodes_[1]->fetch(page);
        nodes_[2]->fetch(page + 67);
        write(0, page, 0, 1);
        write(1, page, 0, 2);
        write(1, page + 67, 0, 1);
        write(2, page + 67, 0, 2);
    }
    for (std::uint32_t node = 0; node < 3; ++node) {
        const RaceLog& log = node == 0 ? meet() : nodes_[node]->races->log();
        EXPECT_EQ(log.races, 2 * raced) << node;
        EXPECT_EQ(log.kept, RaceLog::races_max) << node;
        EXPECT_EQ(log.list[RaceLog::races_max - 1].home, 0U);
    }
    EXPECT_EQ(meet().kept, 0U);
}

TEST_F(RaceCheckTest, says_how_many_pages_it_had_no_room_for) {
    for (pages::PageNumber page = 0; page < 67; ++page)
        for (pages::NodeNumber node = 3; node < 9; ++node)
            (void)nodes_[0]->masks().add(page, {node, 0}, pages::WrittenBytes());
    const std::uint64_t unchecked = nodes_[0]->masks().unchecked();
    EXPECT_GT(unchecked, 0U);
    EXPECT_EQ(meet(1).unchecked, unchecked);
    EXPECT_EQ(meet(1).unchecked, 0U);
}

TEST_F(RaceCheckTest, gives_no_rank_what_is_no_notice) {
    RaceLog log;
    log.races = 2;
    log.kept = 1;
    log.list[0].run = 16;
    log.list[0].first = pages::page_bytes - 16;
    log.list[0].bytes = 16;
    const std::span<const char> bytes(reinterpret_cast<const char*>(&log), sizeof log);
    const auto kept = [&] {
        const std::array<std::span<const char>, 2> notices{bytes.first(7), bytes};
        nodes_[0]->races->settle(notices);
        EXPECT_EQ(nodes_[0]->races->log().races, 2U);
        return nodes_[0]->races->log().kept;
    };
    EXPECT_EQ(kept(), 1U);
    const PageRace sound = log.list[0];
    const std::array<void (*)(PageRace&), 9> changes{
        [](PageRace& race) { race.page = pages_count; },
        [](PageRace& race) { race.home = 3; },
        [](PageRace& race) { race.nodes[0] = 3; },
        [](PageRace& race) { race.nodes[1] = 3; },
        [](PageRace& race) { race.run = 0; },
        [](PageRace& race) { race.first += 1; },
        [](PageRace& race) { race.bytes = race.run - 1; },
        [](PageRace& race) { race.bytes = pages::page_bytes + 1; },
        [](PageRace& race) { race.touched = 3; },
    };
    for (std::size_t i = 0; i < changes.size(); ++i) {
        log.list[0] = sound;
        changes[i](log.list[0]);
        EXPECT_EQ(kept(), 0U) << "change " << i;
    }
}

TEST_F(RaceCheckTest, finds_exactly_the_races_of_random_writers) {
    std::uint64_t races = 0;
    std::uint64_t expected_races = 0;
    int value = 0;  // of two equal ones the check may see none
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        acp::test::Random random(seed);
        std::array<std::set<std::uint64_t>, 3> written;
        for (std::uint64_t i = random.between(1, 60); i != 0; --i) {
            const auto node = static_cast<std::uint32_t>(random.below(3));
            const pages::PageNumber page = random.chance(50) ? 5 : random.between(60, 70);
            const std::size_t place = random.below(8) * 585;
            if (random.chance(30)) flush(node);
            if (nodes_[node]->window.page_words().read(page).state == pages::PageState::absent)
                nodes_[node]->fetch(page);
            write(node, page, place, ++value % 251 + 1);
            written[node].insert(page * pages::page_bytes + place);
        }
        std::set<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>> expected;
        for (std::uint32_t one = 0; one < 3; ++one)
            for (std::uint32_t other = one + 1; other < 3; ++other)
                for (const std::uint64_t place : written[one])
                    if (written[other].contains(place))
                        expected.emplace(place / pages::page_bytes, one, other);
        EXPECT_LE(meet().races, expected.size()) << "a race that is none";
        races += nodes_[0]->races->log().races;
        expected_races += expected.size();
        // The next epoch begins with the homes' bytes everywhere.
        for (pages::PageNumber page = 0; page < pages_count; ++page)
            for (const auto& node : nodes_) node->window.page_words().invalidate(page);
    }
    // A write whose value the byte has had since the last flush is in no difference.
    EXPECT_GT(races, expected_races * 95 / 100);
    EXPECT_GT(races, 100U);
}

}  // namespace
}  // namespace acp::dsm::test
