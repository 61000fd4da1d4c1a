// SPDX-License-Identifier: BSD-3-Clause
// Numbers and tables for people: sizes, durations, and aligned columns. Programs use JSON;
// base/parse.hpp has text that is read back. Knows no terminal: the caller chooses width and
// colours. Pure; any thread. Tests: tests/unit/base/format_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace acp::base {

// "0 B", "1000 B", "64 KiB", "1.5 MiB": three significant digits from 1 KiB on, trailing zeros
// dropped.
[[nodiscard]] std::string human_size(std::uint64_t bytes);

// "1 byte", "0 bytes", "65536 bytes": exact, for messages.
[[nodiscard]] std::string in_bytes(std::uint64_t bytes);

// "0 ns", "12 ns", "1.25 us", "340 ms", "60 s": three significant digits below 1000 s.
[[nodiscard]] std::string human_duration(double duration_ns);

// "0x0", "0x7fffd2a0": an address, a key, a handle.
[[nodiscard]] std::string hex(std::uint64_t number);

// A foreign text as a terminal can show it: control characters but line break and tab, and bytes
// that are no UTF-8, become \xNN.
[[nodiscard]] std::string printable(std::string_view text);

// The columns that a terminal needs for a text: code points of UTF-8 without colour escapes.
[[nodiscard]] std::size_t display_width(std::string_view text);

// Breaks a text at blanks into lines of at most `width` columns; a longer word gets a line of its
// own.
//   width  >= 1
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t width);

// A table of text with aligned columns, two blanks apart. Cells may contain colour escapes.
class Table {
public:
    enum class Align { left, right };

    struct Column {
        std::string title;
        Align align = Align::left;
    };

    // Writes a line of titles above the rows unless all titles are empty.
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    // One cell per column; missing ones are empty, surplus ones are ignored.
    void add_row(std::vector<std::string> cells);

    // Adds a line across all columns, below the rows added so far; it does not widen a column.
    void add_line(std::string text);

    // The width in columns of the widest row or of the titles.
    [[nodiscard]] std::size_t width() const;

    // Every line ends in a newline and starts with `indent` blanks; none ends in blanks.
    [[nodiscard]] std::string text(std::size_t indent = 0) const;

private:
    struct Line {
        std::vector<std::string> cells;
        bool is_across = false;  // cells has one text for the whole line
    };

    [[nodiscard]] std::vector<std::size_t> widths() const;

    std::vector<Column> columns_;
    std::vector<Line> lines_;
};

}  // namespace acp::base
