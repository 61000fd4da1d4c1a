// SPDX-License-Identifier: BSD-3-Clause
// Splits lines into words, and converts ranks to text and back.
#include "base/words.hpp"

#include <algorithm>

#include "base/parse.hpp"

namespace acp::base {

std::vector<std::string_view> words_of(std::string_view line, std::size_t count) {
    std::vector<std::string_view> words;
    while (words.size() + 1 < count) {
        const std::size_t blank = line.find(' ');
        if (blank == std::string_view::npos) break;
        words.push_back(line.substr(0, blank));
        line.remove_prefix(blank + 1);
    }
    words.push_back(line);
    return words;
}

std::string rank_ranges(const std::vector<std::uint32_t>& ranks) {
    std::string text;
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t last = i;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
        if (!text.empty()) text += ',';
        text += std::to_string(ranks[i]);
        if (last > i) text.append(1, '-').append(std::to_string(ranks[last]));
        i = last + 1;
    }
    return text.empty() ? "none" : text;
}

std::vector<std::uint32_t> ranks_from(std::string_view ranges) {
    constexpr std::uint64_t count_max = 1U << 20U;  // more than any job has
    std::vector<std::uint32_t> ranks;
    while (!ranges.empty()) {
        const std::string_view word = ranges.substr(0, ranges.find(','));
        ranges.remove_prefix(std::min(word.size() + 1, ranges.size()));
        const std::size_t dash = word.find('-');
        const auto first = parse_unsigned(word.substr(0, dash));
        const auto last =
            dash == std::string_view::npos ? first : parse_unsigned(word.substr(dash + 1));
        if (!first || !last || *last < *first || *last >= count_max) break;
        for (std::uint64_t rank = *first; rank <= *last; ++rank) {
            ranks.push_back(static_cast<std::uint32_t>(rank));
        }
    }
    return ranks;
}

}  // namespace acp::base
