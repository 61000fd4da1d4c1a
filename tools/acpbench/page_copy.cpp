// SPDX-License-Identifier: BSD-3-Clause
// The page's part on copies. Pure; any thread.
#include <algorithm>
#include <cmath>
#include <map>

#include "effects.hpp"
#include "number.hpp"
#include "page.hpp"
#include "paper.hpp"
#include "plot.hpp"

namespace acp::bench {

namespace {

constexpr const char* direction_names[] = {"remote-to-remote", "remote-to-local", "local-to-remote",
                                           "local-to-local"};
constexpr const char* memories[] = {"starter", "registered"};

// From the paper's old implementation to today's default.
constexpr const char* mode_order[] = {"old",  "new",    "new+bypass", "mpsc-1408",
                                      "mpsc", "attach", "direct",     "auto"};

std::vector<std::string> modes_in(const std::vector<Row>& rows) {
    std::vector<std::string> modes;
    for (const char* mode : mode_order) {
        const auto has = [mode](const Row& row) {
            return row.experiment == "copy" && row.mode == mode;
        };
        if (std::any_of(rows.begin(), rows.end(), has)) modes.emplace_back(mode);
    }
    for (const Row& row : rows) {
        if (row.experiment == "copy" &&
            std::find(modes.begin(), modes.end(), row.mode) == modes.end()) {
            modes.push_back(row.mode);
        }
    }
    return modes;
}

// In us or MB/s, whichever is drawn; 0 when the row has none.
double yardstick_in(const Row& row, bool is_bandwidth) {
    if (!row.yardstick || row.yardstick->value <= 0 || row.bytes == 0) return 0;
    if (row.yardstick->name == "cache-line round trip") return 0;
    const auto bytes = static_cast<double>(row.bytes);
    const bool is_rate = row.yardstick->unit == "MB/s";
    if (is_rate == is_bandwidth) return row.yardstick->value;
    return bytes / row.yardstick->value;
}

// Fits beside a plot.
std::string short_name(const std::string& yardstick) {
    if (yardstick.starts_with("process_vm_readv+")) return "vm_readv+writev";
    return yardstick.starts_with("process_") ? yardstick.substr(8) : yardstick;
}

// The yardstick of the newest implementation that has one.
void add_yardstick(Plot& plot,
                   const std::vector<Row>& rows,
                   const std::string& name,
                   const std::vector<std::string>& modes,
                   bool is_bandwidth) {
    for (auto mode = modes.rbegin(); mode != modes.rend(); ++mode) {
        Series series;
        series.css = "yard";
        for (const Row& row : rows) {
            if (row.experiment != "copy" || row.name != name || row.mode != *mode) continue;
            const double value = yardstick_in(row, is_bandwidth);
            if (value <= 0 || judge(row).verdict == Verdict::disturbed) continue;
            series.label = short_name(row.yardstick->name);
            series.points.emplace_back(static_cast<double>(row.bytes), value);
        }
        if (series.points.empty()) continue;
        std::sort(series.points.begin(), series.points.end());
        plot.series.push_back(std::move(series));
        return;
    }
}

void add_paper(Plot& plot, const std::string& direction, bool is_bandwidth) {
    for (const Paper000& figure : paper_000()) {
        if (figure.direction != direction) continue;
        const double value = is_bandwidth ? figure.bandwidth_mb_per_s : figure.latency_us;
        Mark mark;
        mark.label = "paper, " + std::string(figure.mode) + ": " +
                     show_value(is_bandwidth ? Axis::rate : Axis::time, value);
        mark.css = colour_of(std::string(figure.mode));
        mark.x = is_bandwidth ? (direction == "local-to-local" ? 512 << 10 : 4 << 20) : 4;
        mark.y = value;
        mark.is_left = !is_bandwidth;
        plot.marks.push_back(std::move(mark));
    }
}

std::string copy_plot(const std::vector<Row>& rows,
                      const std::string& direction,
                      const std::string& memory,
                      bool is_bandwidth) {
    const std::string name = direction + " " + memory;
    const std::vector<std::string> modes = modes_in(rows);
    Plot plot;
    plot.title = direction + (is_bandwidth ? ", bandwidth" : ", latency");
    plot.x_title = "size of one copy";
    plot.y = is_bandwidth ? Axis::rate : Axis::time;
    add_yardstick(plot, rows, name, modes, is_bandwidth);
    for (const std::string& mode : modes) {
        Series series{mode, colour_of(mode), {}};
        for (const Row& row : rows) {
            if (row.experiment != "copy" || row.name != name || row.mode != mode) continue;
            const double value = is_bandwidth ? row.bandwidth_mb_per_s : row.latency_us.median;
            if (value > 0) series.points.emplace_back(static_cast<double>(row.bytes), value);
        }
        std::sort(series.points.begin(), series.points.end());
        if (!series.points.empty()) plot.series.push_back(std::move(series));
    }
    if (plot.series.empty()) return {};
    add_paper(plot, direction, is_bandwidth);
    return to_figure(plot);
}

// Three significant digits in the unit of the table, so that a column is read downwards.
std::string in_one_unit(double value) {
    const int digits = value <= 0 ? 0 : 2 - static_cast<int>(std::floor(std::log10(value)));
    return number(value, std::clamp(digits, 0, 5));
}

// How many times better the second of two modes is: "1.65 \u00d7", above 1 where it is faster.
std::string gain_of(double ratio, const std::string& unit) {
    return in_one_unit(unit == "us" ? 1 / ratio : ratio) + " \u00d7";
}

// "43 -> 26", the gain, and for ours how it stands to the paper's.
//   label  of the cells where a row is shown as a paragraph
std::string effect_cells(const Effect& effect, const char* label, bool is_paper) {
    const auto pair = [](double before, double after) {
        return in_one_unit(before) + " \u2192 " + in_one_unit(after);
    };
    const std::string opening = std::string("<td class=n data-l=\"") + label + "\">";
    if (is_paper) {
        return opening + pair(effect.paper_before, effect.paper_after) +
               "</td><td class=\"n bold\">" + gain_of(effect.paper_ratio(), effect.unit) + "</td>";
    }
    const std::optional<double> ours = effect.our_ratio();
    if (!ours) return opening + "<span class=dim>not run</span></td><td></td><td></td>";
    const Outcome outcome = effect.outcome();
    const char* css = outcome == Outcome::missed ? "bad" : "good";
    const std::string pill =
        outcome == Outcome::unknown
            ? "<span class=\"pill doubt\">disturbed</span>"
            : std::string("<span class=\"pill ") + css + "\">" + name_of(outcome) + "</span>";
    return opening + pair(*effect.ours_before, *effect.ours_after) + "</td><td class=\"n bold\">" +
           gain_of(*ours, effect.unit) + "</td><td>" + pill + "</td>";
}

// The effects on times, or on bandwidths: each table has one unit.
std::string effects_html(const std::vector<Row>& rows, const std::string& unit) {
    const std::vector<Effect> starter = effects_of(rows, memories[0]);
    const std::vector<Effect> registered = effects_of(rows, memories[1]);
    const bool is_time = unit == "us";
    std::string html =
        std::string("<div class=\"scroll\"><table class=\"flow\"><thead><tr><th>") +
        (is_time ? "latency, \u00b5s" : "bandwidth, MB/s") +
        "</th><th class=n colspan=2>paper 000</th><th class=n colspan=2>starter memory</th>"
        "<th></th><th class=n colspan=2>registered memory</th><th></th></tr></thead><tbody>\n";
    for (std::size_t i = 0; i < starter.size(); ++i) {
        if (starter[i].unit != unit) continue;
        html += "<tr><td>" + escape_html(starter[i].what) + "</td>" +
                effect_cells(starter[i], "paper", true) +
                effect_cells(starter[i], "starter", false) +
                effect_cells(registered[i], "registered", false) + "</tr>\n";
    }
    return html + "</tbody></table></div>\n";
}

std::string bypass_line(const std::vector<Row>& rows) {
    const Row* off = find_copy(rows, "local-to-local starter", "new", 8);
    const Row* on = find_copy(rows, "local-to-local starter", "new+bypass", 8);
    if (off == nullptr || on == nullptr || on->latency_us.median <= 0) return {};
    char ratio[32];
    std::snprintf(ratio, sizeof ratio, "%.0f", off->latency_us.median / on->latency_us.median);
    return "<p>Bypass at 8 B: " + show_value(Axis::time, off->latency_us.median) + " off, " +
           show_value(Axis::time, on->latency_us.median) + " on: <b>" + ratio +
           " times</b> faster (paper: 9.8).</p>\n";
}

bool has_memory(const std::vector<Row>& rows, const std::string& memory) {
    const auto is_it = [&](const Row& row) {
        return row.experiment == "copy" && row.name.ends_with(" " + memory);
    };
    return std::any_of(rows.begin(), rows.end(), is_it);
}

}  // namespace

std::string colour_of(const std::string& mode) {
    const auto* end = std::end(mode_order);
    const auto* place =
        std::find_if(std::begin(mode_order), end, [&](const char* known) { return mode == known; });
    std::string css = "c";
    css += std::to_string(place == end ? 8 : place - std::begin(mode_order));
    return css;
}

std::string copy_section(const std::vector<Row>& rows) {
    if (rows_of(rows, "copy").empty()) return {};
    std::string html =
        "<section id=\"copy\"><h2>Copies, as paper 000 measured them</h2>\n"
        "<p>Rank 0 of three copies 1000 times, or 40 MiB, and completes each copy before the next. "
        "<b>old</b> sends every copy as 1408-byte datagrams over loopback sockets by a "
        "communication thread "
        "per process; <b>new</b> replaces the sockets by n(n\u22121) buffers in shared memory; "
        "<b>bypass</b> "
        "lets the main thread do local copies; <b>mpsc</b> is one buffer per process, with "
        "1408-byte or "
        "longer datagrams; <b>attach</b> is one copy by the kernel; <b>auto</b> is what you get: "
        "loads and "
        "stores wherever memory is mapped. Diamonds are the paper's figures on its machine of "
        "2009; only "
        "ratios compare.</p>\n";
    html += "<h3>The paper\u2019s effects</h3>\n" + effects_html(rows, "us") +
            effects_html(rows, "MB/s") + bypass_line(rows);
    for (const char* memory : memories) {
        if (!has_memory(rows, memory)) continue;
        html += std::string("<h3>") + (memory == memories[0] ? "Starter" : "Registered") +
                " memory</h3>\n<div class=\"pair\">\n";
        for (const char* direction : direction_names) {
            html += copy_plot(rows, direction, memory, false);
            html += copy_plot(rows, direction, memory, true);
        }
        html += "</div>\n";
    }
    return html + "<details><summary>All rows</summary>" + rows_table(rows_of(rows, "copy")) +
           "</details></section>\n";
}

}  // namespace acp::bench
