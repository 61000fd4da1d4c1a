// SPDX-License-Identifier: BSD-3-Clause
// Text and SVG of a plan. Any thread.
#include "exchange_study/drawing.hpp"

#include <algorithm>
#include <cstdio>

namespace acp::exchange_study {

namespace {

constexpr double column_width = 70;
constexpr double margin = 72;
constexpr double letter_height = 24;  // large, so that a drawing can be shown at half its size
constexpr double drawing_height = 320;

std::string decimal(double value, int digits) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return text;
}

// Colours that most people can distinguish; further directions reuse them.
std::string_view colour_of(exchange::ClassIndex route_class) {
    constexpr std::string_view colours[] = {"#4477aa", "#66ccee", "#228833", "#ccbb44",
                                            "#ee6677", "#aa3377", "#bbbbbb", "#ee8866"};
    return colours[route_class % std::size(colours)];
}

std::string escaped(std::string_view text) {
    std::string safe;
    for (const char letter : text) {
        if (letter == '<') {
            safe += "&lt;";
        } else if (letter == '&') {
            safe += "&amp;";
        } else {
            safe += letter;
        }
    }
    return safe;
}

double end_of(const std::vector<DrawnPiece>& pieces) {
    double end = 0;
    for (const DrawnPiece& one : pieces) end = std::max(end, one.end_us);
    return end;
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text) {
    return "<text x=\"" + decimal(x, 1) + "\" y=\"" + decimal(y, 1) + "\" text-anchor=\"" +
           std::string(anchor) + "\">" + escaped(text) + "</text>\n";
}

}  // namespace

std::vector<DrawnPiece> drawn(const exchange::NodeProblem& problem,
                              const exchange::EngineQueues& queues) {
    exchange::PieceTimes times;
    std::array<double, exchange::engines_max> ends{};
    (void)exchange::transfer_us(problem, queues, ends, &times);
    std::vector<DrawnPiece> pieces;
    for (unsigned e = 0; e < exchange::engines_max; ++e) {
        for (std::size_t i = 0; i < queues.of[e].size(); ++i)
            pieces.push_back({e, queues.of[e][i], times.begin_us[e][i], times.end_us[e][i]});
    }
    return pieces;
}

std::vector<DrawnPiece> drawn_at(double rate,
                                 const exchange::EngineQueues& queues,
                                 const std::vector<double>& begin_us) {
    std::vector<DrawnPiece> pieces;
    for (unsigned e = 0; e < exchange::engines_max; ++e) {
        double now = 0;
        for (const exchange::QueuedPiece& piece : queues.of[e]) {
            if (!begin_us.empty()) now = begin_us[piece.message];
            pieces.push_back({e, piece, now, now + piece.bytes / rate});
            now = pieces.back().end_us;
        }
    }
    return pieces;
}

std::string drawing_text(const exchange::NodeProblem& problem,
                         const std::vector<DrawnPiece>& pieces) {
    std::string text;
    for (unsigned e = 0; e < problem.engines(); ++e) {
        text += "engine " + std::to_string(e) + ":";
        const char* between = " ";
        for (const DrawnPiece& one : pieces) {
            if (one.engine != e) continue;
            text += between + problem.classes()[one.piece.route_class].name + " " +
                    decimal(one.piece.bytes, 0) + " " + decimal(one.begin_us, 2) + "-" +
                    decimal(one.end_us, 2);
            between = ", ";
        }
        text += "\n";
    }
    return text;
}

std::string drawing_svg(const exchange::NodeProblem& problem,
                        const std::vector<DrawnPiece>& pieces,
                        std::string_view title,
                        double top_us) {
    const double width = 2 * margin + column_width * problem.engines();
    const double bottom = margin + drawing_height;
    const double end = std::max({end_of(pieces), top_us, 1e-9});
    const auto height_of = [&](double time) { return time / end * drawing_height; };
    const std::string size = decimal(width, 0) + " " + decimal(bottom + margin, 0);
    std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + decimal(width, 0) +
                      "\" height=\"" + decimal(bottom + margin, 0) + "\" viewBox=\"0 0 " + size +
                      "\" font-family=\"sans-serif\" font-size=\"" + decimal(letter_height, 0) +
                      "\" fill=\"currentColor\">\n";
    svg += text_at(width / 2, margin / 2, "middle", title);
    for (const DrawnPiece& one : pieces) {
        const double x = margin + column_width * one.engine;
        const double y = bottom - height_of(one.end_us);
        const double height = height_of(one.end_us - one.begin_us);
        svg += "<rect x=\"" + decimal(x, 1) + "\" y=\"" + decimal(y, 1) + "\" width=\"" +
               decimal(column_width, 1) + "\" height=\"" + decimal(height, 1) + "\" fill=\"" +
               std::string(colour_of(one.piece.route_class)) + "\" stroke=\"currentColor\"/>\n";
        if (height < letter_height) continue;
        svg += text_at(x + column_width / 2, y + height / 2 + letter_height / 3, "middle",
                       problem.classes()[one.piece.route_class].name);
    }
    for (unsigned e = 0; e < problem.engines(); ++e) {
        svg += text_at(margin + column_width * (e + 0.5), bottom + letter_height, "middle",
                       std::to_string(e));
    }
    svg += text_at(width / 2, bottom + 2 * letter_height, "middle", "engine");
    svg += "<line x1=\"" + decimal(margin, 1) + "\" y1=\"" + decimal(bottom, 1) + "\" x2=\"" +
           decimal(width - margin, 1) + "\" y2=\"" + decimal(bottom, 1) +
           "\" stroke=\"currentColor\"/>\n";
    svg += text_at(margin - 4, bottom, "end", "0");
    svg += text_at(margin - 4, margin, "end", decimal(end, 1));
    svg += text_at(margin - 4, margin + letter_height, "end", "us");
    return svg + "</svg>\n";
}

}  // namespace acp::exchange_study
