// SPDX-License-Identifier: BSD-3-Clause
// Line by line. Any thread.
#include "exchange/order_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>
#include <vector>

#include "base/format.hpp"
#include "base/parse.hpp"
#include "base/random.hpp"
#include "base/words.hpp"

namespace acp::exchange {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr std::size_t order_words_max = 5;
constexpr std::uint64_t engine_number_max = 1U << 16U;
constexpr std::string_view engines_word = "engines ";

std::uint64_t digest_of(std::span<const SentMessage> messages) noexcept {
    std::uint64_t digest = 1;
    for (const SentMessage& message : messages)
        digest = base::mix64(base::mix64(digest ^ message.to) ^ message.bytes);
    return digest;
}

std::string head_of(const OrderOwner& owner) {
    return "acp-plan 1\nmember " + std::to_string(owner.member) + " of " +
           std::to_string(owner.members) + "\nmessages " + std::to_string(owner.messages.size()) +
           " " + base::hex(digest_of(owner.messages)) + "\n";
}

class LineReader {
public:
    explicit LineReader(std::string_view text) noexcept : rest_(text) {}

    // "" at the end.
    std::string_view next() noexcept {
        ++number_;
        const std::size_t end = std::min(rest_.find('\n'), rest_.size());
        const std::string_view line = rest_.substr(0, end);
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        return line;
    }

    [[nodiscard]] Status refuse() const {
        return {Code::argument, "line " + std::to_string(number_) + " is not of a saved plan"};
    }

private:
    std::string_view rest_;
    std::size_t number_ = 0;
};

std::optional<double> time_of(std::string_view word) {
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool is_time = error == std::errc() && end == word.data() + word.size() &&
                         std::isfinite(value) && value >= 0;
    return is_time ? std::optional(value) : std::nullopt;
}

std::optional<SentPiece> piece_of(std::span<const std::string_view> words,
                                  std::span<const SentMessage> messages) {
    const bool has_engine = words.size() == 5;
    if ((words.size() != 4 && !has_engine) || words[0] != "piece") return std::nullopt;
    const auto message = base::parse_unsigned(words[1]);
    const auto offset = base::parse_unsigned(words[2]);
    const auto bytes = base::parse_unsigned(words[3]);
    const auto engine = has_engine ? base::parse_unsigned(words[4]) : std::uint64_t{0};
    if (!engine || *engine >= engine_number_max) return std::nullopt;
    if (!message || !offset || !bytes || *message >= messages.size() || *bytes == 0)
        return std::nullopt;
    const std::uint64_t all = messages[*message].bytes;
    if (*offset >= all || *bytes > all - *offset) return std::nullopt;
    return SentPiece{static_cast<std::uint32_t>(*message), *offset, *bytes,
                     static_cast<std::uint32_t>(*engine)};
}

// Whether the pieces are all messages, each byte once.
bool is_whole(std::vector<SentPiece> pieces, std::span<const SentMessage> messages) {
    std::sort(pieces.begin(), pieces.end(), [](const SentPiece& one, const SentPiece& other) {
        return one.message != other.message ? one.message < other.message
                                            : one.offset_bytes < other.offset_bytes;
    });
    auto next = pieces.begin();
    for (std::uint32_t i = 0; i < messages.size(); ++i) {
        std::uint64_t end = 0;
        for (; next != pieces.end() && next->message == i; ++next) {
            if (next->offset_bytes != end) return false;
            end += next->bytes;
        }
        if (end != messages[i].bytes) return false;
    }
    return true;
}

}  // namespace

std::string text_of(const SendOrder& order, const OrderOwner& owner) {
    std::string text = head_of(owner);
    char line[96];
    std::snprintf(line, sizeof line, "predicted %.17g %.17g\n", order.predicted_us, order.bound_us);
    text += line;
    if (order.engines != 0) text += "engines " + std::to_string(order.engines) + "\n";
    for (const SentPiece& piece : order.pieces) {
        std::snprintf(line, sizeof line, "piece %u %llu %llu", piece.message,
                      static_cast<unsigned long long>(piece.offset_bytes),
                      static_cast<unsigned long long>(piece.bytes));
        text += line;
        text += piece.engine == 0 ? "\n" : " " + std::to_string(piece.engine) + "\n";
    }
    return text + "end\n";
}

Result<SendOrder> order_from_text(std::string_view text, const OrderOwner& owner) {
    LineReader lines(text);
    if (lines.next() != "acp-plan 1") return lines.refuse();
    const std::string_view member = lines.next();
    const std::string_view messages = lines.next();
    if (!member.starts_with("member ") || !messages.starts_with("messages ")) return lines.refuse();
    const std::string expected = head_of(owner);
    const std::string found =
        "acp-plan 1\n" + std::string(member) + "\n" + std::string(messages) + "\n";
    if (found != expected) {
        const bool is_of_member =
            expected.find("\n" + std::string(member) + "\n") != std::string::npos;
        return Status(Code::mismatch, "the plan was saved by " + std::string(member) +
                                          (is_of_member ? ", for other messages" : ""));
    }
    const auto times = base::words_of(lines.next(), order_words_max);
    const auto predicted = times.size() == 3 ? time_of(times[1]) : std::nullopt;
    const auto bound = times.size() == 3 ? time_of(times[2]) : std::nullopt;
    if (!predicted || !bound || times[0] != "predicted") return lines.refuse();
    SendOrder order;
    order.predicted_us = *predicted;
    order.bound_us = *bound;
    std::string_view line = lines.next();
    if (line.starts_with(engines_word)) {
        const auto engines = base::parse_unsigned(line.substr(engines_word.size()));
        if (!engines || *engines == 0 || *engines > engine_number_max) return lines.refuse();
        order.engines = static_cast<std::uint32_t>(*engines);
        line = lines.next();
    }
    for (; line != "end"; line = lines.next()) {
        const auto piece = piece_of(base::words_of(line, order_words_max), owner.messages);
        if (!piece) return lines.refuse();
        order.pieces.push_back(*piece);
        if (order.predicted_us > 0) order.engines = std::max(order.engines, piece->engine + 1);
    }
    if (!is_whole(order.pieces, owner.messages))
        return Status(Code::argument, "the pieces of the saved plan are not the messages");
    return order;
}

}  // namespace acp::exchange
