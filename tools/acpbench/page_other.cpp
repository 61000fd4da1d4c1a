// SPDX-License-Identifier: BSD-3-Clause
// The page's sections on everything but copies: a table each, and a plot where sizes or ranks vary. Pure;
// any thread.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/format.hpp"

#include "page.hpp"
#include "plot.hpp"

namespace acp::bench {

namespace {

enum class Drawn { nothing, bandwidth_by_size, latency_by_size, latency_by_ranks, extra_by_ranks };

struct Section {
    const char* experiment;
    const char* title;
    const char* text;
    Drawn drawn;
    const char* extra = "";  // of extra_by_ranks: which figure
};

constexpr Section sections[] = {
    {"copy-fine", "Copies, finely",
     "Small copies beside libc\u2019s memcpy in the same loop, and bandwidth with the data in and "
     "out of the cache.",
     Drawn::bandwidth_by_size},
    {"attach", "Registered memory of another process",
     "One call of the kernel per copy, beside the bare call on the same bytes.",
     Drawn::latency_by_size},
    {"mailbox", "Mailbox", "Commands that the owner\u2019s service thread runs.", Drawn::nothing},
    {"atomic", "Atomics",
     "Beside the CPU\u2019s own instruction: alone, and contended by all ranks in the same time "
     "slices.",
     Drawn::nothing},
    {"sync", "Barrier",
     "acp_sync of all ranks; the mean over whole slices is what counts where cores are short.",
     Drawn::extra_by_ranks, "mean_us"},
    {"memory", "Memory",
     "Proportional set size per rank after acp_init, beside the same program without ACP.",
     Drawn::extra_by_ranks, "pss_KiB"},
    {"start", "Start", "From the launch of acprun to the end of a program that joins and leaves.",
     Drawn::latency_by_ranks},
    {"poll", "Poll", "One look at all incoming commands: idle, and with one command waiting.",
     Drawn::latency_by_ranks},
    {"resolve", "Resolving addresses",
     "acp_query_address while the owner changes its table at full speed.", Drawn::nothing},
    {"idle", "Idle", "CPU used while all ranks sleep.", Drawn::nothing},
};

std::string number(double value) {
    char text[48];
    const double size = std::abs(value);
    const int digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 || size == 0 ? 2 : 4;
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return text;
}

std::string show_yardstick(const Row& row) {
    if (!row.yardstick) return {};
    const std::string& unit = row.yardstick->unit;
    const std::string value = unit == "us"     ? show_value(Axis::time, row.yardstick->value)
                              : unit == "MB/s" ? show_value(Axis::rate, row.yardstick->value)
                                               : number(row.yardstick->value) + " " + unit;
    return row.yardstick->name + " " + value;
}

double extra_of(const Row& row, const std::string& name) {
    for (const auto& [its_name, value] : row.extra) {
        if (its_name == name) return value;
    }
    return 0;
}

// Tells yardsticks of several lines apart, as briefly as fits beside a plot.
std::string yardstick_label(const Row& row, Axis axis) {
    std::string name = row.yardstick->name;
    if (name.starts_with("process_")) name.erase(0, 8);
    if (axis == Axis::rate) return name + " " + row.name.substr(0, row.name.find(' '));
    const std::size_t comma = row.name.find(", ");
    if (comma == std::string::npos) return name;
    const std::string rest = row.name.substr(comma + 2);
    return name + " " + rest.substr(0, rest.find(" page"));
}

// A line per case (and mode); the yardsticks as further lines where they have the axis's unit.
Plot plot_of(const std::vector<const Row*>& rows, const Section& section) {
    const bool is_by_size =
        section.drawn == Drawn::bandwidth_by_size || section.drawn == Drawn::latency_by_size;
    const std::string extra = section.extra;
    Plot plot;
    plot.title = section.title;
    plot.x = is_by_size ? Axis::bytes : Axis::ranks;
    plot.x_title = is_by_size ? "size" : "ranks";
    plot.y = section.drawn == Drawn::bandwidth_by_size ? Axis::rate
             : extra == "pss_KiB"                      ? Axis::kib
                                                       : Axis::time;
    const std::string unit = plot.y == Axis::rate ? "MB/s" : plot.y == Axis::kib ? "KiB" : "us";
    std::map<std::string, Series> lines;
    std::map<std::string, Series> yardsticks;
    for (const Row* row : rows) {
        if (section.drawn == Drawn::bandwidth_by_size && row->bytes < 4096) continue;
        const double x = is_by_size ? static_cast<double>(row->bytes) : row->ranks;
        const double y = section.drawn == Drawn::bandwidth_by_size ? row->bandwidth_mb_per_s
                         : section.drawn == Drawn::extra_by_ranks  ? extra_of(*row, extra)
                                                                   : row->latency_us.median;
        if (x <= 0 || y <= 0) continue;
        const bool has_own_mode = section.experiment == std::string("poll") && !row->mode.empty();
        const std::string name = row->name + (has_own_mode ? " " + row->mode : "");
        lines[name].points.emplace_back(x, y);
        if (!row->yardstick || row->yardstick->value <= 0 ||
            row->yardstick->name == "cache-line round trip")
            continue;
        double value = row->yardstick->value;
        if (row->yardstick->unit == "MB/s" && unit == "us")
            value = x / value;
        else if (row->yardstick->unit != unit)
            continue;
        yardsticks[yardstick_label(*row, plot.y)].points.emplace_back(x, value);
    }
    for (auto& [name, series] : yardsticks) {
        series.label = name.substr(0, 20);
        series.css = "yard";
        std::sort(series.points.begin(), series.points.end());
        plot.series.push_back(std::move(series));
    }
    static constexpr const char* colours[] = {"c7", "c5", "c1", "c3", "c0", "c4", "c6", "c2", "c8"};
    std::size_t colour = 0;
    for (auto& [name, series] : lines) {
        series.label = name.substr(0, 19);
        series.css = colours[colour++ % std::size(colours)];
        std::sort(series.points.begin(), series.points.end());
        plot.series.push_back(std::move(series));
    }
    std::erase_if(plot.series, [](const Series& series) { return series.points.size() < 2; });
    return plot;
}

std::string section_html(const std::vector<const Row*>& rows, const Section& section) {
    std::string html = "<section id=\"" + std::string(section.experiment) + "\"><h2>" +
                       section.title + "</h2><p>" + section.text + "</p>\n";
    const bool is_long = rows.size() > 24;
    if (section.drawn != Drawn::nothing) {
        const std::string svg = to_svg(plot_of(rows, section));
        if (!svg.empty()) html += "<figure class=\"one\">" + svg + "</figure>\n";
    }
    if (is_long) html += "<details><summary>All rows</summary>";
    html += rows_table(rows);
    if (is_long) html += "</details>";
    return html + "</section>\n";
}

}  // namespace

std::vector<const Row*> rows_of(const std::vector<Row>& rows, const std::string& experiment) {
    std::vector<const Row*> result;
    for (const Row& row : rows) {
        if (row.experiment == experiment) result.push_back(&row);
    }
    return result;
}

std::string rows_table(const std::vector<const Row*>& rows) {
    const auto any = [&](auto has) { return std::any_of(rows.begin(), rows.end(), has); };
    const bool have_mode = any([](const Row* row) { return !row->mode.empty(); });
    const bool have_bytes = any([](const Row* row) { return row->bytes > 0; });
    const bool have_extra = any([](const Row* row) { return !row->extra.empty(); });
    const bool have_paper = any([](const Row* row) { return row->paper.has_value(); });
    const auto head = [](const char* text, bool is_number) {
        return std::string(is_number ? "<th class=n>" : "<th>") + text + "</th>";
    };
    const auto cell = [](const std::string& text, bool is_number) {
        return std::string(is_number ? "<td class=n>" : "<td>") + escape_html(text) + "</td>";
    };
    std::string html = "<div class=\"scroll\"><table><thead><tr>" + head("case", false);
    if (have_mode) html += head("mode", false);
    html += head("ranks", true);
    if (have_bytes) html += head("bytes", true);
    html += head("min", true) + head("median", true) + head("p99", true);
    if (have_bytes) html += head("bandwidth", true);
    html += head("ratio", true) + head("yardstick", false) + head("cores", false);
    if (have_paper) html += head("paper", false);
    if (have_extra) html += head("besides", false);
    html += "</tr></thead><tbody>\n";
    for (const Row* row : rows) {
        html += "<tr>" + cell(row->name, false);
        if (have_mode) html += cell(row->mode, false);
        html += cell(std::to_string(row->ranks), true);
        if (have_bytes) html += cell(row->bytes > 0 ? base::human_size(row->bytes) : "", true);
        for (const double us : {row->latency_us.min, row->latency_us.median, row->latency_us.p99}) {
            html += cell(us > 0 ? show_value(Axis::time, us) : "", true);
        }
        if (have_bytes)
            html += cell(
                row->bandwidth_mb_per_s > 0 ? show_value(Axis::rate, row->bandwidth_mb_per_s) : "",
                true);
        html +=
            cell(row->ratio ? number(*row->ratio) : "", true) + cell(show_yardstick(*row), false);
        html += cell(name_of(row->distance), false);
        if (have_paper)
            html +=
                cell(row->paper ? number(row->paper->value) + " " + row->paper->unit : "", false);
        std::string extra;
        for (const auto& [name, value] : row->extra)
            extra += (extra.empty() ? "" : ", ") + name + " " + number(value);
        if (have_extra) html += cell(extra, false);
        html += "</tr>\n";
    }
    return html + "</tbody></table></div>\n";
}

std::string other_sections(const std::vector<Row>& rows) {
    std::string html;
    for (const Section& section : sections) {
        const std::vector<const Row*> its = rows_of(rows, section.experiment);
        if (!its.empty()) html += section_html(its, section);
    }
    return html;
}

}  // namespace acp::bench
