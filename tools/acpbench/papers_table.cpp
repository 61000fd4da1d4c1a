// SPDX-License-Identifier: BSD-3-Clause
// Choosing each row's figure in the paper's unit. Pure; any thread.
#include "papers_table.hpp"

#include "base/format.hpp"

#include "number.hpp"

namespace acp::bench {

namespace {

// Three significant digits, so that times of microseconds and rates of gigabytes are read alike.
std::string with_three_digits(double value) {
    return number(value, value < 0.1 ? 4 : value < 1 ? 3 : value < 10 ? 2 : value < 100 ? 1 : 0);
}

std::string what_of(const Row& row) {
    std::string text = row.experiment + ": " + row.name;
    if (row.bytes > 0) text += ", " + base::human_size(row.bytes);
    if (!row.mode.empty() && row.mode != "auto") text += ", " + row.mode;
    if (const double k = extra_of(row, "k"); k > 0) text += ", k=" + number(k, 0);
    return text + (row.nodes > 1 ? ", " + std::to_string(row.nodes) + " nodes" : "");
}

}  // namespace

std::string papers_table(const std::vector<Row>& rows) {
    using Align = base::Table::Align;
    base::Table table({{"what", Align::left},
                       {"paper", Align::right},
                       {"here", Align::right},
                       {"times better", Align::right},
                       {"stated in", Align::left}});
    bool is_empty = true;
    for (const Row& row : rows) {
        if (!row.paper) continue;
        const bool is_time = row.paper->unit == "us";
        const double ours = is_time                  ? row.latency_us.median
                            : row.paper->unit == "x" ? extra_of(row, "speedup")
                                                     : row.bandwidth_mb_per_s;
        if (ours <= 0 || row.paper->value <= 0) continue;
        const double gain = is_time ? row.paper->value / ours : ours / row.paper->value;
        table.add_row({what_of(row), with_three_digits(row.paper->value) + " " + row.paper->unit,
                       with_three_digits(ours) + " " + row.paper->unit, with_three_digits(gain),
                       row.paper->source});
        is_empty = false;
    }
    return is_empty ? std::string() : table.text(2);
}

}  // namespace acp::bench
