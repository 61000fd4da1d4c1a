// SPDX-License-Identifier: BSD-3-Clause
// The text of a saved plan. Any input is accepted or refused with a line and a reason; an accepted
// plan has every byte of every message once, valid engines and consistent times, and is written as
// a text with the same meaning. One thread.
#include <algorithm>
#include <vector>

#include "exchange/order_text.hpp"

#include "fuzz/fuzz.hpp"

namespace acp::fuzz {

using exchange::OrderOwner;
using exchange::SendOrder;
using exchange::SentMessage;
using exchange::SentPiece;

namespace {

// The messages of the texts in the corpus.
const std::vector<SentMessage> messages{{1, 1000}, {2, 0}, {1, 30}, {0, 70'000}};
const OrderOwner owner{2, 8, messages};

void look_at(const SendOrder& order) {
    std::vector<std::vector<int>> seen;
    for (const SentMessage& message : messages) seen.emplace_back(message.bytes);
    for (const SentPiece& piece : order.pieces) {
        require(piece.message < seen.size(), "a piece is of a message");
        require(piece.engine < std::max(order.engines, 1U), "a piece has an engine that is there");
        std::vector<int>& bytes = seen[piece.message];
        require(
            piece.offset_bytes < bytes.size() && piece.bytes <= bytes.size() - piece.offset_bytes,
            "a piece is in its message");
        const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(piece.offset_bytes);
        std::for_each(first, first + static_cast<std::ptrdiff_t>(piece.bytes),
                      [](int& times) { ++times; });
    }
    for (const std::vector<int>& bytes : seen) {
        require(
            std::count(bytes.begin(), bytes.end(), 1) == static_cast<std::ptrdiff_t>(bytes.size()),
            "every byte is sent once");
    }
    require((order.engines == 0) == (order.predicted_us == 0), "a prediction is of a network");
    require(order.predicted_us >= order.bound_us - 1e-6, "no plan takes less than its bound");
}

}  // namespace

void run(Input& input) {
    const auto read = exchange::order_from_text(input.text(), owner);
    if (!read.is_ok()) {
        return require(read.failure().message().starts_with("line"), "a refusal has a message");
    }
    look_at(read.value());
    const auto again = exchange::order_from_text(exchange::text_of(read.value(), owner), owner);
    require(again.is_ok() && again.value() == read.value(),
            "the shown text parses to the same value");
}

}  // namespace acp::fuzz
