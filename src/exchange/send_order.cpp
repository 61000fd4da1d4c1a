// SPDX-License-Identifier: BSD-3-Clause
// Merges the queues of engines into one order. Any thread.
#include "exchange/send_order.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "exchange/exchange_planner.hpp"

namespace acp::exchange {

using base::Code;
using base::Result;
using base::Status;

namespace {

// With this many, a rail of half the rate of three others ends at most a tenth later than they do.
constexpr std::uint64_t pieces_per_rail = 16;
constexpr std::uint64_t page_bytes = 4096;

// The most bytes of a piece.
std::uint64_t piece_bytes_max_of(std::span<const SentMessage> messages, unsigned rails) {
    if (rails == 1) return ~std::uint64_t{0};
    std::uint64_t total = 0;
    for (const SentMessage& message : messages) total += message.bytes;
    const std::uint64_t share = total / (rails * pieces_per_rail) / page_bytes * page_bytes;
    return std::max(share, rail_piece_bytes_min);
}

// Calls take(part) for each part of a piece.
template <typename Take>
void cut(const SentPiece& piece, std::uint64_t bytes_max, const Take& take) {
    for (std::uint64_t begun = 0; begun < piece.bytes;) {
        const std::uint64_t bytes = std::min(piece.bytes - begun, bytes_max);
        take(SentPiece{piece.message, piece.offset_bytes + begun, bytes, piece.engine});
        begun += bytes;
    }
}

// Merges the queues of all engines: pieces are sorted by the bytes that precede them in their
// engine's queue.
std::vector<SentPiece> merged(const ExchangePlan& plan, std::uint64_t piece_bytes_max) {
    struct Waiting {
        std::uint64_t bytes_before = 0;
        SentPiece piece;
    };

    std::vector<Waiting> all;
    for (std::size_t engine = 0; engine < plan.engines.size(); ++engine) {
        std::uint64_t before = 0;
        for (const PlannedCommand& command : plan.engines[engine]) {
            const SentPiece piece{command.message, command.offset_bytes, command.bytes,
                                  static_cast<std::uint32_t>(engine)};
            cut(piece, piece_bytes_max, [&](const SentPiece& part) {
                all.push_back({before, part});
                before += part.bytes;
            });
        }
    }
    std::stable_sort(all.begin(), all.end(), [](const Waiting& first, const Waiting& second) {
        return first.bytes_before < second.bytes_before;
    });
    std::vector<SentPiece> pieces;
    pieces.reserve(all.size());
    for (const Waiting& one : all) pieces.push_back(one.piece);
    return pieces;
}

}  // namespace

SendOrder longest_first(std::span<const SentMessage> messages, unsigned rails) {
    std::vector<std::uint32_t> order(messages.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t first, std::uint32_t second) {
        return messages[first].bytes > messages[second].bytes;
    });
    const std::uint64_t piece_bytes_max = piece_bytes_max_of(messages, rails);
    SendOrder made;
    for (const std::uint32_t message : order) {
        cut({message, 0, messages[message].bytes, 0}, piece_bytes_max,
            [&](const SentPiece& part) { made.pieces.push_back(part); });
    }
    return made;
}

Result<SendOrder> planned_order(const NetworkModel& torus,
                                ModelNode own,
                                std::span<const SentMessage> messages,
                                unsigned rails) {
    if (torus.torus.empty())
        return Status(Code::argument, "it is no torus, and plans are made for tori alone");
    std::vector<OffsetMessage> planned;
    std::vector<std::uint32_t> numbers;  // indexes of the planned messages
    SendOrder made;
    const auto here = place_of(torus, own);
    for (std::uint32_t i = 0; i < messages.size(); ++i) {
        if (messages[i].to >= torus.nodes) {
            return Status(Code::argument, "a message goes to node " +
                                              std::to_string(messages[i].to) + " of a network of " +
                                              std::to_string(torus.nodes));
        }
        if (messages[i].bytes == 0) continue;
        OffsetMessage message;
        message.bytes = messages[i].bytes;
        const auto there = place_of(torus, messages[i].to);
        for (std::size_t d = 0; d < torus.torus.size(); ++d)
            message.offset[d] = steps_between(here[d], there[d], torus.torus[d]);
        if (messages[i].to == own) {
            made.pieces.push_back({i, 0, messages[i].bytes, 0});
        } else {
            planned.push_back(message);
            numbers.push_back(i);
        }
    }
    if (planned.empty()) return made;
    auto problem = NodeProblem::symmetric(torus, planned);
    if (!problem.is_ok()) return std::move(problem).failure();
    ExchangePlanner planner;
    planner.plan(problem.value(), PlanEffort::standard);
    const ExchangePlan plan = planner.made();
    for (const SentPiece& piece : merged(plan, piece_bytes_max_of(messages, rails))) {
        made.pieces.push_back(piece);
        made.pieces.back().message = numbers[piece.message];
    }
    made.predicted_us = plan.predicted_us;
    made.bound_us = plan.bounds.most_us();
    made.engines = torus.node.engines;
    return made;
}

}  // namespace acp::exchange
