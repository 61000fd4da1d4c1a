// SPDX-License-Identifier: BSD-3-Clause
// Reads each statement by its own function. Any thread.
#include "exchange_study/pattern_text.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "base/parse.hpp"

#include "exchange_study/paper_patterns.hpp"

namespace acp::exchange_study {

using base::Code;
using base::Result;
using base::Status;

namespace {

using Messages = std::vector<exchange::OffsetMessage>;
using Words = std::span<const std::string_view>;

constexpr std::size_t pattern_words_max = 1 + exchange::torus_dimensions_max + 3;
constexpr std::int32_t step_max = 1 << 16;

// At most one word more than any statement has.
std::vector<std::string_view> words_of(std::string_view line) {
    constexpr std::string_view blanks = " \t\r";
    line = line.substr(0, line.find('#'));
    std::vector<std::string_view> words;
    while (words.size() <= pattern_words_max) {
        const std::size_t begin = line.find_first_not_of(blanks);
        if (begin == std::string_view::npos) break;
        line.remove_prefix(begin);
        const std::size_t length = std::min(line.find_first_of(blanks), line.size());
        words.push_back(line.substr(0, length));
        line.remove_prefix(length);
    }
    return words;
}

std::optional<std::int32_t> step_in(std::string_view word) {
    std::int32_t step = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), step);
    const bool is_number = error == std::errc() && end == word.data() + word.size();
    if (!is_number || step < -step_max || step > step_max) return std::nullopt;
    return step;
}

Status add_sends(Words words, std::size_t dimensions, Messages& messages) {
    const auto wrong = [dimensions] {
        return Status(Code::argument, "send, " + std::to_string(dimensions) +
                                          " steps, bytes, and \"x COUNT\" where there are several");
    };
    const bool has_count = words.size() == dimensions + 3 && words[dimensions + 1] == "x";
    if (words.size() != dimensions + 1 && !has_count) return wrong();
    exchange::OffsetMessage message;
    for (std::size_t i = 0; i < dimensions; ++i) {
        const auto step = step_in(words[i]);
        if (!step) return wrong();
        message.offset[i] = *step;
    }
    const auto bytes = base::parse_unsigned(words[dimensions]);
    const auto count =
        has_count ? base::parse_unsigned(words.back()) : std::optional(std::uint64_t{1});
    if (!bytes || !count || *count == 0) return wrong();
    if (*count > exchange::pattern_messages_max - messages.size()) {
        return {Code::limit, "a pattern has at most " +
                                 std::to_string(exchange::pattern_messages_max) + " messages"};
    }
    message.bytes = *bytes;
    messages.insert(messages.end(), *count, message);
    return {};
}

Status add_paper(Words words, std::size_t dimensions, Messages& messages) {
    if (dimensions != 2) return {Code::argument, "the paper has a torus of two dimensions"};
    const auto size = words.size() == 2 ? base::parse_unsigned(words[1]) : std::nullopt;
    constexpr std::uint64_t size_max = 1 << 20;
    for (const PaperPattern pattern : paper_patterns) {
        if (!size || *size == 0 || *size > size_max || words[0] != name_of(pattern)) continue;
        const Messages its = paper_messages(pattern, static_cast<std::uint32_t>(*size));
        messages.insert(messages.end(), its.begin(), its.end());
        return {};
    }
    return {Code::argument, "paper EW|NS|4|DG|8 K"};
}

Status add_line(std::string_view line, std::size_t dimensions, Messages& messages) {
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty()) return {};
    const Words rest = Words(words).subspan(1);
    if (words[0] == "send") return add_sends(rest, dimensions, messages);
    if (words[0] == "paper") return add_paper(rest, dimensions, messages);
    return {Code::argument, "there is no statement \"" + std::string(words[0]) + "\""};
}

}  // namespace

Result<Messages> pattern_from_text(std::string_view text, std::size_t dimensions) {
    Messages messages;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t length = std::min(text.find('\n'), text.size());
        const Status status = add_line(text.substr(0, length), dimensions, messages);
        if (!status.is_ok()) {
            return Status(status.code(),
                          "line " + std::to_string(number) + ": " + std::string(status.message()));
        }
        text.remove_prefix(std::min(length + 1, text.size()));
    }
    if (messages.empty()) return Status(Code::argument, "a pattern has one message at least");
    return messages;
}

}  // namespace acp::exchange_study
