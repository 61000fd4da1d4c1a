// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes the text line by line. Any thread.
#include "exchange/order_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/parse.hpp"
#include "base/random.hpp"
#include "base/words.hpp"
#include "exchange/node_problem.hpp"

namespace acp::exchange {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr std::string_view first_line = "acp-plan 1";
constexpr std::string_view last_line = "end";
constexpr std::size_t order_words_max = 5;
// the most bytes of a refused line that the message quotes
constexpr std::size_t shown_bytes_max = 80;
constexpr double rounding_us = 1e-6;
// One engine that sends all messages in turn, which the planner tries too, takes no longer than
// this many bounds: one for injection, engines_max for the engines, and one for each link.
constexpr double bounds_max = engines_max + 1 + problem_links_max;

std::string digest_of(std::span<const SentMessage> messages) {
    std::uint64_t digest = 1;
    for (const SentMessage& message : messages)
        digest = base::mix64(base::mix64(digest ^ message.to) ^ message.bytes);
    return base::hex(digest);
}

std::string name_of(std::uint64_t member, std::uint64_t members) {
    return "member " + std::to_string(member) + " of " + std::to_string(members);
}

std::optional<double> time_of(std::string_view word) {
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool is_time = error == std::errc() && end == word.data() + word.size() &&
                         std::isfinite(value) && value >= 0;
    return is_time ? std::optional(value) : std::nullopt;
}

// "bytes 0 .. 99 of message 3"
std::string range_name(std::uint64_t begin, std::uint64_t end, std::uint32_t message) {
    return "bytes " + std::to_string(begin) + " .. " + std::to_string(end - 1) + " of message " +
           std::to_string(message);
}

// Reads the lines in the order in which they must stand.
class OrderReader {
public:
    OrderReader(std::string_view text, const OrderOwner& owner) noexcept
        : rest_(text), owner_(owner) {}

    Result<SendOrder> read() {
        Status status = read_head();
        if (status.is_ok()) status = read_prediction();
        if (status.is_ok()) status = read_engines();
        for (; status.is_ok() && line_ != last_line; next()) status = read_piece();
        if (status.is_ok()) status = check_whole();
        if (status.is_ok() && !rest_.empty()) {
            next();
            status = refuse("it stands behind the end");
        }
        if (!status.is_ok()) return status;
        return std::move(order_);
    }

private:
    // The next line; "" at the end.
    std::string_view next() noexcept {
        ++number_;
        const std::size_t end = std::min(rest_.find('\n'), rest_.size());
        line_ = rest_.substr(0, end);
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        return line_;
    }

    [[nodiscard]] Status refuse(const std::string& why) const {
        return {Code::argument, "line " + std::to_string(number_) + ", \"" +
                                    base::printable(line_.substr(0, shown_bytes_max)) +
                                    "\", is not of a saved plan: " + why};
    }

    // Refuses a plan that is for another member, or for other messages.
    [[nodiscard]] Status reject(const std::string& why) const {
        return {Code::mismatch, "line " + std::to_string(number_) + ": " + why};
    }

    Status read_head() {
        if (next() != first_line)
            return refuse("one begins with \"" + std::string(first_line) + "\"");
        const auto member = base::words_of(next(), order_words_max);
        const bool is_member = member.size() == 4 && member[0] == "member" && member[2] == "of";
        const auto own = is_member ? base::parse_unsigned(member[1]) : std::nullopt;
        const auto all = is_member ? base::parse_unsigned(member[3]) : std::nullopt;
        if (!own || !all) return refuse("this line is \"member MEMBER of MEMBERS\"");
        const std::string saver = "the plan was saved by " + name_of(*own, *all);
        if (*own != owner_.member || *all != owner_.members)
            return reject(saver + ", and this is " + name_of(owner_.member, owner_.members));
        const auto messages = base::words_of(next(), order_words_max);
        const bool is_messages = messages.size() == 3 && messages[0] == "messages";
        const auto count = is_messages ? base::parse_unsigned(messages[1]) : std::nullopt;
        if (!count) return refuse("this line is \"messages COUNT DIGEST\"");
        if (*count != owner_.messages.size()) {
            return reject(saver + ", for other messages: it has " + std::to_string(*count) +
                          ", and the pattern " + std::to_string(owner_.messages.size()));
        }
        const std::string digest = digest_of(owner_.messages);
        if (messages[2] == digest) return {};
        return reject(saver + ", for other messages: their digest is " +
                      base::printable(messages[2].substr(0, shown_bytes_max)) +
                      ", and that of the pattern's " + digest);
    }

    Status read_prediction() {
        const auto words = base::words_of(next(), order_words_max);
        const bool is_prediction = words.size() == 3 && words[0] == "predicted";
        const auto predicted = is_prediction ? time_of(words[1]) : std::nullopt;
        const auto bound = is_prediction ? time_of(words[2]) : std::nullopt;
        if (!predicted || !bound)
            return refuse("this line is \"predicted TIME BOUND\", in microseconds");
        if (*predicted < *bound - rounding_us) return refuse("no plan takes less than its bound");
        if (*predicted > *bound * bounds_max)
            return refuse("no plan takes so much longer than its bound");
        order_.predicted_us = *predicted;
        order_.bound_us = *bound;
        return {};
    }

    // Reads the line that is present only if a network was known.
    Status read_engines() {
        next();
        if (order_.predicted_us == 0) return {};
        const auto words = base::words_of(line_, order_words_max);
        const bool is_engines = words.size() == 2 && words[0] == "engines";
        const auto engines = is_engines ? base::parse_unsigned(words[1]) : std::nullopt;
        if (!engines || *engines == 0 || *engines > engines_max) {
            return refuse("this line is \"engines ENGINES\", of which a node has 1 .. " +
                          std::to_string(engines_max));
        }
        order_.engines = static_cast<std::uint32_t>(*engines);
        next();
        return {};
    }

    Status read_piece() {
        const auto words = base::words_of(line_, order_words_max);
        const bool has_engine = words.size() == 5;
        const bool is_piece = (words.size() == 4 || has_engine) && words[0] == "piece";
        const auto number = [&](std::size_t place) {
            return is_piece ? base::parse_unsigned(words[place]) : std::nullopt;
        };
        const auto message = number(1);
        const auto offset = number(2);
        const auto bytes = number(3);
        const auto engine = has_engine ? number(4) : std::optional(std::uint64_t{0});
        if (!message || !offset || !bytes || !engine)
            return refuse("this line is \"piece MESSAGE OFFSET BYTES [ENGINE]\", or \"end\"");
        if (*message >= owner_.messages.size()) {
            return refuse("there is no message " + std::to_string(*message) + " of " +
                          std::to_string(owner_.messages.size()));
        }
        const std::uint64_t all = owner_.messages[*message].bytes;
        if (*bytes == 0 || *offset >= all || *bytes > all - *offset) {
            return refuse("message " + std::to_string(*message) + " has " + base::in_bytes(all) +
                          ", and a piece 1 at least");
        }
        if (*engine >= std::max(order_.engines, 1U)) {
            return refuse("there is no engine " + std::to_string(*engine) + " of " +
                          std::to_string(std::max(order_.engines, 1U)));
        }
        order_.pieces.push_back({static_cast<std::uint32_t>(*message), *offset, *bytes,
                                 static_cast<std::uint32_t>(*engine)});
        return {};
    }

    // Checks that the pieces cover each byte of all messages once.
    Status check_whole() {
        std::vector<std::uint32_t> by_place(order_.pieces.size());
        std::iota(by_place.begin(), by_place.end(), 0U);
        std::sort(by_place.begin(), by_place.end(), [this](std::uint32_t one, std::uint32_t other) {
            return place_of(one) < place_of(other);
        });
        auto at = by_place.begin();
        for (std::uint32_t message = 0; message < owner_.messages.size(); ++message) {
            std::uint64_t end = 0;
            for (; at != by_place.end() && order_.pieces[*at].message == message; ++at) {
                const SentPiece& piece = order_.pieces[*at];
                if (piece.offset_bytes < end) return refuse_twice(*at, *(at - 1));
                if (piece.offset_bytes > end) return refuse_hole(end, piece.offset_bytes, message);
                end += piece.bytes;
            }
            const std::uint64_t all = owner_.messages[message].bytes;
            if (end != all) return refuse_hole(end, all, message);
        }
        return {};
    }

    [[nodiscard]] std::tuple<std::uint32_t, std::uint64_t, std::uint32_t> place_of(
        std::uint32_t piece) const {
        return {order_.pieces[piece].message, order_.pieces[piece].offset_bytes, piece};
    }

    [[nodiscard]] Status refuse_hole(std::uint64_t begin,
                                     std::uint64_t end,
                                     std::uint32_t message) const {
        return refuse(range_name(begin, end, message) + " are in no piece");
    }

    //   one, other  indexes of pieces; `other` begins first
    [[nodiscard]] Status refuse_twice(std::uint32_t one, std::uint32_t other) const {
        const SentPiece& piece = order_.pieces[one];
        const SentPiece& before = order_.pieces[other];
        const std::uint64_t end =
            std::min(piece.offset_bytes + piece.bytes, before.offset_bytes + before.bytes);
        // The lines of the pieces directly precede the last line.
        const std::size_t first = number_ - order_.pieces.size();
        return {Code::argument, "lines " + std::to_string(first + std::min(one, other)) + " and " +
                                    std::to_string(first + std::max(one, other)) + " both have " +
                                    range_name(piece.offset_bytes, end, piece.message)};
    }

    std::string_view rest_;
    OrderOwner owner_;
    std::string_view line_;
    std::size_t number_ = 0;  // number of the current line
    SendOrder order_;
};

}  // namespace

std::string text_of(const SendOrder& order, const OrderOwner& owner) {
    std::string text = std::string(first_line) + "\n" + name_of(owner.member, owner.members) +
                       "\nmessages " + std::to_string(owner.messages.size()) + " " +
                       digest_of(owner.messages) + "\n";
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
    return text.append(last_line).append("\n");
}

Result<SendOrder> order_from_text(std::string_view text, const OrderOwner& owner) {
    return OrderReader(text, owner).read();
}

}  // namespace acp::exchange
