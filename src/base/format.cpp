// SPDX-License-Identifier: BSD-3-Clause
// Formats numbers by rounding to three significant digits, and tables by measuring column widths.
#include "base/format.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdio>
#include <numeric>

namespace acp::base {

namespace {

constexpr std::size_t column_gap = 2;

// Three significant digits without trailing zeros: 1.5, 64, 340. For values below 1000.
std::string short_number(double value) {
    const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    std::array<char, 32> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%.*f", decimals, value);
    std::string text = buffer.data();
    if (decimals > 0) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') text.pop_back();
    }
    return text;
}

std::string padded(const std::string& cell, std::size_t width, Table::Align align) {
    const std::string blanks(width - std::min(width, display_width(cell)), ' ');
    return align == Table::Align::right ? blanks + cell : cell + blanks;
}

// The bytes of the character of UTF-8 that begins `text`, which is not empty; 0 if none does.
std::size_t character_bytes(std::string_view text) {
    const auto first = static_cast<unsigned char>(text.front());
    if (first < 0x80) return 1;
    const auto bytes = static_cast<std::size_t>(std::countl_one(first));
    // a sequence that begins with 0xc0 or 0xc1 would be an overlong form of an ASCII character
    if (bytes < 2 || bytes > 4 || first < 0xc2 || bytes > text.size()) return 0;
    for (std::size_t i = 1; i < bytes; ++i) {
        if ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U) return 0;
    }
    return bytes;
}

void end_line(std::string& text) {
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
}

}  // namespace

std::string human_size(std::uint64_t bytes) {
    constexpr std::array<const char*, 7> units{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) return std::to_string(bytes) + " B";
    double value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 999.5 && unit + 1 < units.size()) {  // 1000 KiB would need a fourth digit
        value /= 1024;
        ++unit;
    }
    return short_number(value) + " " + units[unit];
}

std::string human_duration(double duration_ns) {
    constexpr std::array<const char*, 4> units{"ns", "us", "ms", "s"};
    double value = duration_ns;
    std::size_t unit = 0;
    while (value >= 999.5 && unit + 1 < units.size()) {
        value /= 1000;
        ++unit;
    }
    return short_number(value) + " " + units[unit];
}

std::string in_bytes(std::uint64_t bytes) {
    return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

std::string hex(std::uint64_t number) {
    std::array<char, 16> digits;  // NOLINT(cppcoreguidelines-pro-type-member-init): written first
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
    return "0x" + std::string(digits.data(), end);
}

std::string printable(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string shown;
    while (!text.empty()) {
        const std::size_t bytes = character_bytes(text);
        const auto first = static_cast<unsigned char>(text.front());
        const bool is_upper_control =
            bytes == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
        const bool is_control =
            is_upper_control || first == 0x7f || (first < 0x20 && first != '\n' && first != '\t');
        if (bytes != 0 && !is_control) {
            shown += text.substr(0, bytes);
        } else {
            shown.append("\\x").append(1, digits[first / 16]).append(1, digits[first % 16]);
        }
        text.remove_prefix(bytes == 0 || is_control ? 1 : bytes);
    }
    return shown;
}

std::size_t display_width(std::string_view text) {
    std::size_t width = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\033' && i + 1 < text.size() && text[i + 1] == '[') {
            i = std::min(text.find('m', i), text.size() - 1);
            continue;
        }
        const bool continues_code_point = (static_cast<unsigned char>(text[i]) & 0xc0U) == 0x80U;
        if (!continues_code_point) ++width;
    }
    return width;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
    std::vector<std::string> lines(1);
    while (!text.empty()) {
        const std::size_t blank = text.find(' ');
        const std::string_view word = text.substr(0, blank);
        text = blank == std::string_view::npos ? std::string_view() : text.substr(blank + 1);
        if (word.empty()) continue;
        std::string& line = lines.back();
        if (line.empty()) {
            line = word;
        } else if (display_width(line) + 1 + display_width(word) <= width) {
            line.append(" ").append(word);
        } else {
            lines.emplace_back(word);
        }
    }
    return lines;
}

void Table::add_row(std::vector<std::string> cells) {
    cells.resize(columns_.size());
    lines_.push_back({std::move(cells), false});
}

void Table::add_line(std::string text) {
    lines_.push_back({{std::move(text)}, true});
}

std::vector<std::size_t> Table::widths() const {
    std::vector<std::size_t> widths;
    for (const Column& column : columns_) widths.push_back(display_width(column.title));
    for (const Line& line : lines_) {
        if (line.is_across) continue;
        for (std::size_t i = 0; i < widths.size(); ++i) {
            widths[i] = std::max(widths[i], display_width(line.cells[i]));
        }
    }
    return widths;
}

std::size_t Table::width() const {
    const std::vector<std::size_t> all = widths();
    const std::size_t gaps = all.empty() ? 0 : (all.size() - 1) * column_gap;
    return std::accumulate(all.begin(), all.end(), gaps);
}

std::string Table::text(std::size_t indent) const {
    const std::vector<std::size_t> all = widths();
    const std::string margin(indent, ' ');
    const std::string gap(column_gap, ' ');
    std::string text;
    const auto put_cell = [&](std::size_t i, const std::string& cell) {
        text += (i == 0 ? margin : gap) + padded(cell, all[i], columns_[i].align);
    };
    const bool has_titles = std::any_of(columns_.begin(), columns_.end(),
                                        [](const Column& column) { return !column.title.empty(); });
    if (has_titles) {
        for (std::size_t i = 0; i < columns_.size(); ++i) put_cell(i, columns_[i].title);
        end_line(text);
    }
    for (const Line& line : lines_) {
        if (line.is_across) {
            text += margin + line.cells[0];
        } else {
            for (std::size_t i = 0; i < columns_.size(); ++i) put_cell(i, line.cells[i]);
        }
        end_line(text);
    }
    return text;
}

}  // namespace acp::base
