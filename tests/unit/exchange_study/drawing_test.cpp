// SPDX-License-Identifier: BSD-3-Clause
// Plans as text and SVG.
#include "exchange_study/drawing.hpp"

#include <gtest/gtest.h>

#include "exchange/round_robin.hpp"

#include "exchange_study/paper_patterns.hpp"

namespace acp::exchange_study {
namespace {

TEST(Drawing, shows_when_pieces_go_through_the_network) {
    const exchange::NodeProblem problem =
        paper_problem(PaperPattern::north_south, 872).with_messages({{5067, 0}, {10'134, 0}});
    exchange::EngineQueues queues;
    exchange::round_robin(problem, 4, queues);
    EXPECT_EQ(drawing_text(problem, drawn(problem, queues)),
              "engine 0: N 5067 0.00-2.00\n"
              "engine 1: N 10134 0.00-3.24\n"
              "engine 2:\n"
              "engine 3:\n");
}

TEST(Drawing, is_a_whole_svg_document) {
    const exchange::NodeProblem problem = paper_problem(PaperPattern::east_west, 872);
    exchange::EngineQueues queues;
    exchange::round_robin(problem, 1, queues);
    EXPECT_EQ(
        drawing_svg(problem, drawn_at(1000, queues), "E & W < 1"),
        R"(<svg xmlns="http://www.w3.org/2000/svg" width="424" height="464" viewBox="0 0 424 464" font-family="sans-serif" font-size="24" fill="currentColor">
<text x="212.0" y="36.0" text-anchor="middle">E &amp; W &lt; 1</text>
<rect x="72.0" y="232.0" width="70.0" height="160.0" fill="#4477aa" stroke="currentColor"/>
<text x="107.0" y="320.0" text-anchor="middle">E</text>
<rect x="72.0" y="72.0" width="70.0" height="160.0" fill="#66ccee" stroke="currentColor"/>
<text x="107.0" y="160.0" text-anchor="middle">W</text>
<text x="107.0" y="416.0" text-anchor="middle">0</text>
<text x="177.0" y="416.0" text-anchor="middle">1</text>
<text x="247.0" y="416.0" text-anchor="middle">2</text>
<text x="317.0" y="416.0" text-anchor="middle">3</text>
<text x="212.0" y="440.0" text-anchor="middle">engine</text>
<line x1="72.0" y1="392.0" x2="352.0" y2="392.0" stroke="currentColor"/>
<text x="68.0" y="392.0" text-anchor="end">0</text>
<text x="68.0" y="72.0" text-anchor="end">448.5</text>
<text x="68.0" y="96.0" text-anchor="end">us</text>
</svg>
)");
}

TEST(Drawing, ends_its_axis_at_the_given_time) {
    const exchange::NodeProblem problem = paper_problem(PaperPattern::east_west, 872);
    exchange::EngineQueues queues;
    exchange::round_robin(problem, 1, queues);
    const std::string svg = drawing_svg(problem, drawn_at(1000, queues), "", 2 * 448.512);
    EXPECT_NE(svg.find(R"(y="312.0" width="70.0" height="80.0" fill="#4477aa")"),
              std::string::npos);
    EXPECT_NE(svg.find(R"(text-anchor="end">897.0</text>)"), std::string::npos);
    EXPECT_EQ(drawing_svg(problem, drawn_at(1000, queues), "", 100),
              drawing_svg(problem, drawn_at(1000, queues), ""));
}

}  // namespace
}  // namespace acp::exchange_study
