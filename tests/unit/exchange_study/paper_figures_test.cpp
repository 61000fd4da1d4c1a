// SPDX-License-Identifier: BSD-3-Clause
// The plans that paper 003 draws in its figures 3, 5, 7, 9 and 11 (k = 872, links of 5 GB/s), by
// the rules of its section 3.2. Times are in microseconds from the start; a line per engine.
#include <gtest/gtest.h>

#include "exchange/bottom_left.hpp"
#include "exchange/round_robin.hpp"

#include "exchange_study/drawing.hpp"
#include "exchange_study/paper_patterns.hpp"

namespace acp::exchange_study {
namespace {

std::string round_robin_drawing(PaperPattern pattern, unsigned engines) {
    const exchange::NodeProblem problem = paper_problem(pattern, 872);
    exchange::EngineQueues queues;
    exchange::round_robin(problem, engines, queues);
    return drawing_text(problem, drawn_at(exchange::paper_link_rate, queues));
}

std::string bottom_left_drawing(PaperPattern pattern, unsigned diagonals) {
    const exchange::NodeProblem problem = paper_problem(pattern, 872);
    exchange::EngineQueues queues;
    exchange::BottomLeft packer;
    packer.pack(problem, {diagonals}, queues);
    return drawing_text(problem, drawn_at(exchange::paper_link_rate, queues, packer.begin_us()));
}

TEST(PaperFigures, figure_3_has_the_plans_to_the_east_and_west) {
    const PaperPattern pattern = PaperPattern::east_west;
    EXPECT_EQ(round_robin_drawing(pattern, 1),
              R"(engine 0: E 224256 0.00-44.85, W 224256 44.85-89.70
engine 1:
engine 2:
engine 3:
)");
    for (const unsigned count : {2U, 4U}) {
        EXPECT_EQ(round_robin_drawing(pattern, count),
                  R"(engine 0: E 224256 0.00-44.85
engine 1: W 224256 0.00-44.85
engine 2:
engine 3:
)");
    }
    for (const unsigned count : {1U, 2U, 4U}) {
        EXPECT_EQ(bottom_left_drawing(pattern, count),
                  R"(engine 0: E 224256 0.00-44.85
engine 1: W 224256 0.00-44.85
engine 2:
engine 3:
)");
    }
}

TEST(PaperFigures, figure_5_has_the_plans_to_the_north_and_south) {
    const PaperPattern pattern = PaperPattern::north_south;
    EXPECT_EQ(
        round_robin_drawing(pattern, 1),
        R"(engine 0: N 112128 0.00-22.43, N 112128 22.43-44.85, S 112128 44.85-67.28, S 112128 67.28-89.70
engine 1:
engine 2:
engine 3:
)");
    EXPECT_EQ(round_robin_drawing(pattern, 2),
              R"(engine 0: N 112128 0.00-22.43, S 112128 22.43-44.85
engine 1: N 112128 0.00-22.43, S 112128 22.43-44.85
engine 2:
engine 3:
)");
    EXPECT_EQ(round_robin_drawing(pattern, 4),
              R"(engine 0: N 112128 0.00-22.43
engine 1: N 112128 0.00-22.43
engine 2: S 112128 0.00-22.43
engine 3: S 112128 0.00-22.43
)");
    for (const unsigned count : {1U, 2U, 4U}) {
        EXPECT_EQ(bottom_left_drawing(pattern, count),
                  R"(engine 0: N 112128 0.00-22.43, N 112128 22.43-44.85
engine 1: S 112128 0.00-22.43, S 112128 22.43-44.85
engine 2:
engine 3:
)");
    }
}

TEST(PaperFigures, figure_7_has_the_plans_in_four_directions) {
    const PaperPattern pattern = PaperPattern::four;
    EXPECT_EQ(
        round_robin_drawing(pattern, 1),
        R"(engine 0: E 224256 0.00-44.85, W 224256 44.85-89.70, N 112128 89.70-112.13, N 112128 112.13-134.55, S 112128 134.55-156.98, S 112128 156.98-179.40
engine 1:
engine 2:
engine 3:
)");
    EXPECT_EQ(round_robin_drawing(pattern, 2),
              R"(engine 0: E 224256 0.00-44.85, N 112128 44.85-67.28, S 112128 67.28-89.70
engine 1: W 224256 0.00-44.85, N 112128 44.85-67.28, S 112128 67.28-89.70
engine 2:
engine 3:
)");
    EXPECT_EQ(round_robin_drawing(pattern, 4),
              R"(engine 0: E 224256 0.00-44.85, S 112128 44.85-67.28
engine 1: W 224256 0.00-44.85, S 112128 44.85-67.28
engine 2: N 112128 0.00-22.43
engine 3: N 112128 0.00-22.43
)");
    for (const unsigned count : {1U, 2U, 4U}) {
        EXPECT_EQ(bottom_left_drawing(pattern, count),
                  R"(engine 0: E 224256 0.00-44.85
engine 1: W 224256 0.00-44.85
engine 2: N 112128 0.00-22.43, N 112128 22.43-44.85
engine 3: S 112128 0.00-22.43, S 112128 22.43-44.85
)");
    }
}

TEST(PaperFigures, figure_9_has_the_plans_along_the_diagonals) {
    const PaperPattern pattern = PaperPattern::diagonal;
    EXPECT_EQ(
        round_robin_drawing(pattern, 1),
        R"(engine 0: NW 14016 0.00-2.80, NW 14016 2.80-5.61, NE 14016 5.61-8.41, NE 14016 8.41-11.21, SW 14016 11.21-14.02, SW 14016 14.02-16.82, SE 14016 16.82-19.62, SE 14016 19.62-22.43
engine 1:
engine 2:
engine 3:
)");
    EXPECT_EQ(
        round_robin_drawing(pattern, 2),
        R"(engine 0: NW 14016 0.00-2.80, NE 14016 2.80-5.61, SW 14016 5.61-8.41, SE 14016 8.41-11.21
engine 1: NW 14016 0.00-2.80, NE 14016 2.80-5.61, SW 14016 5.61-8.41, SE 14016 8.41-11.21
engine 2:
engine 3:
)");
    EXPECT_EQ(round_robin_drawing(pattern, 4),
              R"(engine 0: NW 14016 0.00-2.80, SW 14016 2.80-5.61
engine 1: NW 14016 0.00-2.80, SW 14016 2.80-5.61
engine 2: NE 14016 0.00-2.80, SE 14016 2.80-5.61
engine 3: NE 14016 0.00-2.80, SE 14016 2.80-5.61
)");
    EXPECT_EQ(
        bottom_left_drawing(pattern, 1),
        R"(engine 0: NW 14016 0.00-2.80, NW 14016 2.80-5.61, NE 14016 5.61-8.41, NE 14016 8.41-11.21, SW 14016 11.21-14.02, SW 14016 14.02-16.82, SE 14016 16.82-19.62, SE 14016 19.62-22.43
engine 1:
engine 2:
engine 3:
)");
    EXPECT_EQ(
        bottom_left_drawing(pattern, 2),
        R"(engine 0: NW 14016 0.00-2.80, NW 14016 2.80-5.61, SW 14016 5.61-8.41, SW 14016 8.41-11.21
engine 1: NE 14016 0.00-2.80, NE 14016 2.80-5.61, SE 14016 5.61-8.41, SE 14016 8.41-11.21
engine 2:
engine 3:
)");
    EXPECT_EQ(bottom_left_drawing(pattern, 4),
              R"(engine 0: NW 14016 0.00-2.80, NW 14016 2.80-5.61
engine 1: NE 14016 0.00-2.80, NE 14016 2.80-5.61
engine 2: SW 14016 0.00-2.80, SW 14016 2.80-5.61
engine 3: SE 14016 0.00-2.80, SE 14016 2.80-5.61
)");
}

TEST(PaperFigures, figure_11_has_the_plans_in_eight_directions) {
    const PaperPattern pattern = PaperPattern::eight;
    EXPECT_EQ(
        round_robin_drawing(pattern, 1),
        R"(engine 0: NW 14016 0.00-2.80, NW 14016 2.80-5.61, NE 14016 5.61-8.41, NE 14016 8.41-11.21, SW 14016 11.21-14.02, SW 14016 14.02-16.82, SE 14016 16.82-19.62, SE 14016 19.62-22.43, E 224256 22.43-67.28, W 224256 67.28-112.13, N 112128 112.13-134.55, N 112128 134.55-156.98, S 112128 156.98-179.40, S 112128 179.40-201.83
engine 1:
engine 2:
engine 3:
)");
    EXPECT_EQ(
        round_robin_drawing(pattern, 2),
        R"(engine 0: NW 14016 0.00-2.80, NE 14016 2.80-5.61, SW 14016 5.61-8.41, SE 14016 8.41-11.21, E 224256 11.21-56.06, N 112128 56.06-78.49, S 112128 78.49-100.92
engine 1: NW 14016 0.00-2.80, NE 14016 2.80-5.61, SW 14016 5.61-8.41, SE 14016 8.41-11.21, W 224256 11.21-56.06, N 112128 56.06-78.49, S 112128 78.49-100.92
engine 2:
engine 3:
)");
    EXPECT_EQ(
        round_robin_drawing(pattern, 4),
        R"(engine 0: NW 14016 0.00-2.80, SW 14016 2.80-5.61, E 224256 5.61-50.46, S 112128 50.46-72.88
engine 1: NW 14016 0.00-2.80, SW 14016 2.80-5.61, W 224256 5.61-50.46, S 112128 50.46-72.88
engine 2: NE 14016 0.00-2.80, SE 14016 2.80-5.61, N 112128 5.61-28.03
engine 3: NE 14016 0.00-2.80, SE 14016 2.80-5.61, N 112128 5.61-28.03
)");
    EXPECT_EQ(
        bottom_left_drawing(pattern, 1),
        R"(engine 0: E 224256 0.00-44.85, NW 14016 44.85-47.65, NW 14016 47.65-50.46, NE 14016 50.46-53.26, NE 14016 53.26-56.06, SW 14016 56.06-58.87, SW 14016 58.87-61.67, SE 14016 61.67-64.47, SE 14016 64.47-67.28
engine 1: W 224256 0.00-44.85
engine 2: N 112128 0.00-22.43, N 112128 22.43-44.85
engine 3: S 112128 0.00-22.43, S 112128 22.43-44.85
)");
    EXPECT_EQ(
        bottom_left_drawing(pattern, 2),
        R"(engine 0: E 224256 0.00-44.85, NW 14016 44.85-47.65, NW 14016 47.65-50.46, SW 14016 50.46-53.26, SW 14016 53.26-56.06
engine 1: W 224256 0.00-44.85, NE 14016 44.85-47.65, NE 14016 47.65-50.46, SE 14016 50.46-53.26, SE 14016 53.26-56.06
engine 2: N 112128 0.00-22.43, N 112128 22.43-44.85
engine 3: S 112128 0.00-22.43, S 112128 22.43-44.85
)");
    EXPECT_EQ(bottom_left_drawing(pattern, 4),
              R"(engine 0: E 224256 0.00-44.85, NW 14016 44.85-47.65, NW 14016 47.65-50.46
engine 1: W 224256 0.00-44.85, NE 14016 44.85-47.65, NE 14016 47.65-50.46
engine 2: N 112128 0.00-22.43, N 112128 22.43-44.85, SW 14016 44.85-47.65, SW 14016 47.65-50.46
engine 3: S 112128 0.00-22.43, S 112128 22.43-44.85, SE 14016 44.85-47.65, SE 14016 47.65-50.46
)");
}

}  // namespace
}  // namespace acp::exchange_study
