// SPDX-License-Identifier: BSD-3-Clause
// The page's sections on everything but copies: a table each, and a plot where sizes or ranks vary. Pure;
// any thread.
#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "base/format.hpp"

#include "page.hpp"
#include "plot.hpp"
#include "verdict.hpp"

namespace acp::bench {

namespace {

enum class Drawn {
    nothing,
    bandwidth_by_size,
    latency_by_size,
    both_by_size,  // a plot of each: rows are times or bandwidths as their yardsticks are
    latency_by_ranks,
    extra_by_ranks
};

struct Section {
    const char* experiment = "";
    const char* title = "";
    const char* text = "";
    Drawn drawn = Drawn::nothing;
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
    {"net-sizes", "Between nodes, by size",
     "Puts to another emulated node on this machine, over encrypted UDP. Left: one put at a time, "
     "beside bare datagrams that carry the same bytes and are answered. Right: many puts under "
     "way, "
     "beside a stream of bare datagrams at full length, which is what the network itself carries "
     "here before encryption.",
     Drawn::both_by_size},
    {"flag", "Data, then a flag",
     "A rank puts a flag, or data and then a flag, into the memory of another rank, which spins on "
     "plain loads until it sees the flag and answers alike. The time is half a round trip: from "
     "the "
     "call of acp_copy to the moment the receiver sees the flag.",
     Drawn::nothing},
    {"net", "Between nodes",
     "Emulated nodes on this machine, encrypted unless a setting below says otherwise. Beside bare "
     "datagrams between the same two processes; streams beside segmentation offload and the cipher "
     "alone; copies for others beside a get and then a put. Ratios are of times (less is better), "
     "of streams of bandwidths.",
     Drawn::nothing},
    {"peers", "Beside other libraries",
     "Two nodes over loopback: ACP, UCX and Open MPI over TCP, bare datagrams, in turns (make "
     "peers). The ratio says how many times as good as the better of the two libraries ACP is.",
     Drawn::nothing},
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
    if (row.experiment == "net-sizes") return axis == Axis::rate ? "bare UDP stream" : name;
    if (axis == Axis::rate) return name + " " + row.name.substr(0, row.name.find(' '));
    const std::size_t comma = row.name.find(", ");
    if (comma == std::string::npos) return name;
    const std::string rest = row.name.substr(comma + 2);
    return name + " " + rest.substr(0, rest.find(" page"));
}

bool is_by_size(const Section& section) {
    return section.drawn == Drawn::bandwidth_by_size || section.drawn == Drawn::latency_by_size;
}

// What to draw: one or two plots, each a section with a single thing drawn.
std::vector<Section> drawn_alone(const Section& section) {
    if (section.drawn == Drawn::nothing) return {};
    if (section.drawn != Drawn::both_by_size) return {section};
    Section latency = section;
    latency.drawn = Drawn::latency_by_size;
    Section bandwidth = section;
    bandwidth.drawn = Drawn::bandwidth_by_size;
    return {latency, bandwidth};
}

// Of Drawn::both_by_size: whether the row is drawn as a bandwidth.
bool is_stream(const Row& row) {
    return row.bandwidth_mb_per_s > 0;
}

Axis value_axis(const Section& section) {
    if (section.drawn == Drawn::bandwidth_by_size) return Axis::rate;
    return section.extra == std::string_view("pss_KiB") ? Axis::kib : Axis::time;
}

double x_of(const Row& row, const Section& section) {
    return is_by_size(section) ? static_cast<double>(row.bytes) : row.ranks;
}

// 0: the row has nothing to draw.
double y_of(const Row& row, const Section& section) {
    if (section.drawn == Drawn::bandwidth_by_size) {
        const bool is_small = row.bytes < 4096 && row.experiment != "net-sizes";
        return is_small ? 0 : row.bandwidth_mb_per_s;
    }
    return section.drawn == Drawn::extra_by_ranks ? extra_of(row, section.extra)
                                                  : row.latency_us.median;
}

// The row's yardstick in the axis's unit; 0 when there is none that can be.
double yardstick_y_of(const Row& row, const Section& section) {
    if (!row.yardstick || row.yardstick->name == "cache-line round trip") return 0;
    const Axis axis = value_axis(section);
    const std::string& unit = row.yardstick->unit;
    const double value = row.yardstick->value;
    if (unit == "MB/s" && axis == Axis::time) return value > 0 ? x_of(row, section) / value : 0;
    return unit == (axis == Axis::rate ? "MB/s" : axis == Axis::kib ? "KiB" : "us") ? value : 0;
}

std::string line_label(const Row& row, const Section& section) {
    const bool has_own_mode = section.experiment == std::string_view("poll") && !row.mode.empty();
    return row.name + (has_own_mode ? " " + row.mode : "");
}

// A line per case (and mode); the yardsticks as further lines where they have the axis's unit.
Plot plot_of(const std::vector<const Row*>& rows, const Section& section) {
    Plot plot;
    plot.title = section.title;
    if (section.drawn == Drawn::latency_by_size) plot.title += ", time";
    if (section.drawn == Drawn::bandwidth_by_size) plot.title += ", bandwidth";
    plot.x = is_by_size(section) ? Axis::bytes : Axis::ranks;
    plot.x_title = is_by_size(section) ? "size" : "ranks";
    plot.y = value_axis(section);
    std::map<std::string, Series> lines;
    std::map<std::string, Series> yardsticks;
    for (const Row* row : rows) {
        const double x = x_of(*row, section);
        const double y = y_of(*row, section);
        if (x <= 0 || y <= 0) continue;
        lines[line_label(*row, section)].points.emplace_back(x, y);
        const double yardstick_y = yardstick_y_of(*row, section);
        if (yardstick_y <= 0 || judge(*row).verdict == Verdict::disturbed) continue;
        yardsticks[yardstick_label(*row, plot.y)].points.emplace_back(x, yardstick_y);
    }
    const auto add = [&](const std::string& label, const char* css, Series& series) {
        if (series.points.size() < 2) return;
        series.label = label;
        series.css = css;
        std::sort(series.points.begin(), series.points.end());
        plot.series.push_back(std::move(series));
    };
    for (auto& [name, series] : yardsticks) add(name.substr(0, 24), "yard", series);
    static constexpr const char* colours[] = {"c7", "c5", "c1", "c3", "c0", "c4", "c6", "c2", "c8"};
    std::size_t colour = 0;
    for (auto& [name, series] : lines) {
        add(name.substr(0, 19), colours[colour++ % std::size(colours)], series);
    }
    return plot;
}

std::string section_html(const std::vector<const Row*>& rows, const Section& section) {
    std::string html = "<section id=\"" + std::string(section.experiment) + "\"><h2>" +
                       section.title + "</h2><p>" + section.text + "</p>\n";
    const bool is_long = rows.size() > 13 && section.drawn != Drawn::nothing;
    std::string figures;
    for (const Section& one : drawn_alone(section)) {
        std::vector<const Row*> its = rows;
        if (section.drawn == Drawn::both_by_size) {
            const bool is_bandwidth = one.drawn == Drawn::bandwidth_by_size;
            std::erase_if(its, [=](const Row* row) { return is_stream(*row) != is_bandwidth; });
        }
        figures += to_figure(plot_of(its, one));
    }
    if (!figures.empty()) html += "<div class=\"pair\">" + figures + "</div>\n";
    if (is_long) html += "<details><summary>All rows</summary>";
    html += rows_table(rows);
    if (is_long) html += "</details>";
    return html + "</section>\n";
}

struct Column {
    const char* title;
    bool is_number;
    std::string (*cell)(const Row& row);
    bool may_wrap = false;
    bool is_html = false;  // else the cell is text

    // A head, or with its title beside it a cell.
    [[nodiscard]] std::string opening(const char* tag, bool is_cell) const {
        const char* css = is_number ? " class=n" : may_wrap ? " class=w" : "";
        std::string html = std::string("<") + tag + css;
        if (is_cell) html.append(" data-l=\"").append(title).append("\"");
        return html + ">";
    }
};

// Whether a row begins those of another number of ranks or nodes.
bool is_first_of_shape(const std::vector<const Row*>& rows, std::size_t index) {
    if (index == 0) return false;
    const Row& before = *rows[index - 1];
    return rows[index]->nodes > 1 &&
           (rows[index]->nodes != before.nodes || rows[index]->ranks != before.ranks);
}

std::string show_time(double us) {
    return us > 0 ? show_value(Axis::time, us) : "";
}

std::string show_paper(const Row& row) {
    return row.paper ? number(row.paper->value) + " " + row.paper->unit : "";
}

std::string show_extra(const Row& row) {
    std::string text;
    if (const Judgement judgement = judge(row); judgement.verdict == Verdict::disturbed)
        text = "disturbed: " + judgement.reason;
    for (const auto& [name, value] : row.extra) {
        std::string words = name;
        std::replace(words.begin(), words.end(), '_', ' ');
        text.append(text.empty() ? "" : ", ").append(words).append(" ").append(number(value));
    }
    return text;
}

const Column columns[] = {
    {"case", false, [](const Row& row) { return row.name; }},
    {"mode", false, [](const Row& row) { return row.mode; }},
    {"ranks", true, [](const Row& row) { return std::to_string(row.ranks); }},
    {"nodes", true,
     [](const Row& row) { return row.nodes > 1 ? std::to_string(row.nodes) : std::string(); }},
    {"bytes", true,
     [](const Row& row) { return row.bytes > 0 ? base::human_size(row.bytes) : std::string(); }},
    {"min", true, [](const Row& row) { return show_time(row.latency_us.min); }},
    {"median", true, [](const Row& row) { return show_time(row.latency_us.median); }},
    {"p99", true, [](const Row& row) { return show_time(row.latency_us.p99); }},
    {"bandwidth", true,
     [](const Row& row) {
         const double rate = row.bandwidth_mb_per_s;
         return rate > 0 ? show_value(Axis::rate, rate) : std::string();
     }},
    {"ratio", true, [](const Row& row) { return row.ratio ? number(*row.ratio) : std::string(); }},
    {"yardstick", false, show_yardstick},
    {"target", false, [](const Row& row) { return judge(row).target; }, true},
    {"verdict", false, [](const Row& row) { return verdict_html(judge(row)); }, false, true},
    {"cores", false,
     [](const Row& row) {
         return row.distance == Distance::unknown ? std::string()
                                                  : std::string(name_of(row.distance));
     }},
    {"paper", false, show_paper},
    {"besides", false, show_extra, true},
};

}  // namespace

std::string verdict_html(const Judgement& judgement) {
    const char* css = judgement.verdict == Verdict::met      ? "good"
                      : judgement.verdict == Verdict::missed ? "bad"
                                                             : "doubt";
    if (judgement.verdict == Verdict::none) return {};
    return std::string("<span class=\"pill ") + css + "\">" + name_of(judgement.verdict) +
           "</span>";
}

std::vector<const Row*> rows_of(const std::vector<Row>& rows, const std::string& experiment) {
    std::vector<const Row*> result;
    for (const Row& row : rows) {
        if (row.experiment == experiment) result.push_back(&row);
    }
    return result;
}

std::string rows_table(const std::vector<const Row*>& rows) {
    std::vector<Column> shown;
    std::string html = "<div class=\"scroll\"><table class=\"flow\"><thead><tr>";
    for (const Column& column : columns) {
        const auto says = [&](const Row* row) { return !column.cell(*row).empty(); };
        if (std::none_of(rows.begin(), rows.end(), says)) continue;
        shown.push_back(column);
        html.append(column.opening("th", false)).append(column.title).append("</th>");
    }
    html += "</tr></thead><tbody>\n";
    for (std::size_t i = 0; i < rows.size(); ++i) {
        html += is_first_of_shape(rows, i) ? "<tr class=first>" : "<tr>";
        for (const Column& column : shown) {
            const std::string cell = column.cell(*rows[i]);
            html.append(column.opening("td", &column != shown.data()))
                .append(column.is_html ? cell : escape_html(cell));
            html.append("</td>");
        }
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
