// SPDX-License-Identifier: BSD-3-Clause
// A race is reported with its bytes, its allocation, both nodes and their ranks.
#include "dsm/race_report.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace acp::dsm::test {
namespace {

// Rank 0 on node 0, 1 and 2 on node 1, 3 to 6 on node 2, 7 and 9 on node 3 with 8 on node 0.
team::Membership members() {
    const std::vector<team::TeamMember> all{{0, 0}, {1, 1}, {2, 1}, {3, 2}, {4, 2},
                                            {5, 2}, {6, 2}, {7, 3}, {8, 0}, {9, 3}};
    return {all, 0};
}

class RaceReportTest : public testing::Test {
protected:
    RaceReportTest() {
        EXPECT_EQ(allocated_.allocate(2), 0);
        EXPECT_EQ(allocated_.allocate(3), 2);
    }

    static WindowPlaces places() {
        WindowPlaces places;
        places.tracked = reinterpret_cast<char*>(0x10000000);
        places.pages = 10;
        places.blocks.resize(4);
        return places;
    }

    [[nodiscard]] std::string sentence_of(const PageRace& race) const {
        return RaceReport(window_, allocated_, members_).sentence_of(race);
    }

    const Window window_{places()};
    pages::AllocatedPages allocated_{10};
    const team::Membership members_ = members();
};

TEST_F(RaceReportTest, names_bytes_allocation_nodes_and_ranks) {
    EXPECT_EQ(
        sentence_of({3, 16, 8, 8, 1, {1, 2}, {0, 5}}),
        "two nodes have written the same 8 bytes of shared page 3 without a barrier or a fence "
        "between: the bytes 0x10003010 to 0x10003017, from byte 4112 on of the allocation at "
        "address 0x10002000, on node 1, its home, by one or more of ranks 1 and 2 and on node 2 "
        "by rank 4");
}

TEST_F(RaceReportTest, names_the_byte_of_a_race_of_one_byte) {
    const std::string text = sentence_of({0, 4095, 1, 1, 0, {1, 2}, {3, ~0U}});
    EXPECT_NE(text.find("the same 1 byte of shared page 0"), std::string::npos) << text;
    EXPECT_NE(text.find("the byte at address 0x10000fff, from byte 4095 on"), std::string::npos)
        << text;
    EXPECT_NE(text.find("on node 1 by rank 2 and on node 2 by one or more of ranks 3 to 6"),
              std::string::npos)
        << text;
}

TEST_F(RaceReportTest, says_that_more_bytes_follow_and_that_a_page_is_in_no_allocation) {
    const std::string text = sentence_of({7, 0, 2, 12, 3, {0, 3}, {0, 0}});
    EXPECT_NE(text.find("and 10 bytes behind, in no allocation"), std::string::npos) << text;
    EXPECT_NE(text.find("on node 3, its home, by one or more of ranks 7 and 9"), std::string::npos)
        << text;
}

TEST_F(RaceReportTest, says_which_node_has_only_touched_the_byte) {
    PageRace race{3, 16, 1, 1, 1, {1, 2}, {2, 5}};
    race.touched = 2;
    const std::string text = sentence_of(race);
    EXPECT_EQ(
        text.find("node 2 has read or written 1 byte of shared page 3 that node 1 has written "
                  "without a barrier or a fence between: the byte at address 0x10003010"),
        0U)
        << text;
    race.touched = 1;
    EXPECT_EQ(sentence_of(race).find("node 1 has read or written"), 0U);
}

TEST_F(RaceReportTest, sums_the_races_of_a_barrier_up) {
    RaceLog log;
    log.races = 40;
    log.kept = 1;
    log.list[0] = {3, 16, 8, 8, 1, {1, 2}, {0, 5}};
    const std::string text = RaceReport(window_, allocated_, members_).summary_of(log);
    EXPECT_EQ(text.find(sentence_of(log.list[0])), 0U) << text;
    EXPECT_NE(text.find("39 times more"), std::string::npos) << text;
    log.races = 1;
    EXPECT_EQ(RaceReport(window_, allocated_, members_).summary_of(log), sentence_of(log.list[0]));
}

}  // namespace
}  // namespace acp::dsm::test
