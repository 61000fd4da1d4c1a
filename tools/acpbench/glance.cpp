// SPDX-License-Identifier: BSD-3-Clause
// Choosing the rows, and their words. Pure; any thread.
#include "glance.hpp"

#include <cstdio>
#include <string_view>

#include "base/format.hpp"

#include "plot.hpp"

namespace acp::bench {

namespace {

constexpr std::uint64_t long_bytes = 1 << 20;

// Which row a figure is taken from.
struct Choice {
    const char* what;
    const char* limit_is;
    const char* experiment;
    const char* name;
    std::uint64_t bytes;  // 0: any
    int nodes;
};

constexpr Choice choices[] = {
    {"8 bytes into another process", "one call of memcpy on the same bytes", "copy",
     "local-to-remote starter", small_bytes, 1},
    {"1 MiB into another process", "memcpy of the same bytes", "copy", "local-to-remote starter",
     long_bytes, 1},
    {"barrier of two processes", "a cache line to the other core and back", "sync", "barrier", 0,
     1},
    {"atomic add in another process", "the processor's own atomic add on that word", "atomic",
     "add8 alone", 0, 1},
    {"8 bytes to another node", "one bare UDP datagram, there and back", "net", "put", small_bytes,
     2},
    {"long copies to another node", "bare UDP and then the cipher", "net", "stream of puts", 0, 2},
};

// Two ranks where the choice is not about copies, which three share; the implementation that is the
// default.
const Row* find(const std::vector<Row>& rows, const Choice& choice) {
    const bool is_copy = choice.experiment == std::string_view("copy");
    for (const Row& row : rows) {
        if (row.experiment != choice.experiment || row.name != choice.name) continue;
        if (row.nodes != choice.nodes || row.ranks != (is_copy ? 3 : 2)) continue;
        if (choice.bytes != 0 && row.bytes != choice.bytes) continue;
        if (row.mode.empty() || row.mode == "auto") return &row;
    }
    return nullptr;
}

std::string time_ratio_in_words(double ratio) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*f \u00d7 the limit", ratio < 9.95 ? 1 : 0, ratio);
    return text;
}

std::string rate_ratio_in_words(double ratio) {
    char text[64];
    std::snprintf(text, sizeof text, "%.0f %% of the limit", 100 * ratio);
    return text;
}

// The barrier's mean over whole slices, and the median of everything else.
double time_of(const Row& row) {
    const double mean = extra_of(row, "mean_us");
    return mean > 0 ? mean : row.latency_us.median;
}

// The ratio is that of the two figures shown; a row of which that is not the ratio turn by turn is
// disturbed.
Figure figure_of(const Row& row, const Choice& choice) {
    Figure figure{choice.what, {}, {}, choice.limit_is, {}, judge(row)};
    if (!row.yardstick) {
        figure.ours = show_value(Axis::rate, row.bandwidth_mb_per_s);
        figure.limit = "unknown";
        return figure;
    }
    const double yardstick = row.yardstick->value;
    if (row.yardstick->unit != "MB/s") {
        figure.ours = show_value(Axis::time, time_of(row));
        figure.limit = show_value(Axis::time, yardstick);
        figure.ratio = time_ratio_in_words(time_of(row) / yardstick);
        return figure;
    }
    const double cipher = extra_of(row, "cipher_MB/s");
    const double limit = cipher > 0 ? 1 / (1 / yardstick + 1 / cipher) : yardstick;
    if (cipher <= 0 && row.experiment == "net") figure.limit_is = "bare UDP";
    figure.ours = show_value(Axis::rate, row.bandwidth_mb_per_s);
    figure.limit = show_value(Axis::rate, limit);
    figure.ratio = rate_ratio_in_words(row.bandwidth_mb_per_s / limit);
    return figure;
}

}  // namespace

std::vector<Figure> glance_at(const std::vector<Row>& rows) {
    std::vector<Figure> figures;
    for (const Choice& choice : choices) {
        const Row* row = find(rows, choice);
        if (row == nullptr) continue;
        const bool is_comparable = row->yardstick && row->ratio;
        if (is_comparable || judge(*row).verdict == Verdict::disturbed)
            figures.push_back(figure_of(*row, choice));
    }
    return figures;
}

std::string glance_table(const std::vector<Figure>& figures) {
    using Align = base::Table::Align;
    base::Table table({{"", Align::left},
                       {"ACP", Align::right},
                       {"limit", Align::right},
                       {"", Align::left},
                       {"the limit is", Align::left}});
    for (const Figure& figure : figures) {
        const bool is_disturbed = figure.judgement.verdict == Verdict::disturbed;
        table.add_row({figure.what, figure.ours, figure.limit,
                       is_disturbed ? "disturbed" : figure.ratio, figure.limit_is});
        if (is_disturbed) table.add_line("    disturbed: " + figure.judgement.reason);
    }
    return table.text(2);
}

const char* glance_explained() {
    return "Each figure stands beside what the machine itself does without ACP: its limit, "
           "measured in "
           "turns with ACP.";
}

}  // namespace acp::bench
