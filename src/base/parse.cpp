// SPDX-License-Identifier: BSD-3-Clause
// Converts text to numbers without locale, exceptions or allocation.
#include "base/parse.hpp"

#include <array>
#include <charconv>
#include <limits>

#include "base/config.hpp"

namespace acp::base {

namespace {

constexpr std::uint64_t seconds_max = 1'000'000'000;
constexpr std::size_t fraction_digits_max = 9;
// the suffix at index n stands for the (n+1)-th power of 1024
constexpr std::string_view suffixes = "kmgt";

char lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
}

// Removes the leading number (0x included) from `text` and returns it.
std::optional<std::uint64_t> take_number(std::string_view& text) {
    const bool is_hexadecimal = text.size() > 2 && text[0] == '0' && lower(text[1]) == 'x';
    const char* const begin = text.data() + (is_hexadecimal ? 2 : 0);
    const char* const end = text.data() + text.size();
    std::uint64_t value = 0;
    const auto [rest, error] = std::from_chars(begin, end, value, is_hexadecimal ? 16 : 10);
    if (error != std::errc{}) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    return value;
}

// The power of 1024 that the suffix of a size means: "", "b" -> 0, "k", "kb", "kib" -> 1, ...
std::optional<unsigned> suffix_power(std::string_view suffix) {
    if (suffix.empty() || (suffix.size() == 1 && lower(suffix[0]) == 'b')) return 0;
    const std::size_t index = suffixes.find(lower(suffix[0]));
    if (index == std::string_view::npos) return std::nullopt;
    suffix.remove_prefix(1);
    if (suffix.size() == 2 && lower(suffix[0]) == 'i') suffix.remove_prefix(1);
    if (!suffix.empty() && (suffix.size() != 1 || lower(suffix[0]) != 'b')) return std::nullopt;
    return static_cast<unsigned>(index + 1);
}

}  // namespace

std::optional<std::uint64_t> parse_unsigned(std::string_view text) {
    const std::optional<std::uint64_t> value = take_number(text);
    return value && text.empty() ? value : std::nullopt;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
    const std::optional<std::uint64_t> value = take_number(text);
    if (!value) return std::nullopt;
    const std::optional<unsigned> power = suffix_power(text);
    if (!power) return std::nullopt;
    const unsigned shift = 10 * *power;
    if (*value > std::numeric_limits<std::uint64_t>::max() >> shift) return std::nullopt;
    return *value << shift;
}

std::optional<std::uint64_t> parse_seconds(std::string_view text) {
    const std::size_t point = text.find('.');
    const std::string_view whole_text = text.substr(0, point);
    std::uint64_t whole = 0;  // stays 0 if there are no digits before the point
    if (!whole_text.empty() || point == std::string_view::npos) {
        const auto [rest, error] =
            std::from_chars(whole_text.data(), whole_text.data() + whole_text.size(), whole);
        if (error != std::errc{} || rest != whole_text.data() + whole_text.size() ||
            whole > seconds_max) {
            return std::nullopt;
        }
    }
    std::uint64_t fraction_ns = 0;
    if (point != std::string_view::npos) {
        const std::string_view digits = text.substr(point + 1);
        if (digits.empty() || digits.size() > fraction_digits_max) return std::nullopt;
        for (std::size_t i = 0; i < fraction_digits_max; ++i) {
            const char digit = i < digits.size() ? digits[i] : '0';
            if (digit < '0' || digit > '9') return std::nullopt;
            fraction_ns = fraction_ns * 10 + static_cast<std::uint64_t>(digit - '0');
        }
    }
    const std::uint64_t total_ns = whole * nanoseconds_per_second + fraction_ns;
    if (total_ns > seconds_max * nanoseconds_per_second) return std::nullopt;
    return total_ns;
}

std::string size_text(std::uint64_t bytes) {
    constexpr std::array<const char*, 5> letters{"", "K", "M", "G", "T"};
    std::size_t power = 0;
    while (bytes != 0 && bytes % 1024 == 0 && power + 1 < letters.size()) {
        bytes /= 1024;
        ++power;
    }
    return std::to_string(bytes) + letters[power];
}

std::string seconds_text(std::uint64_t duration_ns) {
    std::string text = std::to_string(duration_ns / nanoseconds_per_second);
    const std::uint64_t fraction_ns = duration_ns % nanoseconds_per_second;
    if (fraction_ns == 0) return text;
    std::string digits = std::to_string(fraction_ns);
    digits.insert(0, fraction_digits_max - digits.size(), '0');
    digits.erase(digits.find_last_not_of('0') + 1);
    return text + "." + digits;
}

}  // namespace acp::base
