// SPDX-License-Identifier: BSD-3-Clause
// Plots as SVG text, log-log or, from 0 on, linear: lines with their names at their ends, gridlines
// at decades or round numbers, and marks for figures of others. Colours are CSS classes of the page
// (c0 .. c9, "yard"), so that a dark page is a dark plot. Knows nothing of rows. Pure; any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace acp::bench {

struct Series {
    std::string label;
    std::string css;  // "c0" .. "c9", or "yard" for a dashed grey line
    std::vector<std::pair<double, double>> points;  // x ascending; x and y > 0
};

// A figure reported elsewhere: a short dashed line at y, from x to the right or to the left.
struct Mark {
    std::string label;
    std::string css;
    double x = 1;
    double y = 1;
    bool is_left = true;  // the line starts at x and its label follows it; else it ends at x
};

enum class Axis {
    bytes,  // 4 B, 64 B, 1 KiB ...
    ranks,  // 1, 2, 4 ...
    time,   // us: 1 ns, 10 ns, 1 us ...
    rate,   // MB/s: 1 MB/s ... 1 GB/s
    kib,    // KiB
    ratio,  // 0.5, 1, 1.5 ...
};

struct Plot {
    std::string title;
    std::string x_title;
    std::string y_title;
    Axis x = Axis::bytes;
    Axis y = Axis::time;
    bool is_linear = false;  // both axes
    std::vector<Series> series;
    std::vector<Mark> marks;
};

// One <svg> element; "" when no series has a point.
[[nodiscard]] std::string to_svg(const Plot& plot);

// A <figure> with that plot and, for screens too narrow for names at the ends of lines, a legend
// below it; "" likewise.
[[nodiscard]] std::string to_figure(const Plot& plot);

// Moves wanted places, keeping their order, so that neighbours are at least `gap` apart and all
// within low .. high where they fit.
[[nodiscard]] std::vector<double> spread(std::vector<double> wanted,
                                         double gap,
                                         double low,
                                         double high);

// & < > " as HTML wants them.
[[nodiscard]] std::string escape_html(const std::string& text);

// "1.25 us", "43 us", "340 ns"; of MB/s: "140 MB/s", "9.0 GB/s".
[[nodiscard]] std::string show_value(Axis axis, double value);

}  // namespace acp::bench
