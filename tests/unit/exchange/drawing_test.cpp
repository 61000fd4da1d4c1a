// SPDX-License-Identifier: BSD-3-Clause
// Plans as text and SVG.
#include "exchange/drawing.hpp"

#include <gtest/gtest.h>

#include "exchange/paper_patterns.hpp"
#include "exchange/round_robin.hpp"

namespace acp::exchange {
namespace {

TEST(Drawing, shows_when_pieces_go_through_the_network) {
    const NodeProblem problem =
        paper_problem(PaperPattern::north_south, 872).with_messages({{5067, 0}, {10'134, 0}});
    EngineQueues queues;
    round_robin(problem, 4, queues);
    EXPECT_EQ(drawing_text(problem, drawn(problem, queues)),
              "engine 0: N 5067 0.00-2.00\n"
              "engine 1: N 10134 0.00-3.24\n"
              "engine 2:\n"
              "engine 3:\n");
}

TEST(Drawing, is_a_whole_svg_document) {
    const NodeProblem problem = paper_problem(PaperPattern::east_west, 872);
    EngineQueues queues;
    round_robin(problem, 1, queues);
    EXPECT_EQ(
        drawing_svg(problem, drawn_at(1000, queues), "E & W < 1"),
        R"(<svg xmlns="http://www.w3.org/2000/svg" width="360" height="400" font-family="sans-serif" font-size="11">
<text x="180.0" y="20.0" text-anchor="middle">E &amp; W &lt; 1</text>
<rect x="40.0" y="200.0" width="70.0" height="160.0" fill="#4477aa" stroke="#000000"/>
<text x="75.0" y="284.0" text-anchor="middle">E</text>
<rect x="40.0" y="40.0" width="70.0" height="160.0" fill="#66ccee" stroke="#000000"/>
<text x="75.0" y="124.0" text-anchor="middle">W</text>
<text x="75.0" y="376.0" text-anchor="middle">engine 0</text>
<text x="145.0" y="376.0" text-anchor="middle">engine 1</text>
<text x="215.0" y="376.0" text-anchor="middle">engine 2</text>
<text x="285.0" y="376.0" text-anchor="middle">engine 3</text>
<line x1="40.0" y1="360.0" x2="320.0" y2="360.0" stroke="#000000"/>
<text x="36.0" y="360.0" text-anchor="end">0</text>
<text x="36.0" y="44.0" text-anchor="end">448.5</text>
<text x="36.0" y="58.0" text-anchor="end">us</text>
</svg>
)");
}

}  // namespace
}  // namespace acp::exchange
