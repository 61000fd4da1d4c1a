// SPDX-License-Identifier: BSD-3-Clause
// One result of an experiment, and the file of all results, which programs read and from which the
// report page is drawn. Knows nothing of how it was measured. Any thread; a Row belongs to one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"

#include "stats.hpp"

namespace acp::bench {

// The size of an operation on one word, which rows of the fastest operations have.
inline constexpr std::uint64_t small_bytes = 8;

// The figure with which a result is compared. The ratio is test / yardstick in `unit`: of times
// less is better, of bandwidths ("MB/s") more is.
struct Yardstick {
    std::string name;  // "memcpy", "cache-line round trip"
    double value = 0;
    std::string unit;  // "us", "MB/s", "M/s", "KiB"
};

// What a paper reports for the same thing on its machine.
struct PaperFigure {
    std::string source;  // "paper 000, figure 1"
    double value = 0;
    std::string unit;
};

// What a row computed, to be drawn: a square of values by rows.
struct Picture {
    std::size_t width = 0;
    std::vector<double> values;
};

struct Row {
    std::string experiment;  // "copy"
    std::string name;        // the key "case": "remote-to-remote starter"
    std::string mode;        // which implementation: "auto", "old", ...; "" where there is only one
    Distance distance = Distance::unknown;
    double distance_share = 1;  // the part of all slices that was at this distance
    int ranks = 1;
    int nodes = 1;
    std::uint64_t bytes = 0;        // of one operation; 0 where it has no size
    std::uint64_t iterations = 0;   // operations behind the figures
    Summary latency_us;             // the time of one operation
    double bandwidth_mb_per_s = 0;  // 0 where it has no size
    std::optional<Yardstick> yardstick;
    std::optional<double> ratio;
    std::optional<PaperFigure> paper;
    std::vector<std::pair<std::string, double>> extra;  // further figures, the unit in the name
    std::optional<Picture> picture;
};

// The further figure of that name; 0 where the row has none.
[[nodiscard]] double extra_of(const Row& row, std::string_view name);

struct Header {
    std::string machine;  // one line: CPU, cores, memory
    std::string kernel;
    std::string version;
    std::string date;  // ISO 8601, UTC
    std::string command;
    std::vector<std::pair<std::string, std::string>>
        configuration;  // ACP_* variables that were set
};

struct ResultFile {
    Header header;
    std::vector<Row> rows;
};

[[nodiscard]] std::string to_json(const ResultFile& file);

// Errors: argument (not JSON, or not of this shape; the message says where).
[[nodiscard]] base::Result<ResultFile> from_json(const std::string& text);

// Makes missing folders. Errors: system.
[[nodiscard]] base::Status write_results(const std::string& path, const ResultFile& file);

[[nodiscard]] base::Result<ResultFile> read_results(const std::string& path);

}  // namespace acp::bench
