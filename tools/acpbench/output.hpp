// SPDX-License-Identifier: BSD-3-Clause
// What an experiment shows: a progress bar while it runs, a table for people at its end, and the
// JSON file. Knows nothing of jobs; rank 0 alone prints. Main thread only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "options.hpp"
#include "row.hpp"

namespace acp::bench {

// The start of each line by which a job reports its progress to the acpbench that started it: "step
// 3/40 name".
inline constexpr std::string_view step_mark = "step ";

// A bar on standard error when that is a terminal, else nothing.
class Progress {
public:
    enum class Kind {
        bar,
        lines,  // lines on standard output that start with step_mark
    };

    Progress(std::string title, int steps, Kind kind = Kind::bar);
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress();  // removes the bar

    // One step is done; `what` is shown until the next.
    void step(const std::string& what);

    // As many steps are done.
    void show(int done, const std::string& what);

private:
    void draw(const std::string& what);

    std::string title_;
    int steps_;
    int done_ = 0;
    Kind kind_;
    bool is_shown_;
    bool is_coloured_;
};

// Where and with what this process runs.
[[nodiscard]] Header describe_here(const std::string& command);

// The implementation that the ACP_* variables of this process choose: "auto", "old", "new",
// "new+bypass", "mpsc-1408", "mpsc", "attach", "direct", or what was set, in words.
[[nodiscard]] std::string mode_by_environment();

// One line per row: case, bytes, latency, bandwidth, yardstick, ratio, distance. A column of which
// no row says anything is left out.
void print_table(const std::vector<Row>& rows);

// A duration in us with three digits and its unit: "1.23 ns", "45.6 us".
[[nodiscard]] std::string show_us(double us);
// A ratio with two digits behind the point, small ones with four: "1.03x", "0.0021x"; "" when there
// is none.
[[nodiscard]] std::string show_ratio(const Row& row);

// Prints the table (unless it was printed otherwise) and writes the file when options name one.
// Returns the exit code.
int finish(const Options& options, const std::vector<Row>& rows, bool is_table_wanted = true);

}  // namespace acp::bench
