// SPDX-License-Identifier: BSD-3-Clause
// Progress, tables and the description of this machine. Rank 0's main thread.
#include "output.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <thread>

#include "base/config.hpp"
#include "base/format.hpp"
#include "os/cpu.hpp"
#include "os/process.hpp"

#include <acp.h>

#include "number.hpp"
#include "system.hpp"
#include "verdict.hpp"

namespace acp::bench {

namespace {

constexpr int bar_columns = 30;

std::string line_of(const char* path, std::string_view name) {
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
        if (!line.starts_with(name)) continue;
        const std::size_t start = line.find_first_not_of(" \t:", name.size());
        return start == std::string::npos ? "" : line.substr(start);
    }
    return {};
}

std::string machine() {
    std::string cpu = line_of("/proc/cpuinfo", "model name");
    if (cpu.empty()) cpu = "unknown CPU";
    std::string text = cpu;
    text.append(", ").append(std::to_string(os::usable_cpus())).append(" CPUs usable");
    if (const std::uint64_t cache = os::last_level_cache_bytes(); cache > 0) {
        text += ", " + base::human_size(cache) + " last-level cache";
    }
    const double kib = std::strtod(line_of("/proc/meminfo", "MemTotal").c_str(), nullptr);
    return text + ", " + base::human_size(static_cast<std::uint64_t>(kib) * 1024) + " memory";
}

std::string now_utc() {
    const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    std::tm parts{};
    gmtime_r(&now, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

// Three significant digits, at least down to 0.001; no exponent.
std::string three_digits(double value) {
    const double size = std::abs(value);
    return number(value, size >= 99.95                 ? 0
                         : size >= 9.995               ? 1
                         : size >= 0.0995 || size == 0 ? 2
                                                       : 4);
}

std::string show_in(double value, const std::string& unit) {
    if (unit == "us") return show_us(value);
    return three_digits(value) + " " + unit;
}

std::string show_time(double us) {
    return us > 0 ? show_us(us) : "";
}

std::string show_yardstick(const Row& row) {
    if (!row.yardstick) return {};
    return row.yardstick->name + " " + show_in(row.yardstick->value, row.yardstick->unit);
}

std::string show_extra(const Row& row) {
    std::string text;
    for (const auto& [name, value] : row.extra) {
        text.append(text.empty() ? "" : ", ").append(name).append(" ").append(three_digits(value));
    }
    return text;
}

struct Column {
    const char* title;
    base::Table::Align align;
    std::string (*cell)(const Row& row);
};

using Align = base::Table::Align;

const Column columns[] = {
    {"case", Align::left, [](const Row& row) { return row.name; }},
    {"mode", Align::left, [](const Row& row) { return row.mode; }},
    {"ranks", Align::right, [](const Row& row) { return std::to_string(row.ranks); }},
    {"nodes", Align::right,
     [](const Row& row) { return row.nodes > 1 ? std::to_string(row.nodes) : std::string(); }},
    {"bytes", Align::right,
     [](const Row& row) { return row.bytes > 0 ? base::human_size(row.bytes) : std::string(); }},
    {"min", Align::right, [](const Row& row) { return show_time(row.latency_us.min); }},
    {"median", Align::right, [](const Row& row) { return show_time(row.latency_us.median); }},
    {"p99", Align::right, [](const Row& row) { return show_time(row.latency_us.p99); }},
    {"MB/s", Align::right,
     [](const Row& row) {
         return row.bandwidth_mb_per_s > 0 ? three_digits(row.bandwidth_mb_per_s) : std::string();
     }},
    {"ratio", Align::right, show_ratio},
    {"yardstick", Align::left, show_yardstick},
    {"verdict", Align::left,
     [](const Row& row) { return std::string(name_of(judge(row).verdict)); }},
    {"cores", Align::left, [](const Row& row) { return std::string(name_of(row.distance)); }},
    {"besides", Align::left, show_extra},
};

}  // namespace

Progress::Progress(std::string title, int steps, Kind kind)
    : title_(std::move(title)),
      steps_(std::max(1, steps)),
      kind_(kind),
      is_shown_(kind == Kind::bar && is_terminal()),
      is_coloured_(may_colour()) {
    draw("");
}

Progress::~Progress() {
    if (is_shown_) std::fputs("\033[K\r", stderr);
}

void Progress::step(const std::string& what) {
    show(done_ + 1, what);
}

void Progress::show(int done, const std::string& what) {
    done_ = std::min(done, steps_);
    if (kind_ == Kind::lines) {
        std::printf("%s%d/%d %s\n", std::string(step_mark).c_str(), done_, steps_, what.c_str());
        std::fflush(stdout);
    }
    draw(what);
}

// Each picture ends in a return: acprun passes on whole lines and what ends so.
void Progress::draw(const std::string& what) {
    if (!is_shown_) return;
    const int filled = bar_columns * done_ / steps_;
    std::string bar;
    for (int i = 0; i < bar_columns; ++i) bar += i < filled ? "\u2588" : "\u2591";
    const char* colour = is_coloured_ ? "\033[36m" : "";
    const char* plain = is_coloured_ ? "\033[0m" : "";
    std::fprintf(stderr, "%s %s%s%s %3d %% %s\033[K\r", title_.c_str(), colour, bar.c_str(), plain,
                 100 * done_ / steps_, what.c_str());
    std::fflush(stderr);
}

Header describe_here(const std::string& command) {
    Header header;
    header.machine = machine();
    header.kernel = "Linux " + line_of("/proc/sys/kernel/osrelease", "");
    header.version = acp_version();
    header.date = now_utc();
    header.command = command;
    const base::Environment environment = os::environment();
    base::Result<base::ParsedConfig> parsed = base::parse_config(environment);
    if (parsed.is_ok()) {
        for (const base::VariableState& variable :
             base::list_variables(parsed.value().config, environment)) {
            if (variable.origin != "default")
                header.configuration.emplace_back(variable.name, variable.value);
        }
    }
    return header;
}

std::string mode_by_environment() {
    base::Result<base::ParsedConfig> parsed = base::parse_config(os::environment());
    if (!parsed.is_ok()) return "auto";
    const base::Config& config = parsed.value().config;
    const std::string bypass = config.is_bypass_on ? "+bypass" : "";
    switch (config.intranode) {
        case base::IntraNode::automatic:
            return config.attach == base::AttachMode::off ? "auto-no-attach" : "auto";
        case base::IntraNode::direct:
            return "direct";
        case base::IntraNode::attach:
            return "attach";
        case base::IntraNode::udp:
            return "old" + bypass;
        case base::IntraNode::mailbox:
            break;
    }
    const std::string size = config.datagram_bytes == 0
                                 ? std::string()
                                 : std::string("-") + std::to_string(config.datagram_bytes);
    if (config.mailbox == base::MailboxKind::pairs) {
        return (config.datagram_bytes == 1408 ? "new" : "pairs" + size) + bypass;
    }
    return (config.mailbox == base::MailboxKind::mpsc ? "mpsc" : "bitmap") + size +
           (config.is_bypass_on ? "" : "-no-bypass");
}

std::string show_us(double us) {
    if (us < 1) return three_digits(us * 1e3) + " ns";
    if (us < 1e3) return three_digits(us) + " us";
    return three_digits(us / 1e3) + " ms";
}

std::string show_ratio(const Row& row) {
    if (!row.ratio) return {};
    return number(*row.ratio, std::abs(*row.ratio) < 0.0995 ? 4 : 2) + "x";
}

void print_table(const std::vector<Row>& rows) {
    std::vector<Column> shown;
    std::vector<base::Table::Column> heads;
    for (const Column& column : columns) {
        const auto says = [&](const Row& row) { return !column.cell(row).empty(); };
        if (std::none_of(rows.begin(), rows.end(), says)) continue;
        shown.push_back(column);
        heads.push_back({column.title, column.align});
    }
    base::Table table(std::move(heads));
    for (const Row& row : rows) {
        std::vector<std::string> cells;
        cells.reserve(shown.size());
        for (const Column& column : shown) cells.push_back(column.cell(row));
        table.add_row(std::move(cells));
    }
    std::fputs(table.text().c_str(), stdout);
}

int finish(const Options& options, const std::vector<Row>& rows, bool is_table_wanted) {
    if (is_table_wanted) print_table(rows);
    if (options.json.empty()) return 0;
    const base::Status status =
        write_results(options.json, {describe_here("acpbench " + options.experiment), rows});
    if (!status.is_ok()) {
        std::fprintf(stderr, "acpbench: %s\n", std::string(status.message()).c_str());
        return 1;
    }
    std::printf("rows written to %s\n", options.json.c_str());
    return 0;
}

}  // namespace acp::bench
