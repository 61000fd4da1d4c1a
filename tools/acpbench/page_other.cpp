// SPDX-License-Identifier: BSD-3-Clause
// The page's sections on everything but copies: a table each, and a plot where sizes or ranks vary.
// Pure; any thread.
#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "base/format.hpp"

#include "number.hpp"
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
    extra_by_ranks,
    extra_by_size
};

struct Section {
    const char* experiment = "";
    const char* title = "";
    const char* text = "";
    Drawn drawn = Drawn::nothing;
    // the name of the extra figure that extra_by_ranks and extra_by_size draw
    const char* extra = "";
    bool is_split = false;  // one of the two plots of both_by_size
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
    {"message", "Messages",
     "Through channels, and by PM where the rows say so, to and fro (half a round trip) and one "
     "way (the time of each message of a "
     "burst). On a node beside two bare "
     "copies through shared memory, from 64 KiB on beside memcpy; between nodes beside puts that "
     "answer each other, and a stream of "
     "acp_copy. Ratios are of times below 4 KiB (less is better), above of bandwidths.",
     Drawn::nothing},
    {"rma", "Writes and reads of locked memory",
     "As paper 001 measured its remote write and read: up to a million of each size between memory "
     "of two ranks that acp_lock_pm has locked, 16 under way. Writes beside memcpy, or between "
     "nodes acp_copy of the same bytes; reads beside the writes; and one read of a page at a time. "
     "Ratios are of times below 4 KiB (less is better), above of bandwidths.",
     Drawn::nothing},
    {"ipc-hh", "Messages between processes of the host",
     "As paper 004 measured them: a client sends a message, a server sends one as long back, and "
     "the "
     "bandwidth is that of both. Each is written by its sender and read by its receiver within the "
     "time. The ways of the system beside memcpy; those of ACP beside the best of them. Ratios are "
     "of times below 4 KiB (less is better), above of bandwidths.",
     Drawn::bandwidth_by_size},
    {"ipc-hd", "Messages from the host to a device and back",
     "The client is a rank, the server runs in the process of a device: the same function. The "
     "ways "
     "of the system beside the same between processes of the host; acp_copy beside the best of "
     "them; "
     "writes and reads of the device\u2019s memory, one way, beside memcpy. The paper reached "
     "500 MB/s at most by the ways of the system.",
     Drawn::bandwidth_by_size},
    {"ipc-dh", "Messages from a device to the host and back",
     "The client runs in the process of a device. acp_copy: the rank fetches and writes.",
     Drawn::bandwidth_by_size},
    {"ipc-dd", "Messages between two devices",
     "Both run in processes of devices. acp_copy: a rank copies from the memory of one to that of "
     "the other.",
     Drawn::bandwidth_by_size},
    {"collective", "Collective calls",
     "Of the team of all ranks, a time being the mean over its members; calls that need not wait "
     "for "
     "all are made after a meeting, which is not timed. Beside a cache line's round trip between "
     "two "
     "ranks, acp_sync of more, and memcpy of as many bytes from 8 KiB on. Ratios are of times "
     "(less "
     "is better).",
     Drawn::nothing},
    {"halo", "Halo exchange",
     "14 messages to eight directions, as paper 003 has them (its Table 1), by a plan that is "
     "compiled once and started and waited for again and again. On a node beside one memcpy of the "
     "bytes within each rank, between nodes beside puts of the same messages. And a computation "
     "that "
     "takes as long as the longest exchange, between its start and its end: \u201chidden\u201d is "
     "the share of the exchange that costs no time beside it. Where several rails connect the "
     "nodes, \u201call rails\u201d is the longest exchange beside the same by one of them. Ratios "
     "are of times (less is better).",
     Drawn::latency_by_size},
    {"dsm", "Shared pages",
     "What a rank waits for: accesses to pages that another node has, prefetches, first writes, "
     "barriers. "
     "Beside copies of the same bytes by acp_get, the kernel\u2019s own faults, and acp_sync. On "
     "one "
     "node beside private memory. Ratios are of times (less is better).",
     Drawn::nothing},
    {"dsm-programs", "Programs on shared pages",
     "Each with the result that one process computes in private memory, which is the yardstick: "
     "\u201cspeedup\u201d is one by the ratio. Ratios are of times (less is better).",
     Drawn::nothing},
    {"heap", "Memory of any rank",
     "Blocks of random sizes, freed in random order while as many live on, beside malloc and free "
     "of "
     "the C library; on another node beside one get of 8 bytes.",
     Drawn::nothing},
    {"heap-full", "Memory of a full heap",
     "acp_malloc that finds no room, while blocks of random sizes are freed and allocated, by the "
     "size of the heap and the part of it that is in use. Drawn: the 99.9th percentile, of the "
     "thread's CPU time.",
     Drawn::extra_by_size, "p99.9_cpu_us"},
    {"map", "Maps, as paper 002 measured them",
     "1024 inserts and finds of 32-byte keys and values by one rank, half of the finds without "
     "success; 128 slots in all. Beside std::unordered_map, or one get of 8 bytes from another "
     "node.",
     Drawn::nothing},
    {"map-rate", "Operations on a map in a second",
     "By several ranks at once on one map of 32-byte keys and values, single calls and batches, "
     "and "
     "the mixes of YCSB. Beside std::unordered_map, and a flat table (flat_M/s), which one rank "
     "alone uses. Ratios are of rates (more is better).",
     Drawn::nothing},
    {"list", "Lists",
     "Elements of 8 bytes, one call each, by one rank; and an element in at the end and one out at "
     "the front by several ranks at once, whose ratios are of rates (more is better). Beside "
     "std::list, or one acp_copy of 8 bytes from another node.",
     Drawn::nothing},
    {"vector", "Vectors and deques",
     "As lists, beside std::vector and std::deque. Looking through reads 100 elements by one call.",
     Drawn::nothing},
    {"peers", "Beside other libraries",
     "Two nodes over loopback: ACP, UCX and Open MPI over TCP, bare datagrams, in turns (make "
     "peers). The ratio says how many times as good as the better of the two libraries ACP is.",
     Drawn::nothing},
    {"peers-messages", "Messages and collective calls beside MPI",
     "On one node: ACP, Open MPI and MPICH, in turns (make peers). The ratio says how many times "
     "as "
     "long ACP takes as the best of the others (less is better).",
     Drawn::nothing},
    {"peers-halo", "Halo exchange beside MPI",
     "The same messages on one node: ACP\u2019s plans, persistent messages and neighbour "
     "collectives of Open MPI and MPICH, in turns (make peers). The ratio says how many times as "
     "long ACP takes as the best of the others (less is better).",
     Drawn::latency_by_size},
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

// A whole number as it is, any other with about three digits.
std::string short_number(double value) {
    const double size = std::abs(value);
    const bool is_whole = size < 1e15 && value == std::round(value);
    const int digits = is_whole || size >= 100    ? 0
                       : size >= 10               ? 1
                       : size >= 0.1 || size == 0 ? 2
                                                  : 4;
    return number(value, digits);
}

// The value and its unit stay on one line.
std::string yardstick_cell(const Row& row) {
    if (!row.yardstick) return {};
    const std::string& unit = row.yardstick->unit;
    std::string value = unit == "us"     ? show_value(Axis::time, row.yardstick->value)
                        : unit == "MB/s" ? show_value(Axis::rate, row.yardstick->value)
                                         : short_number(row.yardstick->value) + " " + unit;
    if (const std::size_t blank = value.find(' '); blank != std::string::npos)
        value.replace(blank, 1, "\u00a0");
    return row.yardstick->name + " " + value;
}

// Tells yardsticks of several lines apart, as briefly as fits beside a plot.
std::string yardstick_label(const Row& row, Axis axis) {
    std::string name = row.yardstick->name;
    if (name.starts_with("process_")) name.erase(0, 8);
    if (row.experiment == "net-sizes") return axis == Axis::rate ? "bare UDP stream" : "bare UDP";
    if (axis == Axis::rate) return name + " " + row.name.substr(0, row.name.find(' '));
    const std::size_t comma = row.name.find(", ");
    if (comma == std::string::npos) return name;
    const std::string rest = row.name.substr(comma + 2);
    return name + " " + rest.substr(0, rest.find(" page"));
}

bool is_by_size(const Section& section) {
    return section.drawn == Drawn::bandwidth_by_size || section.drawn == Drawn::latency_by_size ||
           section.drawn == Drawn::extra_by_size;
}

// What to draw: one or two plots, each a section with a single thing drawn.
std::vector<Section> drawn_alone(const Section& section) {
    if (section.drawn == Drawn::nothing) return {};
    if (section.drawn != Drawn::both_by_size) return {section};
    Section latency = section;
    latency.is_split = true;
    latency.drawn = Drawn::latency_by_size;
    Section bandwidth = latency;
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
    const bool is_extra =
        section.drawn == Drawn::extra_by_ranks || section.drawn == Drawn::extra_by_size;
    return is_extra ? extra_of(row, section.extra) : row.latency_us.median;
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
    plot.x = is_by_size(section) ? Axis::bytes : Axis::ranks;
    plot.x_title = is_by_size(section) ? "size" : "ranks";
    plot.y = value_axis(section);
    if (section.is_split && plot.y == Axis::time) plot.title = "one put at a time: time";
    if (section.is_split && plot.y == Axis::rate) plot.title = "many puts under way: bandwidth";
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

struct PageColumn {
    enum Kind {
        text,
        number,
        constant,  // said once above the table where all rows have the same
        wrapped,   // long text
        html,      // a cell is HTML, and long
    };

    const char* title;
    Kind kind;
    std::string (*cell)(const Row& row);

    // Of a head, or of a cell, which may say its title beside it.
    [[nodiscard]] std::string opening(const char* tag, bool has_label) const {
        const char* css = kind == number || kind == constant ? " class=n"
                          : kind == wrapped                  ? " class=w"
                                                             : " class=t";
        std::string opened = std::string("<") + tag + css;
        if (has_label) opened.append(" data-l=\"").append(title).append("\"");
        return opened + ">";
    }
};

// Whether a row begins those of another number of ranks or nodes.
bool is_first_of_shape(const std::vector<const Row*>& rows, std::size_t index) {
    if (index == 0) return false;
    const Row& before = *rows[index - 1];
    return rows[index]->nodes > 1 &&
           (rows[index]->nodes != before.nodes || rows[index]->ranks != before.ranks);
}

std::string time_cell(double us) {
    return us > 0 ? show_value(Axis::time, us) : "";
}

std::string paper_cell(const Row& row) {
    return row.paper ? short_number(row.paper->value) + " " + row.paper->unit : "";
}

std::string extra_cell(const Row& row) {
    std::string text;
    for (const auto& [name, value] : row.extra) {
        std::string words = name;
        std::replace(words.begin(), words.end(), '_', ' ');
        text.append(text.empty() ? "" : ", ").append(words).append(" ").append(short_number(value));
    }
    return text;
}

std::string verdict_cell(const Row& row) {
    const Judgement judgement = judge(row);
    std::string word = verdict_html(judgement);
    if (word.empty() || judgement.target.empty()) return word;
    return word + " " + escape_html(judgement.target);
}

const PageColumn page_columns[] = {
    {"case", PageColumn::text, [](const Row& row) { return row.name; }},
    {"mode", PageColumn::constant, [](const Row& row) { return row.mode; }},
    {"ranks", PageColumn::constant, [](const Row& row) { return std::to_string(row.ranks); }},
    {"nodes", PageColumn::constant,
     [](const Row& row) { return row.nodes > 1 ? std::to_string(row.nodes) : std::string(); }},
    {"bytes", PageColumn::number,
     [](const Row& row) { return row.bytes > 0 ? base::human_size(row.bytes) : std::string(); }},
    {"min", PageColumn::number, [](const Row& row) { return time_cell(row.latency_us.min); }},
    {"median", PageColumn::number, [](const Row& row) { return time_cell(row.latency_us.median); }},
    {"p99", PageColumn::number, [](const Row& row) { return time_cell(row.latency_us.p99); }},
    {"bandwidth", PageColumn::number,
     [](const Row& row) {
         const double rate = row.bandwidth_mb_per_s;
         return rate > 0 ? show_value(Axis::rate, rate) : std::string();
     }},
    {"ratio", PageColumn::number,
     [](const Row& row) { return row.ratio ? short_number(*row.ratio) : std::string(); }},
    {"yardstick", PageColumn::text, yardstick_cell},
    {"verdict", PageColumn::html, verdict_cell},
    {"cores", PageColumn::constant,
     [](const Row& row) {
         return row.distance == Distance::unknown ? std::string()
                                                  : std::string(name_of(row.distance));
     }},
    {"paper", PageColumn::text, paper_cell},
    {"besides", PageColumn::wrapped, extra_cell},
};

// What a column says of all rows, where that is one thing and there are several rows; else "".
std::string said_once(const std::vector<const Row*>& rows, const PageColumn& column) {
    if (column.kind != PageColumn::constant || rows.size() < 2) return {};
    const std::string first = column.cell(*rows.front());
    const auto is_same = [&](const Row* row) { return column.cell(*row) == first; };
    return std::all_of(rows.begin(), rows.end(), is_same) ? first : std::string();
}

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
    std::vector<PageColumn> shown;
    std::string once;
    std::string heads;
    for (const PageColumn& column : page_columns) {
        const auto says = [&](const Row* row) { return !column.cell(*row).empty(); };
        if (std::none_of(rows.begin(), rows.end(), says)) continue;
        if (const std::string same = said_once(rows, column); !same.empty()) {
            once.append(once.empty() ? "All rows: " : ", ").append(column.title);
            once.append(" ").append(escape_html(same));
            continue;
        }
        shown.push_back(column);
        heads.append(column.opening("th", false)).append(column.title).append("</th>");
    }
    std::string html = once.empty() ? "" : "<p class=dim>" + once + "</p>\n";
    html += "<div class=\"scroll\"><table class=\"flow\"><thead><tr>" + heads +
            "</tr></thead><tbody>\n";
    for (std::size_t i = 0; i < rows.size(); ++i) {
        html += is_first_of_shape(rows, i) ? "<tr class=first>" : "<tr>";
        for (const PageColumn& column : shown) {
            const std::string cell = column.cell(*rows[i]);
            const bool has_label = &column != shown.data() && column.kind != PageColumn::html;
            html.append(column.opening("td", has_label));
            html.append(column.kind == PageColumn::html ? cell : escape_html(cell)).append("</td>");
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
