// SPDX-License-Identifier: BSD-3-Clause
// Scales, gridlines, lines and the placing of labels. Pure; any thread.
#include "plot.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>

#include "base/format.hpp"

#include "number.hpp"

namespace acp::bench {

namespace {

constexpr double width = 590;
constexpr double height = 350;
constexpr double left = 74;
constexpr double right = 448;  // behind it: names of lines
constexpr double top = 34;
constexpr double bottom = 304;
constexpr double label_gap = 14;

std::string coordinate(double place) {
    return number(place, 1);
}

// Three digits, none behind the point of a whole number.
std::string brief(double value) {
    const bool is_whole = std::abs(value - std::round(value)) < 1e-6;
    return number(value, is_whole || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);
}

struct Unit {
    double below;  // the unit labels values below this one
    double factor;
    const char* name;
};

constexpr double any_size = 1e300;
constexpr Unit time_units[] = {
    {0.9999, 1e3, " ns"}, {999.9, 1, " \u00b5s"}, {any_size, 1e-3, " ms"}};
constexpr Unit rate_units[] = {{0.0009999, 1e6, " B/s"},
                               {0.9999, 1e3, " kB/s"},
                               {999.9, 1, " MB/s"},
                               {any_size, 1e-3, " GB/s"}};

//   units  ascending; the last fits all
std::string in_fitting_unit(double value, std::span<const Unit> units) {
    const auto fits = [&](const Unit& unit) { return value < unit.below; };
    const Unit& unit = *std::find_if(units.begin(), units.end() - 1, fits);
    return brief(value * unit.factor) + unit.name;
}

// Value -> place.
class Scale {
public:
    Scale(double low, double high, double from, double to, bool is_linear)
        : is_linear_(is_linear),
          low_(along(low)),
          factor_((to - from) / std::max(1e-9, along(high) - low_)),
          from_(from) {}

    [[nodiscard]] double operator()(double value) const {
        return from_ + (along(value) - low_) * factor_;
    }

private:
    [[nodiscard]] double along(double value) const {
        return is_linear_ ? value : std::log10(value);
    }

    bool is_linear_;
    double low_;
    double factor_;
    double from_;
};

struct Range {
    double low = 1e300;
    double high = 0;

    void take(double value) {
        if (value <= 0) return;
        low = std::min(low, value);
        high = std::max(high, value);
    }
};

struct Frame {
    Range x;
    Range y;
};

// 1, 2 or 5 times a power of ten, about a sixth of the value.
double round_step(double value) {
    const double least = value / 6;
    const double power = std::pow(10, std::floor(std::log10(least)));
    for (const double times : {1.0, 2.0, 5.0}) {
        if (times * power >= least) return times * power;
    }
    return 10 * power;
}

Frame frame_of(const Plot& plot) {
    Frame frame;
    for (const Series& series : plot.series) {
        for (const auto& [x, y] : series.points) {
            frame.x.take(x);
            frame.y.take(y);
        }
    }
    for (const Mark& mark : plot.marks) frame.y.take(mark.y);
    if (frame.x.high <= 0) return frame;
    if (plot.is_linear) {
        for (Range* range : {&frame.x, &frame.y}) {
            const double step = round_step(range->high);
            *range = {0, std::ceil(range->high / step - 1e-9) * step};
        }
        return frame;
    }
    if (frame.x.low >= frame.x.high) frame.x.high = frame.x.low * 2;
    frame.y.low = std::pow(10, std::floor(std::log10(frame.y.low)));
    frame.y.high = std::pow(10, std::ceil(std::log10(frame.y.high * 1.02)));
    return frame;
}

std::string text_at(double x,
                    double y,
                    const std::string& css,
                    const std::string& anchor,
                    const std::string& text) {
    return "<text x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) + "\" class=\"" + css +
           "\" text-anchor=\"" + anchor + "\">" + escape_html(text) + "</text>\n";
}

std::string line(double x1, double y1, double x2, double y2, const std::string& css) {
    return "<line x1=\"" + coordinate(x1) + "\" y1=\"" + coordinate(y1) + "\" x2=\"" +
           coordinate(x2) + "\" y2=\"" + coordinate(y2) + "\" class=\"" + css + "\"/>\n";
}

std::string tick_label(Axis axis, double value) {
    if (axis == Axis::bytes) return base::human_size(static_cast<std::uint64_t>(value));
    if (axis == Axis::ranks) return number(value, 0);
    return show_value(axis, value);
}

// Where gridlines are.   factor  from one to the next, on a logarithmic axis
std::vector<double> lines_of(const Range& range, bool is_linear, double factor) {
    std::vector<double> values;
    if (is_linear) {
        const double step = round_step(range.high);
        for (double i = 0; i * step <= range.high * 1.0001; ++i) values.push_back(i * step);
    } else {
        for (double value = range.low; value <= range.high * 1.01; value *= factor)
            values.push_back(value);
    }
    return values;
}

std::string grid(const Plot& plot, const Frame& frame, const Scale& sx, const Scale& sy) {
    std::string svg;
    for (const double y : lines_of(frame.y, plot.is_linear, 10)) {
        svg += line(left, sy(y), right, sy(y), "grid");
        svg += text_at(left - 7, sy(y) + 4, "tick", "end", y > 0 ? tick_label(plot.y, y) : "0");
    }
    const double steps = plot.is_linear ? 0 : std::log2(frame.x.high / frame.x.low);
    const double factor = plot.x == Axis::ranks ? 2 : steps > 12 ? 16 : steps > 6 ? 4 : 2;
    for (const double x : lines_of(frame.x, plot.is_linear, factor)) {
        svg += line(sx(x), top, sx(x), bottom, "grid");
        svg += text_at(sx(x), bottom + 17, "tick", "middle", tick_label(plot.x, x));
    }
    svg += line(left, bottom, right, bottom, "axis");
    svg += line(left, top, left, bottom, "axis");
    svg += text_at((left + right) / 2, height - 8, "tick", "middle", plot.x_title);
    svg += text_at(left, top - 9, "tick", "start", plot.y_title);
    svg += text_at((left + right) / 2, 16, "title", "middle", plot.title);
    return svg;
}

std::string draw_series(
    const Series& series, Axis x_axis, Axis y_axis, const Scale& sx, const Scale& sy) {
    std::string path;
    std::string dots;
    for (const auto& [x, y] : series.points) {
        path.append(path.empty() ? "M" : "L").append(coordinate(sx(x)) + " " + coordinate(sy(y)));
        dots += "<circle cx=\"" + coordinate(sx(x)) + "\" cy=\"" + coordinate(sy(y)) +
                "\" r=\"2.3\"><title>" +
                escape_html(series.label + ", " + tick_label(x_axis, x) + ": " +
                            show_value(y_axis, y)) +
                "</title></circle>\n";
    }
    return "<g class=\"" + series.css + "\"><path d=\"" + path + "\"/>\n" + dots + "</g>\n";
}

std::string draw_end_labels(const Plot& plot, const Scale& sx, const Scale& sy) {
    std::vector<const Series*> order;
    for (const Series& series : plot.series) {
        if (!series.points.empty()) order.push_back(&series);
    }
    std::sort(order.begin(), order.end(), [&](const Series* a, const Series* b) {
        return sy(a->points.back().second) < sy(b->points.back().second);
    });
    std::vector<double> wanted;
    wanted.reserve(order.size());
    for (const Series* series : order) wanted.push_back(sy(series->points.back().second));
    const std::vector<double> places = spread(wanted, label_gap, top, bottom);
    std::string svg;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const auto& [x, y] = order[i]->points.back();
        svg += "<g class=\"end " + order[i]->css + "\">" +
               line(sx(x) + 4, sy(y), right + 9, places[i], "leader") +
               text_at(right + 12, places[i] + 4, "name", "start", order[i]->label) + "</g>\n";
    }
    return svg;
}

// Marks to one side share a column of labels, pushed apart where figures are close.
std::string draw_marks(const Plot& plot, bool is_left, const Scale& sx, const Scale& sy) {
    constexpr double length = 46;
    std::vector<const Mark*> order;
    for (const Mark& mark : plot.marks) {
        if (mark.is_left == is_left) order.push_back(&mark);
    }
    std::sort(order.begin(), order.end(),
              [&](const Mark* a, const Mark* b) { return a->y > b->y; });
    std::vector<double> wanted;
    wanted.reserve(order.size());
    for (const Mark* mark : order) wanted.push_back(sy(mark->y) - 9);
    const std::vector<double> places = spread(wanted, label_gap - 1, top + 6, bottom - 4);
    std::string svg;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const Mark& mark = *order[i];
        const double x = std::clamp(sx(mark.x), left, right);
        const double end = is_left ? x + length : x - length;
        const double label = is_left ? x + 8 : x - 8;
        svg += "<g class=\"" + mark.css + "\">" + line(x, sy(mark.y), end, sy(mark.y), "mark") +
               "<rect class=\"diamond\" x=\"-3.4\" y=\"-3.4\" width=\"6.8\" height=\"6.8\" "
               "transform=\"translate(" +
               coordinate(x) + " " + coordinate(sy(mark.y)) + ") rotate(45)\"/>" +
               text_at(label, places[i] + 2, "paper", is_left ? "start" : "end", mark.label) +
               "</g>\n";
    }
    return svg;
}

}  // namespace

std::vector<double> spread(std::vector<double> wanted, double gap, double low, double high) {
    for (std::size_t round = 0; round < 200; ++round) {
        bool is_moved = false;
        for (std::size_t i = 1; i < wanted.size(); ++i) {
            const double lack = gap - (wanted[i] - wanted[i - 1]);
            if (lack <= 1e-6) continue;
            wanted[i - 1] -= lack / 2;
            wanted[i] += lack / 2;
            is_moved = true;
        }
        if (!wanted.empty() && wanted.front() < low) wanted.front() = low, is_moved = true;
        if (!wanted.empty() && wanted.back() > high && wanted.back() - wanted.front() > 0) {
            wanted.back() = std::max(high, low);
            is_moved = true;
        }
        if (!is_moved) break;
    }
    return wanted;
}

std::string escape_html(const std::string& text) {
    std::string result;
    for (const char c : text) {
        switch (c) {
            case '&':
                result += "&amp;";
                break;
            case '<':
                result += "&lt;";
                break;
            case '>':
                result += "&gt;";
                break;
            case '"':
                result += "&quot;";
                break;
            default:
                result += c;
        }
    }
    return result;
}

std::string show_value(Axis axis, double value) {
    switch (axis) {
        case Axis::time:
            return in_fitting_unit(value, time_units);
        case Axis::rate:
            return in_fitting_unit(value, rate_units);
        case Axis::kib:
            return brief(value) + " KiB";
        case Axis::ratio:
            return brief(value);
        case Axis::bytes:
            return base::human_size(static_cast<std::uint64_t>(value));
        case Axis::ranks:
            break;
    }
    return number(value, 0);
}

std::string to_svg(const Plot& plot) {
    const Frame frame = frame_of(plot);
    if (frame.x.high <= 0) return {};
    const Scale sx(frame.x.low, frame.x.high, plot.is_linear ? left : left + 8, right,
                   plot.is_linear);
    const Scale sy(frame.y.low, frame.y.high, bottom, top, plot.is_linear);
    std::string svg = "<svg viewBox=\"0 0 " + number(width, 0) + " " + number(height, 0) +
                      "\" role=\"img\" aria-label=\"" + escape_html(plot.title) + "\">\n";
    svg += grid(plot, frame, sx, sy);
    for (const Series& series : plot.series) svg += draw_series(series, plot.x, plot.y, sx, sy);
    svg += draw_end_labels(plot, sx, sy);
    svg += draw_marks(plot, true, sx, sy);
    svg += draw_marks(plot, false, sx, sy);
    return svg + "</svg>\n";
}

std::string to_figure(const Plot& plot) {
    const std::string svg = to_svg(plot);
    if (svg.empty()) return {};
    std::string html = "<figure><div class=\"crop\">" + svg + "</div><p class=\"legend\">";
    for (const Series& series : plot.series) {
        if (series.points.empty()) continue;
        html.append("<span class=\"").append(series.css).append("\">");
        html.append(escape_html(series.label)).append("</span> ");
    }
    return html + "</p></figure>\n";
}

}  // namespace acp::bench
