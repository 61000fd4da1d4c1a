// SPDX-License-Identifier: BSD-3-Clause
// The page's section on LAPLACE of paper 001: its figure 5 redrawn beside ours, the corner of the
// plate that the ranks computed, and the rows. Pure; any thread.
#include <algorithm>
#include <cmath>
#include <map>

#include "number.hpp"
#include "page.hpp"
#include "plot.hpp"

namespace acp::bench {

namespace {

constexpr int heat_levels = 12;

struct DrawnWay {
    const char* name;
    const char* label;
    const char* css;
};

constexpr DrawnWay drawn_ways[] = {{"shared pages", "by faults", "c0"},
                                   {"shared pages, learned", "learned", "c5"},
                                   {"shared pages, prefetched", "prefetched", "c4"},
                                   {"shared pages, flush hints", "flush hints", "c6"},
                                   {"puts by hand", "puts by hand", "c7"},
                                   {"without communication", "no communication", "yard"}};

// The speedups of jobs with one rank on each node, or with all ranks on one node.
Plot speedups_of(const std::vector<const Row*>& rows, bool is_one_node) {
    Plot plot;
    plot.title = is_one_node ? "All ranks on one node" : "A node for each rank (figure 5)";
    plot.x_title = is_one_node ? "ranks" : "nodes";
    plot.y_title = "speedup";
    plot.x = Axis::ranks;
    plot.y = Axis::ratio;
    plot.is_linear = true;
    std::map<int, double> papers;
    for (const DrawnWay& way : drawn_ways) {
        Series series{way.label, way.css, {}};
        for (const Row* row : rows) {
            const bool is_shape = is_one_node ? row->nodes == 1 : row->nodes == row->ranks;
            if (row->name != way.name || !is_shape) continue;
            series.points.emplace_back(row->ranks, extra_of(*row, "speedup"));
            if (row->paper) papers[row->nodes] = row->paper->value;
        }
        std::sort(series.points.begin(), series.points.end());
        if (series.points.size() > 1) plot.series.push_back(std::move(series));
    }
    for (const auto& [nodes, value] : papers)
        plot.marks.push_back(
            {"paper " + number(value, 2), "c1", static_cast<double>(nodes), value, nodes < 3});
    return plot;
}

// A path for all points of a level: runs of them in each row.
std::string level_path(const Picture& picture, double highest, int level) {
    const auto level_at = [&](std::size_t x, std::size_t y) {
        const double value = picture.values[y * picture.width + x];
        return static_cast<int>(std::lround(value / highest * heat_levels));
    };
    std::string path;
    for (std::size_t y = 0; y < picture.width; ++y) {
        for (std::size_t x = 0; x < picture.width;) {
            std::size_t end = x;
            while (end < picture.width && level_at(end, y) == level) ++end;
            if (end > x) {
                path += "M" + std::to_string(x) + " " + std::to_string(y) + "h" +
                        std::to_string(end - x) + "v1H" + std::to_string(x) + "z";
            }
            x = std::max(end, x + 1);
        }
    }
    return path;
}

std::string picture_html(const Picture& picture) {
    if (picture.width == 0 || picture.values.size() != picture.width * picture.width) return {};
    const double highest = *std::max_element(picture.values.begin(), picture.values.end());
    if (!(highest > 0)) return {};
    const std::string side = std::to_string(picture.width);
    std::string svg = "<figure class=\"heat\"><svg viewBox=\"0 0 " + side + " " + side +
                      "\" role=\"img\" aria-label=\"the computed plate\"><g class=\"heat\">\n";
    for (int level = 1; level <= heat_levels; ++level) {
        svg += "<path fill-opacity=\"" + number(static_cast<double>(level) / heat_levels, 2) +
               "\" d=\"" + level_path(picture, highest, level) + "\"/>\n";
    }
    return svg + "</g></svg><p class=dim>The " + side + " \u00d7 " + side +
           " points at the hot upper edge\u2019s left end, as the ranks left them in shared "
           "pages.</p></figure>\n";
}

constexpr const char* laplace_text =
    "The program of the paper\u2019s figure 5: 2048 \u00d7 2048 doubles, 50 steps, a barrier after "
    "each. \u201cBy faults\u201d is what SCASH does: rows of neighbours are fetched when they are "
    "touched. \u201cLearned\u201d and \u201cprefetched\u201d fetch them ahead; \u201cputs by "
    "hand\u201d is the same program with acp_put. Nodes are emulated on the CPUs of one machine: "
    "where ranks outnumber them (ranks per CPU), more nodes cannot be faster. The yardstick of "
    "each "
    "row is the same loops on private memory without communication.";

}  // namespace

std::string laplace_section(const std::vector<Row>& rows) {
    const std::vector<const Row*> its = rows_of(rows, "laplace");
    if (its.empty()) return {};
    std::string html = "<section id=\"laplace\"><h2>LAPLACE on shared pages</h2><p>" +
                       std::string(laplace_text) + "</p>\n<div class=\"pair\">" +
                       to_figure(speedups_of(its, false)) + to_figure(speedups_of(its, true));
    for (const Row* row : its) {
        if (!row->picture) continue;
        html += picture_html(*row->picture);
        break;
    }
    html += "</div>\n<details><summary>All rows</summary>" + rows_table(its);
    return html + "</details></section>\n";
}

}  // namespace acp::bench
