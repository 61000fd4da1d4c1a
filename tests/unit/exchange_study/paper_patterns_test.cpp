// SPDX-License-Identifier: BSD-3-Clause
// Table 1 of paper 003: all rows, and the patterns made of them.
#include "exchange_study/paper_patterns.hpp"

#include <gtest/gtest.h>

namespace acp::exchange_study {
namespace {

struct TableRow {
    std::uint32_t grid_size;
    std::uint64_t east, north, diagonal, all;
};

constexpr TableRow table_1[] = {
    {60, 16'384, 8'192, 1'024, 73'728},        {70, 18'944, 9'472, 1'184, 85'248},
    {80, 21'504, 10'752, 1'344, 96'768},       {109, 28'928, 14'464, 1'808, 130'176},
    {218, 56'832, 28'416, 3'552, 255'744},     {327, 84'736, 42'368, 5'296, 381'312},
    {436, 112'640, 56'320, 7'040, 506'880},    {545, 140'544, 70'272, 8'784, 632'448},
    {654, 168'448, 84'224, 10'528, 758'016},   {763, 196'352, 98'176, 12'272, 883'584},
    {872, 224'256, 112'128, 14'016, 1'009'152}};

TEST(PaperPatterns, have_the_sizes_of_table_1) {
    ASSERT_EQ(std::size(table_1), paper_grid_sizes.size());
    for (std::size_t i = 0; i < paper_grid_sizes.size(); ++i) {
        const TableRow& row = table_1[i];
        ASSERT_EQ(row.grid_size, paper_grid_sizes[i]);
        const PaperSizes sizes = paper_sizes(row.grid_size);
        EXPECT_EQ(sizes.east, row.east);
        EXPECT_EQ(sizes.north, row.north);
        EXPECT_EQ(sizes.diagonal, row.diagonal);
        std::uint64_t all = 0;
        for (const exchange::OffsetMessage& message :
             paper_messages(PaperPattern::eight, row.grid_size))
            all += message.bytes;
        EXPECT_EQ(all, row.all);
    }
}

TEST(PaperPatterns, have_the_messages_of_the_paper_in_its_order) {
    const std::size_t counts[] = {2, 4, 6, 8, 14};
    const std::string orders[] = {"E W", "N N S S", "E W N N S S", "NW NW NE NE SW SW SE SE",
                                  "NW NW NE NE SW SW SE SE E W N N S S"};
    for (std::size_t i = 0; i < paper_patterns.size(); ++i) {
        const exchange::NodeProblem problem = paper_problem(paper_patterns[i], 60);
        EXPECT_EQ(problem.messages().size(), counts[i]);
        std::string order;
        for (const exchange::ProblemMessage& message : problem.messages())
            order += (order.empty() ? "" : " ") + problem.classes()[message.route_class].name;
        EXPECT_EQ(order, orders[i]) << name_of(paper_patterns[i]);
    }
}

}  // namespace
}  // namespace acp::exchange_study
